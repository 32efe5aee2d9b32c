//! Generates from the tables what programs that were built for Open MPI link with.

use std::path::Path;

use canele_mpi_tables::{Tables, exports};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let tables = Tables::openmpi();
    for (name, text) in [("exports.rs", exports::rust(&tables)), ("aliases.o", exports::aliases(&tables))] {
        std::fs::write(Path::new(&out).join(name), text).expect("the folder can be written to");
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi.so.40");
    // Named as an object is: some compilers pass no other name on. Linkers know a script by its contents.
    println!("cargo:rustc-cdylib-link-arg={}", Path::new(&out).join("aliases.o").display());
}
