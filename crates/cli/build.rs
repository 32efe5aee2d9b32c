//! Lets debuggers find the symbols of the launcher (`canele_sys::debugger`) in the installed command, which has no other symbols.

use std::path::PathBuf;
use std::{env, fs, io};

/// The names that the linker exports. Not every linker supports another way to name symbols.
const EXPORTED: &str = "{ global: MPIR_*; local: *; };\n";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let file = PathBuf::from(env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?).join("exported");
    fs::write(&file, EXPORTED)?;
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,--version-script={}", file.display());
    Ok(())
}
