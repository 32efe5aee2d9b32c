//! The program alone and as a job, with good and bad input.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use canele_show::Picture;

const PROGRAM: &str = env!("CARGO_BIN_EXE_laplace");

/// Returns the path of a file that only the test called `test` uses.
fn file(test: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("laplace-{test}"));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Writes a small plate with a hot and a cold bar and scattered fixed spots.
fn plate(test: &str) -> String {
    let pixel = |column: usize, row: usize| match (column, row) {
        (4..30, 5) => [255, 0, 0, 255],
        (20, 8..28) => [0, 0, 255, 255],
        _ if column * row % 37 == 5 => [0, 255, (7 * row) as u8, 255],
        _ => [(3 * column) as u8; 4],
    };
    let pixels = (0..31).flat_map(|row| (0..45).map(move |column| pixel(column, row))).collect();
    let path = file(test, "plate.png");
    Picture { width: 45, height: 31, pixels }.write(&path).unwrap();
    path.display().to_string()
}

fn job(ranks: usize, arguments: &[&str]) -> Output {
    launch::program(&["-n", &ranks.to_string()], Path::new(PROGRAM), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_demo_takes_its_number_of_ranks_before_and_after_the_name() {
    let output = file("demo", "demo.png").display().to_string();
    for words in [["-n", "2", "laplace"], ["laplace", "-n", "2"]] {
        let ended = launch::command()
            .arg("demo")
            .args(words)
            .args(["--max-sweeps", "3", "--output", &output])
            .output()
            .unwrap();
        assert!(ended.status.success(), "{words:?}: {}", text(&ended.stderr));
        assert!(text(&ended.stdout).contains("cut into 2 x 1 blocks"), "{}", text(&ended.stdout));
    }
    let help = launch::command().args(["demo", "laplace", "-n", "2", "--help"]).output().unwrap();
    assert_eq!(text(&help.stdout).matches("Usage: laplace").count(), 1, "{help:?}");
}

#[test]
fn the_heat_map_has_the_same_bytes_for_any_number_of_ranks() {
    let (plate, alone) = (plate("equal"), file("equal", "alone.png"));
    let arguments =
        |output: &Path| ["--plate", &plate, "--output", &output.display().to_string()].map(String::from);
    let ended = Command::new(PROGRAM).args(arguments(&alone)).output().unwrap();
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let expected = std::fs::read(&alone).unwrap();
    for ranks in [1, 2, 3, 4, 7] {
        let output = file("equal", &format!("{ranks}.png"));
        let ended = job(ranks, &arguments(&output).each_ref().map(String::as_str));
        assert!(ended.status.success(), "{ranks} ranks: {}", text(&ended.stderr));
        assert!(std::fs::read(&output).unwrap() == expected, "{ranks} ranks compute another heat map");
        let summary = text(&ended.stdout);
        assert_eq!(summary.contains(" messages, "), ranks > 1, "{summary}");
        assert_eq!(summary.lines().filter(|line| line.starts_with("heat map")).count(), 1, "{summary}");
    }
}

#[test]
fn the_heat_map_has_the_same_bytes_for_any_number_of_threads() {
    let (plate, alone) = (plate("threads"), file("threads", "alone.png"));
    let run = |ranks: usize, threads: usize, output: &Path| {
        let (threads, output) = (threads.to_string(), output.display().to_string());
        let words = ["--plate", &plate, "--output", &output, "--threads", &threads, "--json", "--quiet"];
        let ended = job(ranks, &words);
        assert!(ended.status.success(), "{ranks} ranks, {threads} threads: {}", text(&ended.stderr));
        let found: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!((&found["program"], &found["ranks"]), (&"laplace".into(), &ranks.into()));
        assert_eq!((&found["width"], &found["height"]), (&45.into(), &31.into()));
        found["sweeps"].as_u64().unwrap()
    };
    let sweeps = run(1, 1, &alone);
    let expected = std::fs::read(&alone).unwrap();
    for (ranks, threads) in [(1, 2), (1, 3), (2, 2), (3, 2), (2, 5)] {
        let output = file("threads", &format!("{ranks}-{threads}.png"));
        assert_eq!(run(ranks, threads, &output), sweeps, "{ranks} ranks, {threads} threads");
        let found = std::fs::read(&output).unwrap();
        assert!(found == expected, "{ranks} ranks of {threads} threads compute another heat map");
    }
}

/// Checks that a job of 3 ranks ends with status 2 and gives the reason once.
fn refused(arguments: &[&str], why: &str) {
    let ended = job(3, arguments);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(why).count(), 1, "{said}");
    assert_eq!(said.matches("laplace: ").count(), 1, "{said}");
    assert_eq!(text(&ended.stdout), "");
}

#[test]
fn bad_input_is_explained_once_by_all_ranks_together() {
    let written = |name: &str, content: &[u8]| {
        let path = file("bad", name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let output = file("bad", "out.png").display().to_string();
    refused(&["--plate", "no/such.png"], "cannot read no/such.png");
    refused(&["--plate", &written("text.png", b"no picture")], "is not a PNG picture");
    let flat = file("bad", "flat.png");
    Picture { width: 40, height: 2, pixels: vec![[255, 0, 0, 255]; 80] }.write(&flat).unwrap();
    refused(
        &["--plate", &flat.display().to_string(), "--output", &output],
        "more ranks than rows: the job has 3",
    );
    refused(
        &["--plate", &flat.display().to_string(), "--output", &output, "--threads", "2"],
        "more computing threads than rows: 3 ranks of 2 threads each",
    );
    let grey = file("bad", "grey.png");
    Picture { width: 40, height: 9, pixels: vec![[9, 9, 9, 255]; 360] }.write(&grey).unwrap();
    refused(&["--plate", &grey.display().to_string(), "--output", &output], "no pixel of");
    refused(&["--output", "no/such/folder.png"], "cannot write no/such/folder.png");
    refused(&["--tolerance", "-1"], "above 0 degrees");
    refused(&["--plates", "x"], "unexpected argument '--plates'");
    assert!(!Path::new(&output).exists());
}

#[test]
fn one_rank_answers_a_question_for_help() {
    let ended = job(3, &["--help"]);
    assert!(ended.status.success());
    assert_eq!(text(&ended.stdout).matches("How to paint a plate").count(), 1);
    assert_eq!(text(&ended.stderr), "");
}
