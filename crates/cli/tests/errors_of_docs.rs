//! `docs/errors.md` has a row for each text of the error types, with a remedy. `CANELE_UPDATE=1` writes it
//! anew.
//!
//! `errors.tsv` in this folder has for each error the place where a user meets it and the remedy. Texts and
//! meanings come from the sources.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use support::error_sources::{ErrorText, check_reading, classes, error_texts, exceptions, literals, sources};

const PAGE: &str = "docs/errors.md";

/// The parts of the page, by the words of `errors.tsv`. No user sees the errors of rows `none`.
const PARTS: [(&str, &str); 11] = [
    ("start", "Start of a job"),
    ("end", "While a job runs, and at its end"),
    ("messages", "Messages"),
    ("collectives", "Collectives and communicators"),
    ("onesided", "One-sided communication"),
    ("files", "Files"),
    ("python", "Python"),
    ("mpiexec", "Options of `canele run` and `mpiexec`"),
    ("compilers", "Compiler wrappers"),
    ("clusters", "Clusters"),
    ("questions", "`canele info`, `canele why` and other commands"),
];

/// The crates whose error types have texts for users.
const CRATES: [&str; 10] =
    ["canele", "collective", "control", "engine", "launch", "profile", "proto", "rail", "secure", "sys"];

const HEAD: &str = "# Errors by text

Search this page for some words of the message. `…` stands for a rank, a value or a name. A message of the launcher begins with `canele: `.
A message of MPI begins with the function and the class of the error. Each part has its messages by the alphabet.

The page [My program hangs](debugging.md) is for a program that says nothing. `canele doctor` looks for what keeps jobs from running.

<!-- Made by `CANELE_UPDATE=1 cargo test -p canele-cli --test errors_of_docs`: do not edit. -->
";

/// A line of `errors.tsv`.
struct ErrorRow {
    part: String,
    /// The key of an error of the sources, or the file that has the text.
    source: String,
    text: String,
    meaning: String,
    remedy: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn rows() -> Vec<ErrorRow> {
    let lines = include_str!("errors.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &str| {
        let cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
        let [part, source, text, meaning, remedy] = <[String; 5]>::try_from(cells)
            .unwrap_or_else(|cells| panic!("errors.tsv: five cells, not {}: {line}", cells.len()));
        ErrorRow { part, source, text, meaning, remedy }
    };
    lines.map(row).collect()
}

/// Returns all errors of the sources by their keys.
fn of_sources() -> BTreeMap<String, ErrorText> {
    let mut found = Vec::new();
    for krate in CRATES {
        for path in sources(&root().join("crates").join(krate).join("src")) {
            found.extend(error_texts(krate, &fs::read_to_string(path).unwrap()));
        }
    }
    found.extend(classes(&text_of("crates/mpi/src/error.rs")));
    found.extend(exceptions(&text_of("python/canele/errors.py")));
    let count = found.len();
    let by_key: BTreeMap<_, _> = found.into_iter().map(|error| (error.key.clone(), error)).collect();
    assert_eq!(by_key.len(), count, "keys are not unique");
    by_key
}

/// Returns the row with text and meaning of the sources if the file has none.
fn completed(mut row: ErrorRow, errors: &BTreeMap<String, ErrorText>) -> ErrorRow {
    if let Some(error) = errors.get(&row.source) {
        row.text = error.text.clone();
        if row.meaning.is_empty() {
            row.meaning.clone_from(&error.meaning);
        }
    }
    row
}

/// Returns the page that follows from the sources and the rows.
fn page() -> String {
    let errors = of_sources();
    let rows: Vec<ErrorRow> = rows().into_iter().map(|row| completed(row, &errors)).collect();
    let mut page = HEAD.to_owned();
    let cell = |text: &str| {
        let mut text = text.replace('|', "\\|").replace('\n', " ");
        while text.contains("……") {
            text = text.replace("……", "…");
        }
        text
    };
    // A reader searches for words, so the order ignores signs before them.
    let order = |row: &ErrorRow| row.text.trim_start_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    for (part, title) in PARTS {
        let mut of_part: Vec<&ErrorRow> = rows.iter().filter(|row| row.part == part).collect();
        of_part.sort_by_key(|row| order(row));
        write!(page, "\n## {title}\n\n| message | means | do |\n|---|---|---|\n").unwrap();
        for row in of_part {
            writeln!(page, "| {} | {} | {} |", cell(&row.text), cell(&row.meaning), cell(&row.remedy))
                .unwrap();
        }
    }
    page
}

#[test]
fn sources_are_read_in_all_their_forms() {
    check_reading();
}

#[test]
fn every_error_of_the_sources_has_one_row() {
    let errors = of_sources();
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for row in rows() {
        if !row.source.contains('/') && !errors.contains_key(&row.source) {
            wrong.push(format!("{}: there is no such error", row.source));
        }
        if !seen.insert((row.source.clone(), row.text.clone())) {
            wrong.push(format!("{} {}: there are two rows", row.source, row.text));
        }
    }
    let missing = errors.values().filter(|error| !seen.contains(&(error.key.clone(), String::new())));
    wrong.extend(missing.map(|error| format!("{}: no row for: {}", error.key, error.text)));
    assert!(wrong.is_empty(), "errors.tsv:\n{}", wrong.join("\n"));
    assert!(errors.len() > 150, "{} errors", errors.len());
}

#[test]
fn every_other_text_is_in_its_source() {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in rows().iter().filter(|row| row.source.contains('/')) {
        let found = texts.entry(row.source.clone()).or_insert_with(|| literals(&text_of(&row.source)));
        if row.text.is_empty() || row.meaning.is_empty() || !found.iter().any(|text| text.contains(&row.text))
        {
            wrong.push(format!("{}: no text has: {}", row.source, row.text));
        }
    }
    assert!(wrong.is_empty(), "errors.tsv:\n{}", wrong.join("\n"));
}

#[test]
fn every_row_says_what_to_do() {
    for row in rows() {
        let is_part = row.part == "none" || PARTS.iter().any(|(part, _)| *part == row.part);
        assert!(is_part, "{}: there is no part {}", row.source, row.part);
        assert!(
            row.remedy.ends_with(['.', '?', ')']) && row.remedy.len() > 10,
            "{}: {}",
            row.source,
            row.remedy
        );
    }
}

#[test]
fn the_page_is_that_of_the_sources() {
    let page = page();
    if std::env::var_os("CANELE_UPDATE").is_some() {
        fs::write(root().join(PAGE), &page).unwrap();
    }
    assert!(
        fs::read_to_string(root().join(PAGE)).unwrap_or_default() == page,
        "{PAGE} differs from what the sources say: run `CANELE_UPDATE=1 cargo test -p canele-cli --test errors_of_docs`"
    );
}
