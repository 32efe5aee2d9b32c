//! The part of `docs/mpi-conformance.md` that lists the implemented functions.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::exported::{Exported, exported};
use crate::tables::Tables;

/// Returns the table of chapters, in Markdown.
pub fn text(tables: &Tables) -> String {
    let functions = exported(tables);
    let mut chapters: BTreeMap<&str, (usize, Vec<&Exported<'_>>)> = BTreeMap::new();
    for function in &functions {
        let (written, missing) = chapters.entry(&function.of.chapter).or_default();
        match function.of.body {
            Some(_) => *written += 1,
            None => missing.push(function),
        }
    }
    let total: usize = chapters.values().map(|(written, _)| written).sum();
    let mut text = String::new();
    let mut put = |line: &str| writeln!(text, "{line}").expect("a string grows");
    put(&format!("{total} of {} functions are written; `_c` twins are counted.\n", functions.len()));
    put("| chapter | written | not yet |\n|---|---|---|");
    for (chapter, (written, missing)) in &chapters {
        put(&format!("| {chapter} | {written} | {} |", listed(missing)));
    }
    text
}

/// Returns names in code format, without their large-count forms.
fn listed(functions: &[&Exported<'_>]) -> String {
    if functions.is_empty() {
        return "–".to_owned();
    }
    let names = functions.iter().filter(|function| !function.name.ends_with("_c"));
    names.map(|function| format!("`{}`", function.name)).collect::<Vec<_>>().join(" ")
}
