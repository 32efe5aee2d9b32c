//! Programs that hang: the reports about them, in MPI's words.

#![forbid(unsafe_code)]

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;

use support::{compiled, launch, library, text};

/// Returns the messages about the program when its time is over.
fn told(how: &str) -> String {
    told_with(how, &[])
}

/// Returns the messages about the program with these variables.
fn told_with(how: &str, variables: &[(&str, &str)]) -> String {
    let output = run(&["--timeout", "4", "-n", "2"], &[how], variables);
    assert_eq!(output.status.code(), Some(124), "{}", text(&output));
    text(&output)
}

fn run(options: &[&str], arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hanging/hang.c");
    let program: PathBuf = compiled("hang", &[source]);
    let mut run = launch::command();
    run.envs(variables.iter().copied()).arg("run").args(options).arg("env");
    run.arg(format!("LD_LIBRARY_PATH={}", library().display())).arg(program).args(arguments);
    run.output().expect("the launcher starts")
}

#[test]
fn a_message_with_another_tag_is_told_with_call_communicator_and_line() {
    let told = told("tag");
    let sentence =
        "* rank 1 waits for a message from rank 0 with tag 7 on MPI_COMM_WORLD, and has one with tag 8";
    assert!(told.contains(sentence), "{told}");
    assert!(
        told.contains("    1  MPI_Recv from rank 0, tag 7, MPI_COMM_WORLD, room for 4 B; for "),
        "{told}"
    );
    let source = include_str!("programs/hanging/hang.c");
    let line = 1 + source.lines().position(|line| line.contains("THE RECEIVE")).unwrap();
    assert!(told.contains(&format!("in receive (hang.c:{line})")), "line {line}: {told}");
    assert!(told.contains("unexpected: from rank 0, tag 8, MPI_COMM_WORLD, 4 B"), "{told}");
}

#[test]
fn a_message_on_another_communicator_is_told_by_the_names() {
    let told = told("communicator");
    let sentence =
        "* rank 1 waits for a message from rank 0 with tag 7 on MPI_COMM_WORLD, and has one on rows";
    assert!(told.contains(sentence), "{told}");
}

#[test]
fn what_hangs_on_lanes_is_told_by_the_names() {
    let told = told_with("order", &[("ASKS_FOR_THREADS", "1"), ("CANELE_LANES", "3")]);
    let sentence = "* collectives are called in different order: rank 0 is in barrier 1 on rows, rank 1 in barrier 1 on columns";
    assert!(told.contains(sentence), "{told}");
    assert!(told.contains("    0  MPI_Barrier: barrier 1 on rows; waits for rank 1; for "), "{told}");
}

#[test]
fn collectives_in_different_order_are_told_by_the_names() {
    let told = told("order");
    let sentence = "* collectives are called in different order: rank 0 is in barrier 1 on rows, rank 1 in barrier 1 on columns";
    assert!(told.contains(sentence), "{told}");
    assert!(told.contains("    0  MPI_Barrier: barrier 1 on rows; waits for rank 1; for "), "{told}");
}

#[test]
fn a_job_ends_whose_ranks_wait_for_one_that_finalizes() {
    let finalized = "rank 1 has called MPI_Finalize, and ranks 0, 2 still wait for it; ";
    let none_sends = "ranks 0, 2 wait for a message from any rank, and no rank is left that could send one; ";
    let check = |arguments: &[&str], sentence| {
        let output = run(&["--timeout", "60", "-n", "3"], arguments, &[]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains(sentence) && said.contains("ending the job (`--on-failure continue`"),
            "{said}"
        );
    };
    // The ranks sleep, so these jobs do not disturb each other.
    std::thread::scope(|scope| {
        scope.spawn(|| check(&["finalizes"], finalized));
        scope.spawn(|| check(&["finalizes", "barrier"], finalized));
        scope.spawn(|| check(&["finalizes", "any tag"], finalized));
        scope.spawn(|| check(&["finalizes", "any"], none_sends));
    });
}

#[test]
fn a_job_goes_on_one_of_whose_ranks_works_while_the_others_finalize() {
    let output = run(&["--timeout", "60", "-n", "3"], &["works"], &[]);
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(0), ""));
}
