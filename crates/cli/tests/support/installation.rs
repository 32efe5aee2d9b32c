//! An installation made for a test by `scripts/install`: the built command under all its names, with a
//! library that only prints its own name.

#![allow(dead_code, reason = "each test file uses its part")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use canele_mpi_tables::fortran::{IntegerLength, sources};
use canele_mpi_tables::{Tables, exported, removed_functions};
use canele_sys::atomic::{AtomicU32, Ordering};

/// The header of the library; enough for programs that check for MPI.
const HEADER: &str = "#define MPI_VERSION 5
#define MPI_SUBVERSION 0
#ifdef __cplusplus
extern \"C\" {
#endif
const char *which(void);
int MPI_Init(int *argc, char ***argv);
int PMPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
#ifdef __cplusplus
}
#endif
";

/// A folder with `bin`, `lib` and `include`, beside the tree it was installed from; both are removed when dropped.
pub struct Installation {
    root: PathBuf,
    prefix: PathBuf,
}

impl Installation {
    /// Makes a tree that is built, in a folder whose name begins with `name`. Nothing is installed yet.
    pub fn built(name: &str) -> Installation {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // The target folder, because there the executable can be linked instead of copied.
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let made = Installation { prefix: root.join("prefix"), root };
        for folder in [
            "tree/scripts",
            "tree/crates/mpi-abi/include/mpich",
            "tree/crates/mpi-abi/include/openmpi",
            "tree/crates/capi",
            "tree/built/release",
            "commands",
            "prefix",
        ] {
            fs::create_dir_all(made.root.join(folder)).unwrap();
        }
        let scripts = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts"));
        for script in ["install", "prepare"] {
            fs::copy(scripts.join(script), made.root.join("tree/scripts").join(script)).unwrap();
        }
        for abi in ["", "mpich", "openmpi"] {
            let include = made.root.join("tree/crates/mpi-abi/include").join(abi);
            for header in ["mpi.h", "mpi-ext.h"] {
                fs::write(include.join(header), HEADER).unwrap();
            }
        }
        let own = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../capi"));
        for folder in ["include", "install"] {
            symlink(own.join(folder), made.root.join("tree/crates/capi").join(folder)).unwrap();
        }
        let release = made.root.join("tree/built/release");
        fs::hard_link(env!("CARGO_BIN_EXE_canele"), release.join("canele")).unwrap();
        made.compile(&release.join("libmpi_abi.so"), "ours");
        fs::write(release.join("libmpi.so"), "by MPICH's ABI").unwrap();
        fs::write(release.join("libopenmpi_abi.so"), "by Open MPI's ABI").unwrap();
        made.compile_own(&release.join("libcanele_c.so"), "libcanele.so.0", "");
        made.compile_own(&release.join("libcanele_fort.so"), "libcanele_fort.so.0", &fortran_functions());
        // This stand-in for cargo builds nothing, because everything is built.
        let cargo = made.root.join("commands/cargo");
        fs::write(&cargo, "#!/bin/sh\n").unwrap();
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).unwrap();
        made
    }

    /// Makes a tree and installs it.
    pub fn complete(name: &str) -> Installation {
        let made = Installation::built(name);
        printed(&made.install(&[]));
        made
    }

    /// Runs `scripts/install WORDS PREFIX`.
    pub fn install(&self, words: &[&str]) -> Output {
        let path = format!("{}:{}", self.root.join("commands").display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "240"]).arg(self.root.join("tree/scripts/install"));
        command.args(words).arg(&self.prefix).current_dir(&self.root);
        command.env("PATH", path).env("CARGO_TARGET_DIR", self.root.join("tree/built")).output().unwrap()
    }

    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.prefix.join(name)
    }

    /// Makes a library in `folder` that prints `which`, and replaces an older one.
    pub fn library(&self, folder: &str, which: &str) -> PathBuf {
        let folder = self.path(folder);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        self.compile(&folder.join("libmpi_abi.so.1"), which);
        symlink("libmpi_abi.so.1", folder.join("libmpi_abi.so")).unwrap();
        folder
    }

    fn compile(&self, file: &Path, which: &str) {
        let source = self.root.join("library.c");
        let text = format!("{HEADER}\nconst char *which(void) {{ return \"{which}\"; }}\n");
        let functions = "int PMPI_Init(int *argc, char ***argv) { return 0; }\nint MPI_Finalize(void) { return 0; }\n\
             int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }\n";
        fs::write(&source, text + functions + &other_functions()).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "-o"]).arg(file).arg(&source);
        assert!(cc.status().unwrap().success());
    }

    /// Compiles a library of Canelé's own API that knows its version and nothing else.
    fn compile_own(&self, file: &Path, soname: &str, others: &str) {
        let source = self.root.join("own.c");
        let version = "const char *canele_version(void) { return \"installed\"; }\n";
        fs::write(&source, format!("{version}{others}")).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", &format!("-Wl,-soname,{soname}"), "-o"]).arg(file).arg(&source);
        assert!(cc.status().unwrap().success());
    }

    /// Writes a program over Canelé's own API that prints the version of the library.
    pub fn own_source(&self, name: &str) {
        let main = "int main(void) { puts(canele_version()); return 0; }\n";
        fs::write(self.path(name), format!("#include <canele.h>\n#include <stdio.h>\n{main}")).unwrap();
    }

    /// Runs one of the installation's commands.
    pub fn run(&self, name: &str, words: &[&str]) -> Output {
        self.command(name, words).output().unwrap()
    }

    /// Returns one of the installation's commands, which is killed when it takes far too long.
    pub fn command(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "240"]).arg(self.path("bin").join(name)).args(words);
        command.current_dir(&self.prefix).env_remove("LD_LIBRARY_PATH");
        command
    }

    /// Returns the command of the tree that this was installed from.
    pub fn command_of_tree(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", "240"]).arg(self.root.join("tree/built/release/canele")).args(words);
        command.current_dir(&self.prefix).env_remove("LD_LIBRARY_PATH");
        command
    }

    /// Writes a source that prints which library it runs over.
    pub fn source(&self, name: &str) {
        let text = "#include <mpi.h>\n#include <stdio.h>\nint main(void) { puts(which()); return 0; }\n";
        fs::write(self.path(name), text).unwrap();
    }
}

impl Drop for Installation {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Returns the functions of MPI that programs in Fortran are linked with, and that no test calls.
fn other_functions() -> String {
    let tables = Tables::standard();
    let all = exported(&tables).into_iter().chain(removed_functions(&tables));
    let stub = |name: &str| format!("void {name}(void) {{}}\n");
    let both = all.flat_map(|function| [function.name.clone(), format!("P{}", function.name)]);
    let others = both.filter(|name| !["MPI_Init", "PMPI_Init", "MPI_Finalize"].contains(&name.as_str()));
    others.map(|name| stub(&name)).collect()
}

/// Returns the functions of the library for Fortran, which the modules declare.
fn fortran_functions() -> String {
    let declared = |line: &str| {
        let name =
            line.trim().strip_prefix("function ").or_else(|| line.trim().strip_prefix("subroutine "))?;
        let name = name.split_once('(')?.0;
        name.starts_with("canele_fort_").then(|| format!("void {name}(void) {{}}\n"))
    };
    sources(IntegerLength::Four)
        .iter()
        .flat_map(|source| source.text.lines().filter_map(declared).collect::<Vec<_>>())
        .collect()
}

/// Returns the output of a command, and checks that it succeeded.
#[track_caller]
pub fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "{}: {printed}\n{error}", output.status);
    printed
}

/// Returns true if a command is installed; if not, prints that the test is skipped.
pub fn is_there(command: &str) -> bool {
    let there = Command::new(command).arg("--version").output().is_ok();
    if !there {
        // Test output of `eprintln!` is captured, this line is not.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {command} is not installed");
    }
    there
}
