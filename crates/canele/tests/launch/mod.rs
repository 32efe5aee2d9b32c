//! Runs programs under the launcher. Tests of other packages include this file by its path.
#![allow(dead_code, reason = "each test uses its part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Builds packages that no test of this package depends on, in the profile of this test; returns the folder
/// of executables.
fn build(what: &[&str]) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folder = test.ancestors().nth(2).expect("tests lie in target/PROFILE/deps");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet"]).args(what).arg("--target-dir");
    build.arg(folder.parent().expect("the target folder"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(status.is_ok_and(|status| status.success()), "cargo build {what:?}");
    folder.to_owned()
}

/// Runs `canele run OPTIONS PROGRAM ARGUMENTS`; a job that hangs ends with status 124.
pub fn program(options: &[&str], program: &Path, arguments: &[&str]) -> Output {
    let mut command = command();
    command.args(["run", "--timeout", "120"]).args(options).arg(program).args(arguments);
    command.output().expect("the launcher starts")
}

/// Returns the command `canele`, which finds the programs of this profile in its own folder. Tests that an
/// emulator runs use the launcher of the machine below it (`scripts/emulated`).
pub fn command() -> Command {
    match std::env::var_os("INSIDE_EMULATION").and(std::env::var_os("CANELE")) {
        Some(launcher) => Command::new(launcher),
        None => Command::new(build(&["--package", "canele-cli", "--bin", "canele"]).join("canele")),
    }
}

/// Runs an example of the package `canele` as a job.
pub fn run(options: &[&str], example: &str, arguments: &[&str]) -> Output {
    program(options, &path(example), arguments)
}

/// Returns the path of an example of the package `canele`.
pub fn path(example: &str) -> PathBuf {
    build(&["--package", "canele-cli", "--package", "canele", "--example", example])
        .join("examples")
        .join(example)
}

/// Returns the standard output of a job, and checks that it succeeds.
pub fn succeed(options: &[&str], example: &str, arguments: &[&str]) -> String {
    let output = run(options, example, arguments);
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{options:?} {example} {arguments:?}: {}\n{out}{errors}", output.status);
    out.into_owned()
}
