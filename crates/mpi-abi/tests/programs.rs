//! C programs, compiled against the header and run with the library: each asserts what it was told and says where that failed.

#[path = "../../canele/tests/launch/mod.rs"]
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Each program is a test, run with these numbers of ranks; 1 is without a launcher.
macro_rules! programs {
    ($($name:ident [$($ranks:literal)+];)*) => {
        $(#[test]
        fn $name() {
            let program = compiled(stringify!($name));
            $(passes(&program, $ranks);)+
        })*

        #[test]
        fn every_program_in_the_folder_is_run() {
            let mut there: Vec<String> = std::fs::read_dir(sources()).unwrap()
                .map(|entry| entry.unwrap().path())
                .filter(|path| path.extension().is_some_and(|of| of == "c"))
                .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
                .collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

programs! {
    abi [1];
    attributes [1 2];
    datatypes [1 2];
    duplicates [1 2 5];
    errors [1];
    generalized [1];
    groups [1 2 5];
    infos [1 3];
    operations [1];
    partitioned [1 2];
    reductions [1 2 3 5];
    sessions [1 3];
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// A folder with the library as programs look for it, for this process alone.
fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().unwrap().join("libmpi_abi.so");
        assert!(built.exists(), "{} is built with this test", built.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mpi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["libmpi_abi.so.1", "libmpi_abi.so"] {
            let _ = std::fs::remove_file(folder.join(name));
            std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
        }
        folder
    })
}

fn compiled(name: &str) -> PathBuf {
    let program = library().join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]);
    compiler.arg("-I").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    compiler.arg(sources().join(format!("{name}.c"))).arg("-o").arg(&program);
    compiler.arg("-L").arg(library()).arg("-lmpi_abi");
    let output = compiler.output().expect("cc starts");
    assert!(output.status.success(), "{name}: {}", text(&output));
    program
}

fn passes(program: &Path, ranks: usize) {
    // Whatever hangs ends with status 124.
    let mut run = match ranks {
        1 => Command::new("timeout"),
        _ => launch::command(),
    };
    match ranks {
        1 => run.args(["-k", "5", "60"]),
        _ => run.args(["run", "--timeout", "60", "-n", &ranks.to_string()]),
    };
    // The variable of another test of this package is none of the library's, which refuses such.
    run.env_remove("CANELE_UPDATE");
    // Behind the launcher, which would put the library beside itself first.
    run.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program);
    let output = run.output().expect("the program starts");
    let passed =
        String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.ends_with("passed")).count();
    assert!(
        output.status.success() && passed == ranks,
        "{} with {ranks} ranks: {}\n{}",
        program.display(),
        output.status,
        text(&output)
    );
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
