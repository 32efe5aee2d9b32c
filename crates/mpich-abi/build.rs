//! Generates from the tables what programs that were built for MPICH link with, and the header that tests are compiled with.

use std::path::Path;

use canele_mpi_tables::{Tables, exports, header};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let tables = Tables::mpich();
    for (name, text) in [("exports.rs", exports::rust(&tables)), ("mpi.h", header::text(&tables))] {
        std::fs::write(Path::new(&out).join(name), text).expect("the folder can be written to");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.12");
}
