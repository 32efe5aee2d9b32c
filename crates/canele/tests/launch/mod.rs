//! Starts example programs under the launcher. Only here do tests know where built programs lie.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Where this build's programs lie.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    test.ancestors().nth(2).expect("it lies in target/PROFILE/deps").to_owned()
}

/// The launcher of this build. It is another package's program, and examples are not built for a single test, so both
/// may have to be built first.
fn launcher() -> &'static PathBuf {
    static LAUNCHER: OnceLock<PathBuf> = OnceLock::new();
    LAUNCHER.get_or_init(|| {
        let built = built();
        for what in [["canele-cli", "--bins"], ["canele", "--examples"]] {
            let mut cargo = Command::new(env!("CARGO"));
            cargo.args(["build", "--quiet", "--package"]).args(what);
            cargo.arg("--target-dir").arg(built.parent().expect("target/PROFILE"));
            cargo.args((!cfg!(debug_assertions)).then_some("--release"));
            assert!(cargo.status().expect("cargo starts").success(), "{what:?} could not be built");
        }
        built.join("canele")
    })
}

/// Runs `canele run OPTIONS EXAMPLE ARGUMENTS` to its end.
pub fn run(options: &[&str], example: &str, arguments: &[&str]) -> Output {
    let program = built().join("examples").join(example);
    let mut command = Command::new(launcher());
    command.arg("run").args(["--timeout", "120"]).args(options).arg(program).args(arguments);
    command.output().expect("the launcher starts")
}

/// The same, for a run that must succeed; gives its standard output.
pub fn succeed(options: &[&str], example: &str, arguments: &[&str]) -> String {
    let output = run(options, example, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} {arguments:?}: {}\n{error}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
