//! Launchers under unusual conditions: signals blocked or ignored, no descriptors left, files limited, system
//! calls denied. Each ends, and reports the reason if it cannot run a job.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::{Ended, start_command};

/// Returns the program that starts others under conditions.
fn within() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/within.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("within-{}", std::process::id()));
        let mut build = Command::new("cc");
        build.args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
        assert!(build.status().expect("a C compiler, as README.md asks for").success());
        program
    })
}

/// Runs `canele run -n 2 true` under conditions.
fn run_within(conditions: &[&str]) -> Ended {
    let mut command = Command::new(within());
    command.args(conditions).args(["--", env!("CARGO_BIN_EXE_canele"), "run", "-n", "2", "true"]);
    start_command(&mut command, b"").end()
}

/// Checks that the launcher ran the job, or gave the reason in one text.
fn assert_ran_or_said(ended: &Ended, what: &str) {
    let is_one_text = ended.error.starts_with("canele: ") && ended.error.matches("canele: ").count() == 1;
    assert!(ended.code() == Some(0) || is_one_text, "{what}: {:?}: {}", ended.status, ended.error);
}

#[test]
fn signals_that_the_parent_blocks_or_ignores_are_no_matter() {
    for conditions in [&["block"][..], &["ignore-child"], &["block", "ignore-child"]] {
        let ended = run_within(conditions);
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{conditions:?}");
    }
}

#[test]
fn with_too_few_descriptors_the_job_ends_with_one_text() {
    let mut has_failed = false;
    for open in 100..=122 {
        let ended = run_within(&["files", &open.to_string(), "128"]);
        assert_ran_or_said(&ended, &format!("{open} of 128 open"));
        has_failed |= ended.error.contains("cannot start true as rank 0");
    }
    assert!(has_failed, "nothing was tried");
}

#[test]
fn a_limit_of_the_size_of_files_is_said() {
    let ended = run_within(&["file-size", "0"]);
    assert_eq!(ended.code(), Some(1), "{}", ended.error);
    assert!(ended.error.contains("ulimit -f"), "{}", ended.error);
}

#[test]
fn a_system_call_that_is_denied_hangs_no_launcher() {
    let calls = Command::new(within()).arg("calls").output().unwrap();
    let calls = String::from_utf8(calls.stdout).unwrap();
    let calls: Vec<&str> = calls.lines().collect();
    let deny = |name: &str, error: &str| {
        let ended = run_within(&["deny", name, error]);
        // Without some calls no program runs at all; then the system or the standard library reports it.
        let is_said = !ended.error.is_empty() || ended.code().is_none();
        assert!(ended.code() == Some(0) || is_said, "{name}: {:?}", ended.status);
    };
    // Runs in a row would take long, because each mostly waits for processes.
    std::thread::scope(|scope| {
        for part in calls.chunks(calls.len().div_ceil(4)) {
            scope.spawn(move || {
                part.iter().for_each(|name| ["EPERM", "ENOSYS"].iter().for_each(|error| deny(name, error)));
            });
        }
    });
}

#[test]
fn calls_that_the_launcher_waits_by_are_named_where_they_are_denied() {
    for name in ["epoll_pwait", "ppoll", "wait4"] {
        let ended = run_within(&["deny", name, "EPERM"]);
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        assert!(
            ended.error.starts_with(&format!("canele: cannot start the job: {name} failed")),
            "{}",
            ended.error
        );
    }
    let ended = run_within(&["deny", "pipe2", "EPERM"]);
    assert!(ended.code() == Some(1) && ended.error.starts_with("canele: cannot start"), "{}", ended.error);
}
