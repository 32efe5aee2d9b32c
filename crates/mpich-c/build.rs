//! Generates the constants of MPICH's ABI from the tables, and says that the sources are compiled for it.

use std::path::Path;

use canele_mpi_tables::{Tables, constants};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    println!("cargo:rustc-check-cfg=cfg(mpich)");
    println!("cargo:rustc-cfg=mpich");
    let text = constants::rust(&Tables::mpich());
    std::fs::write(Path::new(&out).join("constants.rs"), text).expect("the folder can be written to");
}
