//! Generates from the tables what C programs link with, the headers of all ABIs that they compile against, and the list of what is written.

use std::path::Path;

use canele_mpi_tables::{Tables, exports, extensions, header, summary};

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let tables = Tables::standard();
    for (name, text) in [
        ("exports.rs", exports::rust(&tables)),
        ("functions.md", summary::text(&tables)),
        ("aliases.o", exports::aliases(&tables)),
    ] {
        std::fs::write(Path::new(&out).join(name), text).expect("the folder can be written to");
    }
    for (abi, tables) in [("standard", tables), ("mpich", Tables::mpich()), ("openmpi", Tables::openmpi())] {
        let folder = Path::new(&out).join(abi);
        std::fs::create_dir_all(&folder).expect("the folder can be written to");
        for (name, text) in [("mpi.h", header::text(&tables)), ("mpi-ext.h", extensions::text(&tables))] {
            std::fs::write(folder.join(name), text).expect("the folder can be written to");
        }
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    // Named as an object is: some compilers pass no other name on. Linkers know a script by its contents.
    println!("cargo:rustc-cdylib-link-arg={}", Path::new(&out).join("aliases.o").display());
}
