//! The system's clock jumps while jobs run: no deadline, heartbeat or measurement depends on it.
//!
//! The clock itself does not change, because other processes use it. A library that is loaded before every
//! process of a job returns another year at each call.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::hosts::start_on_with;
use support::ranks::{example, program};
use support::start_with;

/// The library, built in the folder of the other test programs.
struct Clock(PathBuf);

impl Clock {
    fn new() -> Self {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/jumping_clock.c");
        // Each test has a library of its own, which is removed with it.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let library = format!("jumping-clock-{process}-{thread:?}.so");
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(library);
        let mut build = Command::new("cc");
        build.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]).arg(&library).arg(source);
        let built = build.status().expect("a C compiler, as README.md asks for");
        assert!(built.success());
        Self(library)
    }

    fn preloaded(&self) -> (&str, &str) {
        ("LD_PRELOAD", self.0.to_str().unwrap())
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Checks that the first rank sees a clock that jumps, without which the test would prove nothing. Checks
/// that `words` between two hosts print the usual output.
fn unharmed(options: &[&str], words: &[&str], expected: usize) {
    let clock = Clock::new();
    let variables = [clock.preloaded(), ("CANELE_HOST_LOST_MS", "2000")];
    let options = [options, &["--env", "CANELE_RAILS=lo"]].concat();
    let script = "test $CANELE_RANK != 0 || test $(date +%Y) != $(date +%Y) || test $(date +%Y) != $(date +%Y) || exit 9; \
                  exec \"$@\"";
    let command = [&["sh", "-c", script, "sh"][..], words].concat();
    let ended = start_on_with("between", "h0:1,h1:1", &options, &command, &variables, b"").end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{}", ended.out);
    assert_eq!(ended.lines().len(), expected, "{}", ended.out);
}

#[test]
fn a_clock_that_jumps_neither_ends_a_connection_nor_a_host() {
    // Longer than the timeout of a silent host.
    unharmed(&[], &[&example("rails_check"), "4"], 2);
}

#[test]
fn a_clock_that_jumps_neither_wakes_nor_holds_a_sleeper() {
    unharmed(&["--wait", "sleep"], &[&program(), "blocked", "3"], 1);
}

#[test]
fn the_time_limit_of_a_job_is_measured_by_a_clock_that_goes_on() {
    let clock = Clock::new();
    for (limit, code) in [("60", 0), ("1", 124)] {
        let words = ["run", "--timeout", limit, "-n", "2", "sleep", "3"];
        let ended = start_with(&words, &[clock.preloaded()], b"").end();
        assert_eq!(ended.code(), Some(code), "{limit} s: {}", ended.error);
    }
}
