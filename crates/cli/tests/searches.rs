//! A search for a word of the field finds the file that owns it: the table of docs/architecture.md holds.

use std::path::{Path, PathBuf};

/// A search that finds more files than this is no answer.
const MOST_FOUND: usize = 2;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Returns the words of the table, each with the file that owns the thing.
fn searches() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).expect("the document");
    let (_, section) = text.split_once("\n## Twelve searches\n").expect("the section");
    let cell = |cell: &str| cell.trim().trim_matches('`').to_owned();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').collect();
        assert_eq!(cells.len(), 3, "{row}");
        (cell(cells[1]), cell(cells[2]))
    })
    .collect()
}

/// Adds the sources below a folder to `found`.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        match entry.is_dir() {
            true => sources(&entry, found),
            false if entry.extension().is_some_and(|extension| extension == "rs") => found.push(entry),
            false => {}
        }
    }
}

/// Returns the first lines of a source, its own description, on one line and in small letters.
fn head(source: &Path) -> String {
    let text = std::fs::read_to_string(source).expect("a source");
    let lines = text.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[test]
fn a_word_of_the_field_is_in_the_head_of_the_file_that_owns_it_and_in_hardly_another() {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").path().join("src");
        if folder.is_dir() {
            sources(&folder, &mut all);
        }
    }
    let heads: Vec<_> = all.iter().map(|source| (source, head(source))).collect();
    let searches = searches();
    assert_eq!(searches.len(), 12);
    for (word, file) in searches {
        let found: Vec<_> =
            heads.iter().filter(|(_, head)| head.contains(&word)).map(|(source, _)| *source).collect();
        assert!(found.contains(&&root().join(&file)), "{word}: {file} does not say it, but {found:?}");
        assert!(found.len() <= MOST_FOUND, "{word}: {found:?}");
    }
}
