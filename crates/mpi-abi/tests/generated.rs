//! What is generated from the tables and stands in the repository is up to date. With `CANELE_UPDATE=1` it is written anew.

use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository has this text.
fn is_current(path: &str, current: &str) {
    let file = repository().join(path);
    if std::env::var_os("CANELE_UPDATE").is_some() {
        std::fs::write(&file, current).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(
        found == current,
        "{path} differs from what the tables say: run `CANELE_UPDATE=1 cargo test -p canele-mpi-abi --test generated`"
    );
}

#[test]
fn the_header_follows_from_the_tables() {
    is_current("crates/mpi-abi/include/mpi.h", include_str!(concat!(env!("OUT_DIR"), "/mpi.h")));
}

#[test]
fn the_header_beyond_the_standard_follows_from_the_tables() {
    is_current("crates/mpi-abi/include/mpi-ext.h", include_str!(concat!(env!("OUT_DIR"), "/mpi-ext.h")));
}

#[test]
fn the_list_of_functions_is_that_of_the_code() {
    let path = repository().join("docs/mpi.md");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (before, rest) =
        text.split_once(BEGIN).expect("docs/mpi.md has a line where the generated part begins");
    let (_, after) = rest.split_once(END).expect("docs/mpi.md has a line where the generated part ends");
    let list = include_str!(concat!(env!("OUT_DIR"), "/mpi.md"));
    is_current("docs/mpi.md", &format!("{before}{BEGIN}{list}{END}{after}"));
}
