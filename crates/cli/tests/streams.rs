//! Standard input, output and error of ranks.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use support::{shell, start_with};

#[test]
fn standard_input_goes_to_rank_0_only() {
    let script = "echo \"$CANELE_RANK got $(wc -c)\"";
    let run = start_with(&["run", "-n", "3", "sh", "-c", script], &[], b"12345\n");
    assert_eq!(run.end().lines(), ["0 got 6", "1 got 0", "2 got 0"]);
}

#[test]
fn labels_name_the_rank_on_both_streams() {
    let ended = shell(&["-n", "2", "--label"], "echo out; echo; echo err >&2; printf end");
    assert_eq!(ended.lines(), ["[0] ", "[0] end", "[0] out", "[1] ", "[1] end", "[1] out"]);
    let mut errors: Vec<_> = ended.error.lines().collect();
    errors.sort_unstable();
    assert_eq!(errors, ["[0] err", "[1] err"]);
}

#[test]
fn lines_stay_whole_however_they_are_written() {
    let script = "for i in 1 2 3 4 5 6 7 8; do printf aaaaaaaa; printf 'bbbbbbbb\\n'; done";
    let ended = shell(&["-n", "8"], script);
    assert_eq!(ended.lines(), ["aaaaaaaabbbbbbbb"; 64]);
}

#[test]
fn not_a_byte_is_changed_or_lost() {
    let script = "i=0; while [ $i -lt 300 ]; do head -c 4096 /dev/zero; i=$((i+1)); done; printf last";
    let ended = shell(&["-n", "1"], script);
    assert_eq!(ended.out.len(), 300 * 4096 + 4);
    assert!(ended.out.ends_with("\0last"));
}

#[test]
fn a_prompt_is_shown_before_its_answer() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "-n", "1", "sh", "-c", "printf 'name? '; read name; echo \"hello $name\""])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut prompt = [0; 6];
    out.read_exact(&mut prompt).unwrap();
    assert_eq!(&prompt, b"name? ");
    child.stdin.take().unwrap().write_all(b"you\n").unwrap();
    let mut answer = String::new();
    out.read_line(&mut answer).unwrap();
    assert_eq!(answer, "hello you\n");
    assert!(child.wait().unwrap().success());
}

#[test]
fn what_was_printed_before_a_failure_comes_before_its_message() {
    let ended = shell(&["-n", "1"], "echo reason >&2; printf more >&2; exit 3");
    assert_eq!(ended.error, "reason\nmore\ncanele: rank 0 exited with status 3; ending the job\n");
}

#[test]
fn a_reader_that_leaves_ends_the_job_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "-n", "2", "yes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "y\n");
    let mut status = None;
    support::wait_until("the job's end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.unwrap().code(), Some(128 + 13));
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(error, "");
}

#[test]
fn a_reader_that_does_not_read_delays_neither_failures_nor_their_consequences() {
    let script = "test $CANELE_RANK = 1 && { sleep 0.5; exit 5; }; exec yes";
    let mut child = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "-n", "2", "sh", "-c", script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut message).unwrap();
    assert_eq!(message, "canele: rank 1 exited with status 5; ending the job\n");
    // The output is read only now.
    std::io::copy(&mut child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn output_that_cannot_be_written_is_named_and_a_failure() {
    for script in ["echo hello", "head -c 3000000 /dev/zero"] {
        let ended = Command::new(env!("CARGO_BIN_EXE_canele"))
            .args(["run", "-n", "1", "sh", "-c", script])
            .stdout(std::fs::File::create("/dev/full").unwrap())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{script}: {error}");
        assert!(error.contains("standard output: No space left on device"), "{script}: {error}");
    }
}

/// Starts a launcher whose ranks print more than a pipe takes, and end or are about to; its output is not
/// read.
fn with_a_stuck_reader(options: &[&str]) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "-n", "2"])
        .args(options)
        .args(["sh", "-c", "head -c 150000 /dev/zero; echo done >&2"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut error = BufReader::new(child.stderr.as_mut().unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        error.read_line(&mut line).unwrap();
        assert_eq!(line, "done\n");
    }
    child
}

fn code_at_the_end(mut child: Child) -> Option<i32> {
    let mut status = None;
    support::wait_until("the launcher's end", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap().code()
}

/// Returns true once the launcher has no process below it.
fn is_alone(launcher: u32) -> bool {
    let children = std::fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children"));
    children.unwrap_or_default().is_empty()
}

#[test]
fn a_signal_ends_a_launcher_whose_output_is_not_read() {
    for (signal, number) in [("TERM", 15), ("INT", 2)] {
        let child = with_a_stuck_reader(&[]);
        support::wait_until("the end of the ranks", || is_alone(child.id()));
        support::kill(signal, child.id());
        assert_eq!(code_at_the_end(child), Some(128 + number), "{signal}");
    }
}

#[test]
fn the_time_limit_ends_a_launcher_whose_output_is_not_read() {
    assert_eq!(code_at_the_end(with_a_stuck_reader(&["--timeout", "20"])), Some(124));
}

/// Returns a terminal whose output is not read.
fn terminal() -> (OwnedFd, std::fs::File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap();
    let slave = std::fs::OpenOptions::new().read(true).write(true).open(path.to_str().unwrap()).unwrap();
    (master, slave)
}

/// Starts a launcher that labels the endless lines of its ranks and so writes them itself.
fn on_an_unread_terminal(options: &[&str]) -> (OwnedFd, Child) {
    let (master, slave) = terminal();
    let child = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(["run", "-n", "2", "--label"])
        .args(options)
        .arg("yes")
        .stdin(Stdio::null())
        .stdout(slave)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    (master, child)
}

#[test]
fn a_terminal_that_takes_nothing_delays_neither_signals_nor_the_time_limit() {
    let (_master, child) = on_an_unread_terminal(&["--timeout", "2"]);
    assert_eq!(code_at_the_end(child), Some(124));
    let (_master, child) = on_an_unread_terminal(&[]);
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    support::wait_until("the ranks to start", || !is_alone(child.id()));
    // The launcher has filled the terminal once it uses no processor time.
    let mut before = String::new();
    support::wait_until("the terminal to be full", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let ticks: Vec<String> = stat().split(' ').skip(13).take(2).map(str::to_owned).collect();
        std::mem::replace(&mut before, ticks.join(" ")) == before
    });
    support::kill("TERM", child.id());
    assert_eq!(code_at_the_end(child), Some(128 + 15));
}
