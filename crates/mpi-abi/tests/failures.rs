//! Programs that go on when ranks die: what they are told, and that those that are left agree, whoever dies and when.

mod support;

use std::path::Path;
use std::process::Output;

use support::{compiled, folder, names, run, text};

fn program(name: &str) -> std::path::PathBuf {
    compiled(name, &[folder("programs/failures").join(format!("{name}.c"))])
}

fn job(program: &Path, ranks: usize, options: &[&str], arguments: &[&str]) -> Output {
    let ranks = ranks.to_string();
    let all = ["-n", ranks.as_str(), "--on-failure", "continue"];
    run(Some(&[&all, options].concat()), program, arguments)
}

/// So many ranks have passed, the others were killed, and nothing else is said.
fn survived(output: &Output, survivors: usize, ranks: usize, what: &str) {
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(137), "{what}: {}", text(output));
    assert_eq!(out.lines().filter(|line| *line == "passed").count(), survivors, "{what}: {}", text(output));
    let killed =
        error.lines().filter(|line| line.ends_with("was killed by signal 9 (Killed); the others go on"));
    assert_eq!(killed.count(), ranks - survivors, "{what}: {}", text(output));
    assert_eq!(error.lines().count(), ranks - survivors, "{what}: {}", text(output));
}

#[test]
fn survivors_are_told_and_agree_and_go_on() {
    let program = program("survive");
    for wait in ["adaptive", "sleep"] {
        survived(&job(&program, 4, &["--wait", wait], &[]), 3, 4, wait);
    }
}

/// `FAULT_KILLS`: so many ranks are killed at least.
#[test]
fn ranks_that_die_at_any_moment_leave_the_others_in_agreement() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
    };
    let (kills, seed) = (number("FAULT_KILLS", 28), number("FAULT_SEED", 1));
    let program = program("endure");
    let mut killed = 0;
    for n in 0.. {
        if killed >= kills {
            break;
        }
        let ranks = [4, 8, 6, 3][n % 4];
        let (seed, within) = ((seed * 1000 + n as u64).to_string(), ["60", "200", "15"][n % 3]);
        let wait = ["adaptive", "sleep", "poll"][n / 2 % 3];
        let output = job(&program, ranks, &["--wait", wait], &[&seed, within]);
        survived(&output, 1, ranks, &format!("{ranks} ranks, seed {seed}, within {within} ms, {wait}"));
        killed += ranks as u64 - 1;
    }
}

#[test]
fn every_program_in_the_folder_is_run() {
    assert_eq!(names(&folder("programs/failures")), ["endure", "survive"]);
}
