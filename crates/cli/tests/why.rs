//! Jobs that hang, and the reports about them.

mod support;

use serde_json::Value;
use support::hosts::start_on;
use support::ranks::{program, start_job};
use support::{canele, kill, wait_until};

/// Asks until the answer has this sentence, and returns the whole answer.
fn ask_until(launcher: u32, sentence: &str) -> String {
    let pid = launcher.to_string();
    let mut answer = String::new();
    wait_until(sentence, || {
        answer = canele(&["why", &pid]).out;
        answer.contains(sentence)
    });
    answer
}

/// Returns the report from the line of a rank on.
fn of_rank(answer: &str, rank: u32) -> &str {
    let start = answer.find(&format!("\n    {rank}  ")).unwrap_or_else(|| panic!("no rank {rank}: {answer}"));
    &answer[start + 1..]
}

#[test]
fn a_cycle_is_told_however_ranks_wait() {
    for wait in ["adaptive", "sleep", "poll"] {
        let job = start_job(&["-n", "3", "--wait", wait], &["hanging", "cycle"], &[]);
        let answer = ask_until(job.run.pid(), "3 ranks wait for each other in a cycle: 0 → 1 → 2 → 0");
        let line = of_rank(&answer, 1).lines().next().unwrap();
        assert!(line.contains("from rank 2, tag 7, flow 0, room for 8 B; for "), "{wait}: {line}");
        let table = canele(&["info", "--job", &job.run.pid().to_string()]).out;
        assert!(table.contains("receive from rank 2, tag 7"), "{table}");
        kill("TERM", job.run.pid());
        assert_eq!(job.end().code(), Some(143));
    }
}

#[test]
fn a_call_is_told_with_its_place_in_the_program() {
    let job = start_job(&["-n", "2"], &["hanging", "cycle"], &[]);
    let answer = ask_until(job.run.pid(), "ranks 0 and 1 wait for each other");
    let line = of_rank(&answer, 0).lines().next().unwrap();
    assert!(line.contains("hanging.rs:"), "{answer}");
    kill("TERM", job.run.pid());
    job.end();
}

#[test]
fn a_message_with_another_tag_is_told_between_hosts() {
    let program = program();
    let run = start_on("plain", "h0:1,h1:1", &[], &[&program, "hanging", "tag"]);
    let sentence = "rank 1 waits for a message from rank 0 with tag 7 on flow 0, and has one with tag 8";
    let answer = ask_until(run.pid(), sentence);
    assert!(of_rank(&answer, 1).contains("unexpected: from rank 0, tag 8, flow 0, 8 B"), "{answer}");
    let json = canele(&["why", &run.pid().to_string(), "--json"]).out;
    let all: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(all["findings"][0]["other_tag"]["rank"], 1, "{json}");
    assert_eq!((&all["ranks"][1]["host"], &all["ranks"][0]["rank"]), (&"h1".into(), &0.into()), "{json}");
    kill("TERM", run.pid());
    run.end();
}

#[test]
fn a_rank_that_computes_is_the_odd_one_out_of_a_collective() {
    let job = start_job(&["-n", "3"], &["hanging", "absent"], &[]);
    let answer = ask_until(job.run.pid(), "ranks 0-1 are in barrier 1 on ");
    assert!(answer.contains("rank 2 is not (rank 2: computes outside of the library"), "{answer}");
    // A busy machine may fail to stop the process in time for an answer.
    ask_until(job.run.pid(), "computes outside of the library, in fault::hanging::compute (");
    kill("TERM", job.run.pid());
    job.end();
}

#[test]
fn a_rank_that_polls_is_told_from_one_that_waits() {
    let job = start_job(&["-n", "2"], &["hanging", "poll"], &[]);
    let answer = ask_until(job.run.pid(), "rank 1 waits for rank 0, which does not wait: ");
    assert!(of_rank(&answer, 0).contains("does not wait: calls "), "{answer}");
    kill("TERM", job.run.pid());
    job.end();
}

#[test]
fn a_rank_that_is_stopped_does_not_answer_and_is_told() {
    let job = start_job(&["-n", "2"], &["hanging", "cycle"], &[]);
    ask_until(job.run.pid(), "ranks 0 and 1 wait for each other");
    kill("STOP", job.wait_for_rank(1));
    let answer =
        ask_until(job.run.pid(), "rank 0 waits for rank 1, which does not wait: is stopped by a signal");
    assert!(of_rank(&answer, 1).contains("is stopped"), "{answer}");
    kill("CONT", job.wait_for_rank(1));
    kill("TERM", job.run.pid());
    job.end();
}

#[test]
fn the_first_quit_tells_and_the_second_ends() {
    let job = start_job(&["-n", "2"], &["hanging", "cycle"], &[]);
    let launcher = job.run.pid();
    ask_until(launcher, "ranks 0 and 1 wait for each other");
    kill("QUIT", launcher);
    ask_until(launcher, "ranks 0 and 1 wait for each other");
    kill("QUIT", launcher);
    let ended = job.end();
    assert_eq!(ended.code(), Some(131));
    assert!(ended.error.contains("* ranks 0 and 1 wait for each other"), "{}", ended.error);
}

#[test]
fn a_time_limit_tells_what_the_ranks_did() {
    let program = program();
    for options in [&["-n", "2"][..], &["--hosts", "h0:1,h1:1", "--rsh", &support::hosts::rsh("plain")]] {
        let ended = canele(&[&["run", "--timeout", "3"], options, &[&program, "hanging", "cycle"]].concat());
        assert_eq!(ended.code(), Some(124), "{}", ended.error);
        let told = ended.error.find("* ranks 0 and 1 wait for each other");
        let limit = ended.error.find("the time limit was reached");
        assert!(told.is_some() && told < limit, "{}", ended.error);
    }
}

#[test]
fn without_a_job_the_answer_says_so() {
    let ended = canele(&["why", "1"]);
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("process 1 is no launcher of a running job"), "{}", ended.error);
}
