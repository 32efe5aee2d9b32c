//! Names the library as programs that are linked with it look for it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcanele_fort.so.0");
}
