//! `canele top`, and the jobs that `canele info` lists.

mod support;

use std::process::Command;

use serde_json::Value;
use support::ranks::start_job;
use support::{canele, kill, start_command, wait_until};

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&canele(args).out).unwrap_or_default()
}

#[test]
fn what_ranks_move_is_told_per_second() {
    let job = start_job(&["-n", "2"], &["exchange-alone", "1000"], &[]);
    let pid = job.run.pid().to_string();
    wait_until("messages and bytes of both ranks", || {
        let all = json(&["top", &pid, "--once", "--json", "--every", "0.2"]);
        let moves = |rank: usize, what: &str| all["jobs"][0]["ranks"][rank]["moves"][what].as_f64();
        let both = |what: &str| moves(0, what) > Some(0.0) && moves(1, what) > Some(0.0);
        both("messages_per_s") && both("sent_bytes_per_s") && both("received_bytes_per_s")
    });
    wait_until("a table without a dash", || {
        let table = canele(&["top", &pid, "--every", "0.2", "--sort", "moved"]).out;
        let is_full = |line: &str| line.contains("B/s") && !line.contains(" - ");
        table.starts_with(&format!("job {pid}: -n 2 "))
            && table.lines().skip(2).filter(|row| is_full(row)).count() == 2
    });
    let machine = json(&["info", "--json"]);
    let listed =
        machine["jobs"].as_array().is_some_and(|jobs| jobs.iter().any(|job| job["job"] == job_number(&pid)));
    assert!(listed, "{machine}");
    assert!(canele(&["info"]).out.contains(&format!("{pid:<7} -n 2 ")));
    kill("TERM", job.run.pid());
    assert_eq!(job.end().code(), Some(143));
}

fn job_number(pid: &str) -> u64 {
    pid.parse().unwrap()
}

#[test]
fn ranks_that_wait_are_told_with_their_share_of_the_time() {
    let job = start_job(&["-n", "3"], &["hanging", "cycle"], &[]);
    let pid = job.run.pid().to_string();
    wait_until("three ranks that do nothing but wait", || {
        let all = json(&["top", &pid, "--once", "--json", "--every", "0.2"]);
        let waits = |rank: &Value| {
            rank["state"] == "waits"
                && rank["doing"].as_str().is_some_and(|doing| doing.contains("tag 7"))
                && rank["moves"]["messages_per_s"] == 0.0
                && rank["moves"]["waiting"].as_f64() > Some(0.8)
        };
        let ranks = all["jobs"][0]["ranks"].as_array().cloned().unwrap_or_default();
        all["jobs"][0]["states"]["waits"] == 3 && ranks.len() == 3 && ranks.iter().all(waits)
    });
    // On a terminal it runs until a key ends it, and restores the terminal.
    let mut on_terminal = Command::new("script");
    let command = format!("stty cols 120 rows 30; {} top {pid} --every 0.1", env!("CARGO_BIN_EXE_canele"));
    on_terminal.args(["--quiet", "--return", "--command", &command, "/dev/null"]).env("TERM", "xterm");
    let ended = start_command(&mut on_terminal, b"q").end();
    assert_eq!(ended.code(), Some(0), "{}{}", ended.out, ended.error);
    let [begin, end] = ["\u{1b}[?1049h", "\u{1b}[?1049l"].map(|code| ended.out.find(code));
    assert!(begin.is_some() && begin < end && ended.out.contains(&format!("job {pid}:")), "{:?}", ended.out);
    kill("TERM", job.run.pid());
    job.end();
}

#[test]
fn what_cannot_be_looked_at_is_refused() {
    let unknown = canele(&["top", "1", "--once"]);
    assert_eq!(unknown.code(), Some(1));
    assert!(unknown.error.starts_with("canele: ") && unknown.error.contains('1'), "{}", unknown.error);
    let pause = canele(&["top", "--every", "0"]);
    assert_eq!(pause.code(), Some(2));
    assert!(pause.error.contains("seconds from 0.05 to 3600"), "{}", pause.error);
}

#[test]
fn launchers_of_two_containers_that_share_the_network_are_told_from_each_other() {
    let unshare = |words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--pid", "--fork", "--mount-proc"]).args(words);
        command
    };
    if !unshare(&["true"]).output().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: needs root");
    }
    // Each launcher is process 1 of its pid namespace.
    let canele_command = env!("CARGO_BIN_EXE_canele");
    let run = || {
        let words = [canele_command, "run", "-n", "1", "sh", "-c", "sleep 1000; exit 0"];
        start_command(&mut unshare(&words), b"")
    };
    let runs = [run(), run()];
    let mut launchers = Vec::new();
    wait_until("both launchers", || {
        let answers = |pid: &u32| {
            let answer = canele(&["info", "--job", &pid.to_string()]);
            answer.out.starts_with(&format!("job {pid}: ")) && answer.out.contains("sleep 1000")
        };
        launchers = runs.iter().filter_map(|run| run.processes().into_iter().find(answers)).collect();
        launchers.len() == 2
    });
    for launcher in &launchers {
        let mut within = Command::new("nsenter");
        within.args(["-t", &launcher.to_string(), "--pid", "--mount", canele_command, "info", "--job", "1"]);
        let ended = start_command(&mut within, b"").end();
        assert!(ended.out.starts_with("job 1: "), "{ended:?}");
    }
    let unclear = canele(&["why", "1"]);
    assert!(unclear.error.contains("2 launchers are process 1 of containers"), "{unclear:?}");
    launchers.iter().for_each(|launcher| kill("TERM", *launcher));
    for ended in runs.map(support::Run::end) {
        assert_eq!((ended.code(), ended.error.contains("cannot be asked")), (Some(143), false), "{ended:?}");
    }
}
