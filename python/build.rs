//! Names the module as other libraries of a process, which share its engine, find it (`canele_sys::copies`).

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcanele-python.so");
}
