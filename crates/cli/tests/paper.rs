//! `canele paper` from the command line: its list, its files, and its messages about missing parts.

mod support;

use std::path::Path;
use std::process::Command;

use support::folder::Folder;

fn paper(canele: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(canele).arg("paper").args(words).output().expect("the command can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// The default folder of results is one that git ignores.
#[test]
fn results_have_a_folder_of_their_own() {
    let (status, out, err) = paper(own(), &["--help"]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("[default: papers-results]"), "{out}");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ignored = std::fs::read_to_string(sources.join(".gitignore")).expect("what git ignores");
    assert!(ignored.lines().any(|line| line == "/papers-results/"), "{ignored}");
}

fn own() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_canele"))
}

#[test]
fn an_experiment_writes_its_report() {
    let folder = Folder::new("paper-report");
    let output = folder.0.to_str().expect("a plain path");
    let (status, out, err) = paper(own(), &["--quick", "--only", "newmadeleine-rails", "--output", output]);
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("1 experiments") && out.contains("papers.md"), "{out}");
    let report = std::fs::read_to_string(folder.0.join("papers.md")).expect("a report");
    for words in
        ["## NewMadeleine", "### Messages over several networks", "quick run", "| bytes |", ": holds"]
    {
        assert!(report.contains(words), "{words} in {report}");
    }
    assert!(folder.0.join("papers.json").is_file());
}

#[test]
fn what_is_missing_is_left_out_and_named() {
    let folder = Folder::new("paper-missing");
    // This copy of the command has no example programs beside it.
    let alone = folder.0.join("canele");
    std::fs::copy(own(), &alone).expect("a copy of the command");
    let output = folder.0.to_str().expect("a plain path");
    let (status, _, err) = paper(&alone, &["--quick", "--only", "mpi-mpc-gauss", "--output", output]);
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains("left out") && err.contains("cargo build --release -p canele-gauss"), "{err}");
    let report = std::fs::read_to_string(folder.0.join("papers.md")).expect("a report");
    assert!(report.contains("Left out: the program gauss"), "{report}");
}

#[test]
fn wrong_usage_says_what_there_is() {
    let (status, out, _) = paper(own(), &["--list"]);
    assert_eq!(status, Some(0));
    assert!(out.lines().count() >= 14 && out.contains("mpc-steps"), "{out}");
    let (status, _, err) = paper(own(), &["--only", "cold-fusion"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("no experiment cold-fusion") && err.contains("bip-packets"), "{err}");
    let (status, _, err) = paper(own(), &["--only", "newmadeleine-rails", "--output", "/proc/nowhere"]);
    assert_eq!(status, Some(1));
    assert!(err.contains("cannot make the folder /proc/nowhere"), "{err}");
}
