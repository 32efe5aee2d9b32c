//! Files that are generated from the tables and stand in the repository are up to date. `CANELE_UPDATE=1`
//! writes them anew.

use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- generated: begin -->\n";
const END: &str = "<!-- generated: end -->\n";
/// The page that lists which functions are written.
const LIST: &str = "docs/mpi-conformance.md";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Checks that a file of the repository has this text.
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

/// Makes a test for each ABI, whose headers lie in a folder of its own.
macro_rules! headers {
    ($($test:ident: $abi:literal in $folder:literal;)*) => {$(
        #[test]
        fn $test() {
            let folder = concat!("crates/mpi-abi/include", $folder);
            std::fs::create_dir_all(repository().join(folder)).unwrap();
            let (header, beyond) = (
                include_str!(concat!(env!("OUT_DIR"), "/", $abi, "/mpi.h")),
                include_str!(concat!(env!("OUT_DIR"), "/", $abi, "/mpi-ext.h")),
            );
            is_current(&format!("{folder}/mpi.h"), header);
            is_current(&format!("{folder}/mpi-ext.h"), beyond);
        }
    )*};
}

headers! {
    the_headers_follow_from_the_tables: "standard" in "";
    the_headers_of_mpichs_abi_follow_from_the_tables: "mpich" in "/mpich";
    the_headers_of_open_mpis_abi_follow_from_the_tables: "openmpi" in "/openmpi";
}

#[test]
fn the_list_of_functions_is_that_of_the_code() {
    let path = repository().join(LIST);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (before, rest) = text.split_once(BEGIN).expect("the page has a line where the generated part begins");
    let (_, after) = rest.split_once(END).expect("the page has a line where the generated part ends");
    let list = include_str!(concat!(env!("OUT_DIR"), "/functions.md"));
    is_current(LIST, &format!("{before}{BEGIN}{list}{END}{after}"));
}
