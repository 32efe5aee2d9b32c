//! Generates what follows from the tables: the constants for the code, the header for C programs, and functions that
//! say "unsupported" for all that no file under `src` defines.

mod constants;
mod conversions;
mod header;
mod removed;
mod sources;
mod tables;
mod unsupported;
mod works;

use std::path::Path;

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = std::env::var_os("OUT_DIR").expect("cargo gives a folder");
    let write = |name: &str, text: String| {
        std::fs::write(Path::new(&out).join(name), text).expect("the folder can be written to");
    };
    let tables = tables::Tables::read(&here.join("tables"));
    let defined = sources::defined(&here.join("src"));
    write("constants.rs", constants::rust(&tables));
    write("mpi.h", header::text(&tables, &removed::text(&here.join("tables/removed.tsv"))));
    write("unsupported.rs", unsupported::rust(&tables, &defined));
    write("defined.rs", sources::rust(&defined));
    write("mpi.md", works::text(&tables, &defined));
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=tables");
    println!("cargo:rerun-if-changed=src");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
}
