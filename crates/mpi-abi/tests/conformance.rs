//! The conformance program, whose output must equal that of another implementation. `scripts/conformance`
//! compares both and writes the expected output here.

mod support;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use support::{compiled, conformance, conforming, run, text};

fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("conformance", &conformance()))
}

fn prints_what_is_expected(ranks: usize) {
    let n = ranks.to_string();
    let output = run(Some(&["-n", &n]), program(), &[]);
    assert!(output.status.success(), "{}", text(&output));
    let (said, expected) = (String::from_utf8_lossy(&output.stdout), conforming(ranks));
    for (at, (said, expected)) in said.lines().zip(expected.lines()).enumerate() {
        assert_eq!(said, expected, "line {} on {ranks} ranks", at + 1);
    }
    assert_eq!(said.lines().count(), expected.lines().count(), "lines on {ranks} ranks");
}

#[test]
fn one_rank_prints_what_is_expected() {
    prints_what_is_expected(1);
}

#[test]
fn two_ranks_print_what_is_expected() {
    prints_what_is_expected(2);
}

#[test]
fn three_ranks_print_what_is_expected() {
    prints_what_is_expected(3);
}

#[test]
fn four_ranks_print_what_is_expected() {
    prints_what_is_expected(4);
}
