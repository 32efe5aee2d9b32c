//! Panics inside a scope: with operations under way the process ends with a message; otherwise they unwind.

use std::process::{Command, Output};

use canele::{Job, Tag};

/// The variable that selects the panic of a process.
const WHAT: &str = "SCOPE_PANICS";

/// Runs this test again in a process of its own, which panics.
fn panics(what: &str) -> Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_panicking_program", "--nocapture"]).env(WHAT, what);
    child.output().unwrap()
}

/// Runs the selected panic; does nothing without the variable.
#[test]
fn the_panicking_program() {
    let Ok(what) = std::env::var(WHAT) else { return };
    let job = Job::start().unwrap();
    let mut bytes = [0u8; 8];
    let ended = job.world().scope(|scope| {
        let receive = scope.irecv(job.rank(), Tag(1), &mut bytes)?;
        if what == "ended" {
            job.world().send(job.rank(), Tag(1), &[1u8; 8])?;
            scope.wait(receive)?;
        }
        if what != "none" {
            panic!("the program's own panic");
        }
        Ok(())
    });
    ended.unwrap();
}

#[test]
fn a_panic_with_operations_under_way_says_why_the_process_ends() {
    let output = panics("receive");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(6), "{errors}");
    for said in
        ["the program's own panic", "left Flow::scope with operations under way: 1.", "return an error"]
    {
        assert!(errors.contains(said), "{said:?} in {errors}");
    }
}

#[test]
fn a_panic_without_operations_under_way_unwinds() {
    let output = panics("ended");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(101), "{errors}");
    assert!(!errors.contains("Flow::scope"), "{errors}");
}
