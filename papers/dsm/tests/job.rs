//! The program alone and as a job, with good and bad input.

#[path = "../../../crates/canele/tests/launch/mod.rs"]
mod launch;

use std::path::Path;
use std::process::{Command, Output};

const PROGRAM: &str = env!("CARGO_BIN_EXE_dsm");

fn job(ranks: usize, arguments: &[&str]) -> Output {
    launch::program(&["-n", &ranks.to_string()], Path::new(PROGRAM), arguments)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the summary of a run, and checks that the run succeeded.
fn summary(ended: &Output) -> String {
    assert!(ended.status.success(), "{}{}", text(&ended.stdout), text(&ended.stderr));
    text(&ended.stdout)
}

/// Returns the numbers in the line of the summary that begins with `name`.
fn numbers(summary: &str, name: &str) -> Vec<u64> {
    let line = summary.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{summary}"));
    line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect()
}

#[test]
fn the_result_equals_the_serial_reference_on_any_number_of_ranks() {
    let alone = Command::new(PROGRAM).args(["--pages", "5"]).output().unwrap();
    assert!(summary(&alone).contains("words equal those of the serial reference"));
    for (ranks, arguments) in [
        (1, &["--pages", "3", "--page-bytes", "8"][..]),
        (2, &["--pages", "7", "--page-bytes", "65000"]),
        (3, &["--pages", "9", "--page-bytes", "4096", "--seed", "5"]),
        (4, &["--pages", "11", "--page-bytes", "1024", "--servers", "2"]),
        (4, &["--pages", "1", "--servers", "3", "--guess", "blocks"]),
        (5, &["--pages", "2", "--page-bytes", "800", "--placement", "blocks"]),
    ] {
        let printed = summary(&job(ranks, &[arguments, &["--quiet"]].concat()));
        assert_eq!(printed, "", "{ranks} {arguments:?}");
        let printed = summary(&job(ranks, arguments));
        assert_eq!(printed.matches("words equal those of the serial reference").count(), 1, "{printed}");
    }
}

#[test]
fn pages_are_found_where_they_were_not_expected() {
    let common = ["--pages", "8", "--page-bytes", "512", "--servers", "2", "--placement", "blocks"];
    let right = summary(&job(4, &[&common[..], &["--guess", "blocks"]].concat()));
    assert_eq!(numbers(&right, "requests")[1], 0, "{right}");
    let wrong = summary(&job(4, &common));
    let [requests, not_found] = numbers(&wrong, "requests")[..] else { panic!("{wrong}") };
    // Each client asks the wrong server once for a page: the odd pages of the first nine and the even ones of
    // the last eight.
    assert!(not_found > 0 && not_found <= 2 * 8, "{wrong}");
    assert_eq!(requests - not_found, numbers(&right, "requests")[0], "{wrong}{right}");
}

#[test]
fn the_experiment_measures_each_strategy() {
    let arguments =
        ["requests", "--pages", "1,3", "--rounds", "2", "--page-bytes", "65000", "--json", "--quiet"];
    let printed = summary(&job(2, &arguments));
    let measured: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let rows = measured["rows"].as_array().unwrap();
    let named = |row: &serde_json::Value| format!("{} {}", row["pages"], row["strategy"].as_str().unwrap());
    let rows_named: Vec<String> = rows.iter().map(named).collect();
    assert_eq!(rows_named, ["1 fifo", "1 aggregate", "3 fifo", "3 aggregate"]);
    for row in rows {
        let [requests, whole] =
            ["requests_rendezvous_us", "whole_us"].map(|name| row[name].as_f64().unwrap());
        assert!(requests > 0.0 && whole >= requests, "{row}");
        assert_eq!(row["ratio_whole"].is_null(), row["strategy"] == "fifo", "{row}");
    }
    let table = summary(&job(2, &["requests", "--pages", "2", "--rounds", "1", "--strategy", "split"]));
    assert!(table.contains("split") && !table.contains("fifo"), "{table}");
}

#[test]
fn bad_input_is_explained_once_by_all_ranks_together() {
    for (ranks, arguments, why) in [
        (3, &["--servers", "3"][..], "3 page servers in a job of 3 ranks leave no client"),
        (1, &["--servers", "2"], "2 page servers in a job of 1 ranks leave no client"),
        (2, &["--page-bytes", "65001"], "a page of 65001 bytes: take a multiple of 8"),
        (2, &["--page-bytes", "0"], "a page of 0 bytes"),
        (3, &["requests"], "the job has 3 ranks: the experiment needs 2"),
        (2, &["requests", "--strategy", "lifo"], "there is no strategy \"lifo\""),
        (2, &["--pages", "0"], "invalid value '0'"),
        (2, &["--page", "3"], "unexpected argument '--page'"),
    ] {
        let ended = job(ranks, arguments);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(said.matches(why).count(), 1, "{said}");
        assert_eq!(text(&ended.stdout), "");
    }
}

#[test]
fn the_command_canele_demo_finds_the_program() {
    let words = ["demo", "dsm", "-n", "2", "--pages", "4"];
    let printed = summary(&launch::command().args(words).output().unwrap());
    assert!(printed.contains("1 page server, 1 client\n"), "{printed}");
}
