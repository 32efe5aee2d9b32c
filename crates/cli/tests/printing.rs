//! Output of ranks: its place and form, the ranks that get standard input, and the messages at the end.

mod support;

use std::fs;

use support::folder::Folder;
use support::hosts::{shell_on, start_on_with};
use support::{canele, shell, start_with};

const SCRIPT: &str = "echo out $CANELE_RANK; echo error $CANELE_RANK >&2";

#[test]
fn each_rank_has_files_of_its_own_on_one_host_and_on_several() {
    let folder = Folder::new("files");
    let output = folder.path("a/b");
    let new_folder = format!("canele: made the folder {} for the output of the ranks\n", folder.path("a"));
    for (ended, said) in [
        (shell(&["-n", "2", "--output", &output], SCRIPT), &*new_folder),
        (shell_on("h0:1,h1:1", &["--output", &output], SCRIPT), ""),
    ] {
        assert_eq!((ended.code(), &*ended.out, &*ended.error), (Some(0), "", said));
        for rank in 0..2 {
            assert_eq!(folder.text(&format!("a/b/rank.{rank}/stdout")), format!("out {rank}\n"));
            assert_eq!(folder.text(&format!("a/b/rank.{rank}/stderr")), format!("error {rank}\n"));
        }
    }
}

#[test]
fn files_may_have_hosts_in_their_names_and_be_printed_too() {
    let folder = Folder::new("names");
    let file = folder.path("%h.%r");
    let ended = shell_on("h0:1,h1:1", &["--stdout-file", &file, "--tee", "--label=%h/%r: "], SCRIPT);
    assert_eq!(ended.lines(), ["h0/0: out 0", "h1/1: out 1"]);
    assert!(ended.error.contains("h1/1: error 1\n"), "{}", ended.error);
    assert_eq!((folder.text("h0.0"), folder.text("h1.1")), ("out 0\n".into(), "out 1\n".into()));
    let one = folder.path("all");
    assert_eq!(shell(&["-n", "3", "--stdout-file", &one], SCRIPT).out, "");
    let mut lines: Vec<String> = folder.text("all").lines().map(String::from).collect();
    lines.sort_unstable();
    assert_eq!(lines, ["out 0", "out 1", "out 2"]);
}

#[test]
fn a_file_that_cannot_be_made_ends_the_job_before_it_starts() {
    let ended = shell(&["-n", "1", "--output", "/proc/none"], "echo never");
    assert_eq!((ended.code(), &*ended.out), (Some(2), ""));
    assert!(ended.error.contains("rank 0 to /proc/none/rank.0/stdout"), "{}", ended.error);
}

#[test]
fn a_file_that_takes_nothing_more_makes_the_job_fail_once() {
    let ended =
        shell(&["-n", "1", "--stdout-file", "/dev/full"], "echo one; echo two; sleep 0.3; echo three");
    assert_eq!(ended.code(), Some(1));
    assert_eq!(ended.error.matches("to /dev/full").count(), 1, "{}", ended.error);
}

#[test]
fn lines_have_their_time() {
    let ended = shell(&["-n", "1", "--timestamp", "--label"], "echo a; echo b");
    let lines = ended.lines();
    assert_eq!(lines.len(), 2);
    for (line, text) in lines.iter().zip(["a", "b"]) {
        let (time, rest) = line.split_once(' ').unwrap();
        assert_eq!(rest, format!("[0] {text}"));
        assert!(time.len() == "2026-01-01T00:00:00.000Z".len() && time.ends_with('Z'), "{line}");
    }
}

#[test]
fn standard_input_goes_to_the_ranks_that_are_named() {
    let script = "read word; echo $CANELE_RANK $word";
    let get = |options: &[&str]| {
        let words = [&["run", "-n", "3"], options, &["sh", "-c", script]].concat();
        let ended = start_with(&words, &[], b"word\n").end();
        ended.lines().join(",")
    };
    assert_eq!(get(&[]), "0 word,1,2");
    assert_eq!(get(&["--stdin", "2"]), "0,1,2 word");
    assert_eq!(get(&["--stdin", "none"]), "0,1,2");
    assert_eq!(get(&["--stdin", "all"]), "0 word,1 word,2 word");
    assert_eq!(get(&["--stdin", "0,2"]), "0 word,1,2 word");
    let wrong = canele(&["run", "-n", "3", "--stdin", "3", "true"]);
    assert_eq!(wrong.code(), Some(2));
    assert!(wrong.error.contains("no rank 3"), "{}", wrong.error);
}

/// Input larger than pipes and credit hold, and ranks that read it at different speeds, or not at all.
#[test]
fn all_ranks_of_all_hosts_get_the_whole_of_it() {
    let input: Vec<u8> = (0..300_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect();
    let script = "case $CANELE_RANK in 1) sleep 0.5;; 3) exec true;; esac; md5sum";
    let options = ["--stdin", "all"];
    let run = start_on_with("plain", "h0:2,h1:2", &options, &["sh", "-c", script], &[], &input);
    let ended = run.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let lines = ended.lines();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    let alone = start_with(&["run", "-n", "1", "md5sum"], &[], &input).end();
    assert_eq!(alone.lines()[0], lines[0]);
}

#[test]
fn ends_of_ranks_are_listed() {
    let ended = shell(
        &["-n", "3", "--report-exits", "--on-failure", "continue"],
        "exit $(( CANELE_RANK == 1 ? 3 : 0 ))",
    );
    assert_eq!(ended.code(), Some(3));
    assert!(
        ended.error.contains("canele: ranks 0, 2: exit status 0; rank 1: exit status 3\n"),
        "{}",
        ended.error
    );
}

#[test]
fn ranks_run_where_their_file_says() {
    let folder = Folder::new("ranks");
    let file = folder.path("ranks");
    fs::write(&file, "rank 0=localhost slot=0\nrank 1=localhost slot=0:0\n").unwrap();
    let script =
        "echo $CANELE_RANK $CANELE_BIND $(grep Cpus_allowed_list: /proc/self/status | tr -dc '0-9,-')";
    let ended = canele(&["run", "--rankfile", &file, "sh", "-c", script]);
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    for (rank, line) in ended.lines().iter().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((words[0], words[1]), (&*rank.to_string(), words[2]), "{line}");
    }
    fs::write(&file, "rank 0=localhost slot=9999\n").unwrap();
    let wrong = canele(&["run", "--rankfile", &file, "true"]);
    assert_eq!(wrong.code(), Some(2));
    assert!(wrong.error.contains("core 9999"), "{}", wrong.error);
}
