//! The rules that the code cites are those of `docs/invariants.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns the numbers of the rules that a text cites: one or several after the word.
fn cited(text: &str) -> impl Iterator<Item = u32> + '_ {
    text.split("invariant").skip(1).flat_map(|rest| {
        let rest = rest.strip_prefix('s').unwrap_or(rest);
        let words =
            rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !["", "and", "to"].contains(word));
        let numbers = words.map(|word| word.strip_prefix('I').and_then(|digits| digits.parse().ok()));
        numbers.take_while(Option::is_some).flatten()
    })
}

fn sources(below: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(below)
        .expect("a folder of the workspace")
        .map(|entry| entry.expect("an entry").path())
    {
        match entry.extension() {
            _ if entry.is_dir() => sources(&entry, found),
            Some(extension) if extension == "rs" => found.push(entry),
            _ => {}
        }
    }
}

#[test]
fn every_rule_that_is_cited_is_written_down() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = std::fs::read_to_string(root.join("docs/invariants.md")).expect("the rules");
    let rules: BTreeSet<u32> = document
        .split("\n**I")
        .skip(1)
        .map(|rule| {
            rule.split('.')
                .next()
                .and_then(|number| number.parse().ok())
                .expect("a rule begins with its number")
        })
        .collect();
    assert_eq!(rules, (1..=rules.len() as u32).collect(), "numbered one after the other");
    let mut files = Vec::new();
    sources(&root.join("crates"), &mut files);
    assert!(files.len() > 300, "{} sources", files.len());
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source");
        let unknown: Vec<_> = cited(&text).filter(|number| !rules.contains(number)).collect();
        assert!(
            unknown.is_empty(),
            "{} cites rules that docs/invariants.md does not have: {unknown:?}",
            file.display()
        );
    }
}

#[test]
fn citations_are_found_in_all_their_forms() {
    let text = "(invariant I7), by invariants I3 and I12: invariant I4; no invariant of another kind";
    assert_eq!(cited(text).collect::<Vec<_>>(), [7, 3, 12, 4]);
}
