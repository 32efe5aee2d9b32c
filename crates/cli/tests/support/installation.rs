//! An installation made for a test: the built command under all its names, with a library that only says which one it is.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use canele_sys::atomic::{AtomicU32, Ordering};

/// A folder with `bin`, `lib` and `include`; removed when dropped.
pub struct Installation(pub PathBuf);

impl Installation {
    /// In a folder of its own, whose name begins with `name`.
    pub fn new(name: &str) -> Installation {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // In the target folder, where the executable can be linked instead of copied.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let made = Installation(root);
        let bin = made.path("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::hard_link(env!("CARGO_BIN_EXE_canele"), bin.join("canele")).unwrap();
        for name in ["mpicc", "mpicxx", "mpic++", "mpiCC", "mpiexec", "mpirun"] {
            symlink("canele", bin.join(name)).unwrap();
        }
        made
    }

    /// The same with library and header.
    pub fn complete(name: &str) -> Installation {
        let made = Installation::new(name);
        fs::create_dir(made.path("include")).unwrap();
        fs::write(
            made.path("include/mpi.h"),
            "#ifdef __cplusplus\nextern \"C\"\n#endif\nconst char *which(void);\n",
        )
        .unwrap();
        made.library("lib/canele", "ours");
        made
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Makes a library in `folder`, instead of what is there, that says it is `which`.
    pub fn library(&self, folder: &str, which: &str) -> PathBuf {
        let folder = self.path(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let source = self.path("library.c");
        fs::write(&source, format!("const char *which(void) {{ return \"{which}\"; }}\n")).unwrap();
        let file = folder.join("libmpi_abi.so.1");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o"]).arg(&file).arg(&source);
        assert!(cc.status().unwrap().success());
        symlink("libmpi_abi.so.1", folder.join("libmpi_abi.so")).unwrap();
        folder
    }

    /// Runs one of its commands.
    pub fn run(&self, name: &str, words: &[&str]) -> Output {
        self.command(name, words).output().unwrap()
    }

    /// Ended by force when it takes far too long.
    pub fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["-s", "KILL", "60"])
            .arg(self.path("bin").join(name))
            .args(words)
            .current_dir(&self.0)
            .env_remove("LD_LIBRARY_PATH");
        command
    }

    /// A source that prints which library it runs over.
    pub fn source(&self, name: &str) {
        let text = "#include <mpi.h>\n#include <stdio.h>\nint main(void) { puts(which()); return 0; }\n";
        fs::write(self.path(name), text).unwrap();
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What a command printed, if it succeeded.
#[track_caller]
pub fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", output.status);
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}
