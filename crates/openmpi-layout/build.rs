//! Generates the constants and the variables of Open MPI's ABI from the tables.

use std::path::Path;

use canele_mpi_tables::{Tables, constants, objects};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let tables = Tables::openmpi();
    for (name, text) in [
        ("constants.rs", constants::rust(&tables)),
        ("objects.rs", objects::rust(&tables)),
        ("fortran.rs", objects::fortran(&tables)),
    ] {
        std::fs::write(Path::new(&out).join(name), text).expect("the folder can be written to");
    }
}
