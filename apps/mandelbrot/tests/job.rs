//! The program alone and as a job, with good and bad input.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mandelbrot");

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mandelbrot-{name}"))
}

fn job(ranks: usize, arguments: &[&str]) -> Output {
    launch::program(&["-n", &ranks.to_string()], Path::new(PROGRAM), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks that the picture has equal bytes alone and on several numbers of ranks.
fn same_picture(name: &str, view: &[&str]) {
    let picture = |ranks: usize, run: &dyn Fn(&[&str]) -> Output| {
        let path = file(&format!("{name}-{ranks}.png"));
        let ended = run(&[view, &["--output", &path.display().to_string()]].concat());
        assert!(ended.status.success(), "{ranks} ranks: {}", text(&ended.stderr));
        let summary = text(&ended.stdout);
        assert_eq!(summary.contains(" messages, "), ranks > 1, "{summary}");
        assert_eq!(summary.lines().filter(|line| line.starts_with("written")).count(), 1, "{summary}");
        std::fs::read(&path).unwrap()
    };
    let expected = picture(0, &|arguments| Command::new(PROGRAM).args(arguments).output().unwrap());
    for ranks in [1, 2, 3, 4, 7] {
        let found = picture(ranks, &|arguments| job(ranks, arguments));
        assert!(found == expected, "{ranks} ranks compute another picture");
    }
}

#[test]
fn the_picture_has_the_same_bytes_for_any_number_of_ranks() {
    same_picture("small", &["--size", "90x61", "--iterations", "700", "--slice-rows", "3"]);
}

#[test]
fn the_picture_has_the_same_bytes_for_any_number_of_threads() {
    let picture = |ranks: usize, threads: &[&str]| {
        let path = file(&format!("threads-{ranks}-{}.png", threads.last().unwrap_or(&"none")));
        let output = path.display().to_string();
        let view =
            ["--size", "90x61", "--iterations", "700", "--slice-rows", "3", "--output", &output, "--json"];
        let ended = job(ranks, &[&view, threads].concat());
        assert!(ended.status.success(), "{ranks} ranks, {threads:?}: {}", text(&ended.stderr));
        let found: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&found["program"], &found["ranks"]), (&"mandelbrot".into(), &ranks.into()));
        (std::fs::read(&path).unwrap(), found["iterations"].clone(), found["checksum"].clone())
    };
    let expected = picture(1, &[]);
    for (ranks, threads) in [(1, "1"), (1, "2"), (1, "3"), (2, "1"), (2, "2"), (3, "2"), (3, "4")] {
        let found = picture(ranks, &["--threads", threads]);
        assert!(found == expected, "{ranks} ranks of {threads} threads compute another picture");
    }
}

/// `bench/programs/mandelbrot.c` expects the same numbers.
#[test]
fn the_picture_is_that_of_the_mpi_program() {
    let output = file("known.png").display().to_string();
    let ended = job(2, &["--size", "480x270", "--output", &output, "--json", "--quiet"]);
    let found: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(found["iterations"], 13_723_059);
    assert_eq!(found["checksum"], "ecd38ace021669ca");
}

#[test]
fn slices_that_lie_in_regions_give_the_same_picture() {
    same_picture("wide", &["--size", "2000x30", "--iterations", "50", "--slice-rows", "7"]);
}

#[test]
fn more_workers_than_slices_leave_some_without_work() {
    same_picture("few", &["--size", "50x9", "--iterations", "50", "--slice-rows", "5"]);
}

#[test]
fn bad_input_is_explained_once_by_all_ranks_together() {
    let cases: [(&[&str], &str); 5] = [
        (&["--size", "100x2"], "more ranks than rows: the job has 3"),
        (&["--size", "0x5"], "an empty picture"),
        (&["--width", "1e-15"], "the view is too deep"),
        (&["--output", "no/such/folder.png"], "cannot write no/such/folder.png"),
        (&["--worker"], "unexpected argument '--worker'"),
    ];
    for (arguments, why) in cases {
        let ended = job(3, arguments);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.matches(why).count(), 1, "{arguments:?}: {said}");
        assert_eq!(said.matches("mandelbrot: ").count(), 1, "{arguments:?}: {said}");
        assert_eq!(text(&ended.stdout), "");
    }
}

#[test]
fn one_rank_answers_a_question_for_help() {
    let ended = job(3, &["--help"]);
    assert!(ended.status.success());
    let help = text(&ended.stdout);
    assert_eq!(help.matches("Examples:").count(), 1);
    assert!(help.contains("a master and three workers"), "one word for them in all texts: {help}");
    assert_eq!(text(&ended.stderr), "");
}
