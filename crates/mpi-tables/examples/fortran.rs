//! Writes the files of the Fortran interface into a folder.

use std::path::Path;

fn main() {
    let folder = std::env::args().nth(1).expect("cargo run --example fortran FOLDER");
    for source in canele_mpi_tables::fortran::sources() {
        std::fs::write(Path::new(&folder).join(source.name), source.text).expect("the folder can be written");
    }
}
