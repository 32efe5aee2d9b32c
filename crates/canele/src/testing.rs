//! Ranks inside `cargo test`: a test starts them as processes of its own program.
//!
//! ```no_run
//! use canele::{Op, testing};
//!
//! #[test]
//! fn ranks_add_up() {
//!     testing::ranks(4, |job| {
//!         let mut sum = [0];
//!         job.world().allreduce(&[job.rank().0], &mut sum, Op::Sum)?;
//!         assert_eq!(sum, [6]);
//!         Ok(())
//!     });
//! }
//! # fn main() {}
//! ```
//! The test's process starts `canele run`, which starts the program of the test once for each rank, to run
//! only that test. In a rank, the call runs the closure with the rank's [`Job`], finishes the job and exits.
//! So every rank also runs the code before the call, and only the test's process runs the code after it. If a
//! rank panics or returns an error, the test fails with the ranks' output, each line with the number of its
//! rank. After a time limit of a minute the ranks are killed and the test fails. No process of the job is
//! left when the call returns. Tests may run in parallel, under `cargo test` and under `cargo nextest`.
//!
//! The command `canele` is searched in the variable `CANELE`, beside the program (`target/debug`), and in
//! `PATH`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use canele_sys::bounded_read::MOST_DATA;
use canele_sys::command_output;

use crate::Job;

/// The variable with the index of the call that a rank runs, from 0.
const CALL: &str = "TESTING_CALL";
/// Exit status of a rank whose closure panicked, equal to that of a panicking program.
const PANICKED: i32 = 101;

/// The result of a rank's closure.
pub type RankResult = Result<(), Box<dyn std::error::Error>>;

/// Runs `test` on `size` ranks; see the [module](self).
///
/// # Panics
/// Panics if a rank fails, or the ranks cannot be started. The text says why.
pub fn ranks(size: u32, test: impl FnOnce(&Job) -> RankResult) {
    Ranks::new(size).run(test);
}

/// A job to start, with changed settings.
#[derive(Debug, Clone)]
#[must_use = "ranks are started by `run`"]
pub struct Ranks {
    size: u32,
    limit: Duration,
    variables: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
}

impl Ranks {
    /// Makes a job of `size` ranks.
    pub fn new(size: u32) -> Ranks {
        Ranks { size, limit: Duration::from_secs(60), variables: Vec::new(), options: Vec::new() }
    }

    /// Sets the time limit, after which the ranks are killed and the test fails.
    pub fn time_limit(mut self, limit: Duration) -> Ranks {
        self.limit = limit;
        self
    }

    /// Sets a variable for the ranks, for example `CANELE_WAIT`.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Ranks {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Adds an argument for `canele run`, for example `--on-failure=continue`.
    pub fn option(mut self, word: impl Into<OsString>) -> Ranks {
        self.options.push(word.into());
        self
    }

    /// Runs `test` on each rank, and returns when all have succeeded.
    ///
    /// # Panics
    /// Panics as [`ranks`] does.
    pub fn run<F: FnOnce(&Job) -> RankResult>(self, test: F) {
        match std::env::var(CALL) {
            // A rank's process runs one call of the test. Earlier calls belong to other jobs.
            Ok(number) if number == count_call("").to_string() => run_rank(test),
            Ok(_) => {}
            Err(_) => {
                let name = test_name(std::any::type_name::<F>());
                self.start(&name, count_call(&name));
            }
        }
    }

    /// Starts the job and waits for its end.
    fn start(self, name: &str, number: u32) {
        let canele = find_command();
        let program = std::env::current_exe().expect("a test has a path");
        let mut command = Command::new(&canele);
        command
            .args(["run", "--label", "--timeout", &self.limit.as_secs_f64().to_string()])
            .args(["-n", &self.size.to_string()])
            .args(&self.options)
            .arg("--")
            .arg(program)
            .args([name, "--exact", "--nocapture", "--include-ignored", "--test-threads=1"])
            .envs(self.variables)
            .env(CALL, number.to_string())
            .stdin(Stdio::null());
        let output = command_output::output(&mut command, MOST_DATA).unwrap_or_else(|error| {
            panic!(
                "cannot start {}, which starts ranks: {error}; install the command canele, or say where it lies in CANELE",
                canele.display()
            )
        });
        let of_ranks = String::from_utf8_lossy(&output.stdout);
        assert!(
            !of_ranks.lines().any(|line| line.contains("test result: ")),
            "no rank came to the call number {number} of the test `{name}`: call `ranks` in the test's own function, \
             and as often on each rank"
        );
        let mut printed = own_lines(&of_ranks, name);
        printed.push_str(&own_lines(&String::from_utf8_lossy(&output.stderr), name));
        // The test's own process prints the output, so that the harness captures it.
        print!("{printed}");
        assert!(
            output.status.success(),
            "the job of {} ranks failed ({}):\n{printed}",
            self.size,
            output.status
        );
    }
}

/// Runs the part of a rank, and ends the process.
fn run_rank(test: impl FnOnce(&Job) -> RankResult) -> ! {
    let status = match Job::start() {
        Err(error) => failed(&error),
        Ok(job) => match catch_unwind(AssertUnwindSafe(|| test(&job))) {
            // The panic has already printed its text.
            Err(_) => PANICKED,
            Ok(Err(error)) => failed(&*error),
            Ok(Ok(())) => job.finish().map_or_else(|error| failed(&error), |()| 0),
        },
    };
    std::process::exit(status)
}

fn failed(error: &dyn std::error::Error) -> i32 {
    eprintln!("Error: {error}");
    1
}

/// Returns the name that selects the test of this thread alone. The harness names the thread by it, unless
/// tests run one at a time. Then the type name of the closure has it, because the closure is in the test's
/// function.
fn test_name(closure: &str) -> String {
    match std::thread::current().name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => {
            let path = closure.split("::{{closure}}").next().unwrap_or(closure);
            path.split_once("::").map_or(path, |(_crate, rest)| rest).to_owned()
        }
    }
}

/// Returns the index of this call among those of its test.
fn count_call(name: &str) -> u32 {
    thread_local!(static CALLS: RefCell<HashMap<String, u32>> = RefCell::default());
    CALLS.with_borrow_mut(|calls| {
        let count = calls.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    })
}

/// Returns the path of the command that starts ranks.
fn find_command() -> PathBuf {
    if let Some(named) = std::env::var_os("CANELE") {
        return named.into();
    }
    let program = std::env::current_exe().unwrap_or_default();
    // Tests lie in target/PROFILE/deps, examples in target/PROFILE/examples.
    let beside = program.ancestors().skip(1).take(2).map(|folder| folder.join("canele"));
    beside.into_iter().find(|command| is_program(command)).unwrap_or_else(|| "canele".into())
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Returns the output of the ranks, without the lines of the harness.
fn own_lines(text: &str, test: &str) -> String {
    // This text precedes the first output of the test on its line.
    let begins = format!("test {test} ... ");
    let is_own = |line: &String| {
        let text = line.split_once("] ").map_or(&**line, |(_, text)| text);
        !text.trim_end().is_empty() && !text.starts_with("running 1 test")
    };
    text.split_inclusive('\n').map(|line| line.replacen(&begins, "", 1)).filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_by_its_thread_or_by_its_closure() {
        assert_eq!(test_name("x"), "testing::tests::a_test_is_found_by_its_thread_or_by_its_closure");
        let unnamed = std::thread::spawn(|| test_name("my_crate::tests::ring::{{closure}}"));
        assert_eq!(unnamed.join().unwrap(), "tests::ring");
        let integration = std::thread::spawn(|| test_name("ring::whole::{{closure}}::{{closure}}"));
        assert_eq!(integration.join().unwrap(), "whole");
    }

    #[test]
    fn lines_of_the_harness_are_left_out() {
        let text = "[0] \n[0] running 1 test\n[0] test a::b ... hello\n[1] there\n[1] test a::b ... \n";
        assert_eq!(own_lines(text, "a::b"), "[0] hello\n[1] there\n");
    }
}
