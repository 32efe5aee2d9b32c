//! Objects that are made and freed leave nothing behind: descriptors, mappings and memory of ranks and
//! launcher.
//!
//! `LEAK_ROUNDS` sets the rounds of the cheap kinds; expensive ones make fewer, as the table in
//! `programs/leaks/leaks.c` says.

mod support;

use std::process::Command;

use support::{all_passed, compiled, folder, launch, library};

/// Rounds without the variable.
const ROUNDS: &str = "400";

#[test]
fn nothing_is_left_of_what_is_made_and_freed() {
    let program = compiled("leaks", &[folder("programs/leaks").join("leaks.c")]);
    let rounds = std::env::var("LEAK_ROUNDS").unwrap_or_else(|_| ROUNDS.into());
    let mut run: Command = launch::command();
    // Only a job that hangs reaches the limit.
    run.args(["run", "--timeout", if rounds == ROUNDS { "300" } else { "7200" }, "-n", "2", "env"]);
    run.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(&program).arg(rounds);
    let output = run.output().expect("the program starts");
    all_passed(&program, &output, 2);
}
