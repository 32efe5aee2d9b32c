//! Writes the files of the Fortran interface into a folder: `fortran FOLDER [8]`, for an INTEGER of four or
//! eight bytes.

use std::path::Path;

use canele_mpi_tables::fortran::{IntegerLength, sources};

fn main() {
    let mut words = std::env::args().skip(1);
    let folder = words.next().expect("cargo run --example fortran FOLDER [8]");
    let integers = if words.next().is_some() { IntegerLength::Eight } else { IntegerLength::Four };
    for source in sources(integers) {
        std::fs::write(Path::new(&folder).join(source.name), source.text).expect("the folder can be written");
    }
}
