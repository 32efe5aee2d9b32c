//! The documents: all of them are in the book, and their links lead somewhere.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/cli lies in the tree").to_owned()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages
}

/// Returns the targets of a page's links and pictures, without other sites.
fn links(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).expect("a page can be read");
    let behind = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = behind.map(|(target, _)| target.split('#').next().unwrap_or_default().to_owned());
    targets.filter(|target| !target.is_empty() && !target.contains("://") && !target.contains(' ')).collect()
}

#[test]
fn every_page_is_in_the_book_once() {
    let docs = root().join("docs");
    let listed = links(&docs.join("SUMMARY.md"));
    let once: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "{listed:?}");
    let name = |page: &PathBuf| page.file_name().unwrap().to_string_lossy().into_owned();
    let there: BTreeSet<_> = pages(&docs).iter().map(name).filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(once, there);
}

/// Returns the blocks of code of a page in a language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join(page)).expect("a page can be read");
    let begin = format!("```{language}\n");
    let behind = text.split(&begin).skip(1);
    behind.map(|rest| rest.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn first_programs_are_examples_that_are_run() {
    let hello =
        ["crates/canele/examples/hello.rs", "crates/capi/examples/hello.c", "python/examples/hello.py"];
    for (language, example) in ["rust", "c", "python"].into_iter().zip(hello) {
        let source = std::fs::read_to_string(root().join(example)).expect("an example can be read");
        let guide =
            ["docs/first-program.md", "docs/c.md"].map(|page| blocks(page, language).into_iter().next());
        let shown = blocks("README.md", language).into_iter().take(1).chain(guide.into_iter().flatten());
        let shown: Vec<_> = shown.collect();
        assert!(!shown.is_empty(), "{language}");
        for block in shown {
            assert!(source.contains(&block), "this is not in {example}:\n{block}");
        }
    }
}

#[test]
fn links_lead_to_files() {
    let root = root();
    let mut looked_at = 0;
    let programs = ["apps", "papers"].map(|top| root.join(top)).into_iter().flat_map(|top| {
        let below = std::fs::read_dir(&top).expect("a folder of programs").map(|entry| entry.unwrap().path());
        below.filter(|path| path.is_dir()).chain([top.clone()]).collect::<Vec<_>>()
    });
    let folders = [root.clone(), root.join("docs")].into_iter().chain(programs);
    for page in folders.flat_map(|folder| pages(&folder)) {
        for target in links(&page) {
            looked_at += 1;
            let file = page.parent().expect("a page lies in a folder").join(&target);
            assert!(file.exists(), "{} has a link to {target}, which is not there", page.display());
        }
    }
    assert!(looked_at > 50, "{looked_at} links were found");
}
