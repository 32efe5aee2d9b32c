//! Generates the constants from the tables.

use std::path::Path;

use canele_mpi_tables::{Tables, constants};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let text = constants::rust(&Tables::standard());
    std::fs::write(Path::new(&out).join("constants.rs"), text).expect("the folder can be written to");
}
