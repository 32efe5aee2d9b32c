//! Runs the examples of this package under the launcher.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The folder of this build's executables.
fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    test.ancestors().nth(2).expect("tests lie in target/PROFILE/deps").to_owned()
}

/// The launcher of this build; built once per process, because no test of this package depends on it.
fn launcher() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = folder();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "canele-cli", "--bin", "canele", "--target-dir"]);
        build.arg(folder.parent().expect("the target folder"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(status.is_ok_and(|status| status.success()), "the launcher cannot be built");
        folder.join("canele")
    })
}

/// Runs `canele run OPTIONS EXAMPLE ARGUMENTS`; a job that hangs ends with status 124.
pub fn run(options: &[&str], example: &str, arguments: &[&str]) -> Output {
    let program = folder().join("examples").join(example);
    assert!(program.exists(), "cargo test builds examples: {}", program.display());
    let mut command = Command::new(launcher());
    command.args(["run", "--timeout", "120"]).args(options).arg(program).args(arguments);
    command.output().expect("the launcher starts")
}

/// Standard output of a job that must succeed.
pub fn succeed(options: &[&str], example: &str, arguments: &[&str]) -> String {
    let output = run(options, example, arguments);
    let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{options:?} {example} {arguments:?}: {}\n{out}{errors}", output.status);
    out.into_owned()
}
