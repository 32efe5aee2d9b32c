//! MPI programs with errors, that die or end too early, and programs that a fault should not affect: the end
//! of the job, and its messages.

mod support;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use support::{all_passed, compiled, compiled_cpp, folder, library, passes, run, text};

fn program(name: &str) -> std::path::PathBuf {
    compiled(name, &[folder("programs/faults").join(format!("{name}.c"))])
}

fn ends() -> &'static Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| program("ends"))
}

/// Runs a job that ends in this way.
fn job(options: &[&str], how: &str) -> Output {
    run(Some(options), ends(), &[how])
}

fn errors(output: &Output) -> Vec<String> {
    String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect()
}

/// Checks that the job ended with this status and these messages.
fn ended(output: &Output, status: i32, words: &[&str]) {
    let all = text(output);
    assert_eq!(output.status.code(), Some(status), "{all}");
    assert!(words.iter().all(|word| all.contains(word)), "{words:?} in: {all}");
}

#[test]
fn a_rank_that_is_killed_ends_the_others_in_whatever_they_wait_with_one_message() {
    for how in ["receive", "any", "probe", "collective", "waitall"] {
        for wait in ["adaptive", "sleep"] {
            let output = job(&["-n", "3", "--wait", wait], how);
            ended(&output, 137, &[]);
            let expected = "canele: rank 1 was killed by signal 9 (Killed); ending the job";
            assert_eq!(errors(&output), [expected], "{how}");
        }
    }
}

/// MPI 5.0, §11.10.4. The exit status reports the failure too.
#[test]
fn a_failure_ends_the_processes_that_are_connected_with_it_and_no_others() {
    let program = program("disconnects");
    let ways = [("abort", 7, "exited with status 7"), ("kill", 137, "was killed by signal 9 (Killed)")];
    for (how, status, said) in ways.into_iter().chain([("exit", 3, "exited with status 3")]) {
        let output = run(Some(&["-n", "1"]), &program, &["apart", how]);
        assert_eq!(
            (output.status.code(), &output.stdout[..]),
            (Some(status), &b"passed\n"[..]),
            "{}",
            text(&output)
        );
        let text =
            format!("canele: rank 1 {said}; ending rank 2, which is connected with it; the others go on");
        assert!(errors(&output).contains(&text), "{output:?}");
    }
    for parting in ["connected", "freed", "again"] {
        let output = run(Some(&["-n", "1"]), &program, &[parting, "kill"]);
        ended(&output, 137, &[]);
        let expected = "canele: rank 1 was killed by signal 9 (Killed); ending the job";
        assert_eq!(errors(&output), [expected], "{parting}");
    }
}

#[test]
fn where_the_job_goes_on_the_survivors_say_what_they_wanted_of_the_dead() {
    let output = job(&["-n", "3", "--on-failure", "continue"], "receive");
    let wanted = |rank| format!("canele: rank {rank}: MPI_Recv: MPIX_ERR_PROC_FAILED: rank 1 is gone");
    ended(&output, 137, &["rank 1 was killed by signal 9"]);
    // The first rank with the error ends the other, which may not have reached it.
    assert!([0, 2].iter().any(|rank| text(&output).contains(&wanted(*rank))), "{}", text(&output));
}

#[test]
fn a_death_ends_every_wait_for_the_dead_in_a_synchronisation_of_a_window() {
    let program = program("windows");
    let check = |how: &[&str], wait: &str| {
        let options = ["-n", "3", "--on-failure", "continue", "--wait", wait];
        let said = text(&run(Some(&options), &program, how));
        assert_eq!(said.matches("passed").count(), 2, "{how:?}, {wait}: {said}");
        assert!(!said.contains("does not hold") && !said.contains("error class"), "{how:?}, {wait}: {said}");
    };
    for wait in ["adaptive", "sleep"] {
        for how in ["fence", "lock", "lock-shared", "start", "wait", "free"] {
            check(&[how], wait);
        }
        for how in ["fence", "wait", "flush", "unlock", "complete"] {
            check(&[how, "served"], wait);
        }
        for memory in ["direct", "served"] {
            check(&["elements", memory], wait);
        }
    }
}

#[test]
fn a_tool_is_told_of_a_death() {
    let output = run(Some(&["-n", "3", "--on-failure", "continue"]), &program("told"), &[]);
    let passed = text(&output).lines().filter(|line| line.ends_with("passed")).count();
    ended(&output, 137, &["rank 1 was killed by signal 9"]);
    assert_eq!(passed, 2, "{}", text(&output));
}

#[test]
fn a_wait_for_any_rank_but_the_dead_goes_on() {
    let output = job(&["-n", "3", "--on-failure", "continue"], "apart");
    ended(&output, 137, &["rank 1 was killed by signal 9"]);
    assert_eq!(errors(&output).len(), 1, "{output:?}");
}

#[test]
fn an_abort_ends_the_job_with_its_code_and_names_the_rank() {
    let output = job(&["-n", "3"], "abort");
    ended(&output, 7, &[]);
    let said = "canele: rank 1: MPI_Abort was called by rank 1 of MPI_COMM_WORLD with error code 7";
    let expected = [said, "canele: rank 1 exited with status 7; ending the job"];
    assert_eq!(errors(&output), expected);
    // The rank in the communicator differs from the rank in the job.
    let said = "canele: rank 1: MPI_Abort was called by rank 0 of ";
    ended(&job(&["-n", "2"], "abort-part"), 7, &[said]);
}

#[test]
fn an_exception_from_a_function_of_the_program_reaches_the_caller_of_mpi() {
    let program = throwing();
    let ways = [
        "handler",
        "called",
        "collective",
        "wait",
        "win",
        "file",
        "local",
        "copy",
        "idup",
        "delete",
        "query",
        "cancel",
    ];
    all_passed(program, &run(Some(&["-n", "2"]), program, &ways), 2);
}

#[test]
fn an_exception_from_within_a_collective_ends_the_job_and_says_what_to_do() {
    let output = run(Some(&["-n", "2"]), throwing(), &["operation"]);
    let said = ": an operation of the program threw an exception, which cannot pass through the library from there: ";
    ended(&output, 16, &["canele: rank ", said, "catch it in that function"]);
    assert!(!text(&output).contains("passed"), "{output:?}");
}

fn throwing() -> &'static Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled_cpp("throws", &[folder("programs/faults").join("throws.cpp")]))
}

#[test]
fn who_exits_without_finalising_is_named() {
    let output = job(&["-n", "3"], "exit");
    ended(&output, 1, &["rank 1 exited with status 0 without finalising", "MPI_Finalize"]);
    assert_eq!(errors(&output).len(), 1, "{output:?}");
}

#[test]
fn operations_that_are_under_way_at_the_end_are_told_and_given_up() {
    let output = job(&["-n", "3"], "pending");
    all_passed(ends(), &output, 3);
    let told = "canele: MPI_Finalize: 3 operations are still under way and given up, wait for the requests first: \
                rank 0: 1 receive from rank 1 with tag 0; rank 1: 1 receive from rank 2 with tag 0; \
                rank 2: 1 receive from rank 0 with tag 0";
    assert_eq!(errors(&output), [told]);
    let output = job(&["-n", "3"], "pending-alike");
    all_passed(ends(), &output, 3);
    let told = "canele: MPI_Finalize: 9 operations are still under way and given up, wait for the requests first: \
                ranks 0-2: 2 receives from any rank with any tag, 1 collective operation";
    assert_eq!(errors(&output), [told]);
    let output = job(&["-n", "2"], "pending-sends");
    all_passed(ends(), &output, 2);
    let told = "canele: MPI_Finalize: 2 operations are still under way and given up, wait for the requests first: \
                rank 0: 2 sends to rank 1 with tag 9";
    assert_eq!(errors(&output), [told]);
    // Without a launcher the process prints the message itself.
    let output = run(None, ends(), &["pending"]);
    let told = "canele: rank 0: MPI_Finalize: still under way and given up, wait for the requests first: \
                1 receive from rank 0 with tag 0";
    assert_eq!(errors(&output), [told]);
}

#[test]
fn handles_that_were_not_freed_are_told_if_wanted() {
    let output = job(&["-n", "2", "--env", "CANELE_MPI_LEAKS=1"], "leaks");
    let mut told = errors(&output);
    told.sort();
    let mut expected = Vec::new();
    for rank in 0..2 {
        for what in ["1 communicators", "1 groups", "1 info objects", "2 datatypes"] {
            expected.push(format!("canele: rank {rank}: MPI_Finalize: {what} not freed"));
        }
    }
    assert_eq!(told, expected);
    all_passed(ends(), &output, 2);
    assert_eq!(errors(&job(&["-n", "2"], "leaks")), [""; 0]);
}

#[test]
fn errors_that_are_fatal_say_what_is_wrong_and_end_the_job() {
    let wrong = [
        ("fatal-rank", "MPI_Send: MPI_ERR_RANK: dest is 2: it must be from 0 to 1"),
        ("fatal-truncate", "MPI_Sendrecv: MPI_ERR_TRUNCATE: a message of 8 bytes from rank"),
        ("fatal-handle", "MPI_Barrier: MPI_ERR_COMM: 0x54321 is no communicator"),
    ];
    for (how, said) in wrong {
        let output = job(&["-n", "2"], how);
        assert!(output.status.code().is_some_and(|code| !matches!(code, 0 | 99 | 124)), "{output:?}");
        ended(&output, output.status.code().unwrap(), &[said, "; ending the job"]);
    }
}

#[test]
fn wrong_arguments_are_named_and_everything_goes_on() {
    let program = program("arguments");
    [1, 2, 3].into_iter().for_each(|ranks| passes(&program, ranks));
}

#[test]
fn programs_are_started_amid_messages() {
    let program = program("child");
    [1, 2, 3].into_iter().for_each(|ranks| passes(&program, ranks));
}

#[test]
fn many_threads_exchange_while_another_does_collectives() {
    let program = program("threads");
    [2, 3].into_iter().for_each(|ranks| passes(&program, ranks));
}

#[test]
fn a_program_runs_alone_and_on_many_ranks() {
    all_passed(ends(), &run(None, ends(), &["fine"]), 1);
    all_passed(ends(), &job(&["-n", "64"], "fine"), 64);
}

#[test]
fn a_program_that_another_launcher_started_many_times_is_told_so() {
    let mut alone = Command::new(ends());
    alone.arg("fine").env("LD_LIBRARY_PATH", library()).env("PMI_SIZE", "2").env("PMI_RANK", "1");
    let output = alone.output().unwrap();
    assert!(!output.status.success() && text(&output).contains("canele run"), "{output:?}");
}
