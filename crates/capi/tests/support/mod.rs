//! C and C++ programs, compiled against the header and run with the library as jobs with a time limit.
#![allow(dead_code, reason = "each test uses its part")]

#[path = "../../../canele/tests/launch/mod.rs"]
pub mod launch;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The header.
pub const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/include/canele.h");

/// Options of every compiler.
const STRICT: [&str; 5] = ["-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Returns a folder of this package.
pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the C files of a folder.
pub fn sources(name: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder(name)).expect("a folder of this package");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    files
}

/// Returns the name of a program.
pub fn name(source: &Path) -> String {
    source.file_stem().expect("a file").to_string_lossy().into_owned()
}

/// Returns a folder with the library under the name that programs look for, made for this process alone.
pub fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // No test links with the library, so cargo does not build it. It is built together with the command:
        // its dependencies then have the features that they have in the workspace, and are not built again.
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "canele-cli", "-p", "canele-capi"]);
        build.args((!cfg!(debug_assertions)).then_some("--release")).current_dir(folder(""));
        assert!(build.status().expect("cargo can be run").success(), "the library can be built");
        let test = std::env::current_exe().expect("a test has a path");
        let built = test.ancestors().nth(2).expect("tests lie in target/PROFILE/deps").join("libcanele_c.so");
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("canele-capi-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the target folder can be written to");
        for name in ["libcanele.so.0", "libcanele.so"] {
            let _ = std::fs::remove_file(folder.join(name));
            std::os::unix::fs::symlink(&built, folder.join(name)).expect("a link");
        }
        folder
    })
}

/// Compiles a program in C11 of this source.
pub fn compiled(source: &Path) -> PathBuf {
    compiled_as(source, &name(source))
}

/// Compiles a program under another name, for two tests of a file that use it at the same time.
pub fn compiled_as(source: &Path, name: &str) -> PathBuf {
    let program = library().join(name);
    let output = compile(&["cc", "-std=c11"], source, &program).expect("a C compiler is there");
    assert!(output.status.success(), "{}: {}", source.display(), text(&output));
    program
}

/// Compiles and links a program. Without the compiler it returns none, and fails in CI.
pub fn compile(compiler: &[&str], source: &Path, program: &Path) -> Option<Output> {
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(STRICT).arg("-I").arg(folder("include"));
    command.arg(source).arg("-o").arg(program).args(["-x", "none", "-L"]).arg(library());
    // The library calls this function of a program like that of a device library.
    command.args(["-lcanele", "-lpthread", "-Wl,--export-dynamic-symbol=canele_device_of"]);
    match command.output() {
        Ok(output) => Some(output),
        Err(error) => {
            let compiler = compiler[0];
            let is_ci = std::env::var_os("CI").is_some();
            assert!(!is_ci, "{compiler} is needed in CI, where .ci/run installs it: {error}");
            // Test output of `eprintln!` is captured, this line is not.
            let _ = writeln!(std::io::stderr(), "SKIPPED: {compiler} cannot be started here: {error}");
            None
        }
    }
}

/// Runs a program as a job of `canele run` with these options. A job that hangs ends with status 124.
pub fn run(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut run = launch::command();
    run.args(["run", "--timeout", "60"]).args(options);
    // The library refuses this variable, which only tests read.
    run.env_remove("CANELE_UPDATE");
    run.arg("env").arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    run.output().expect("the launcher starts")
}

/// Returns the lines that a job printed, in order, and checks that it succeeded.
#[track_caller]
pub fn printed(ranks: u32, program: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run(&["-n", &ranks.to_string()], program, arguments);
    assert!(output.status.success(), "{} on {ranks}: {}", program.display(), text(&output));
    let mut lines: Vec<_> = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns status and output, for messages.
pub fn text(output: &Output) -> String {
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}\n{out}{errors}", output.status)
}
