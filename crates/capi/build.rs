//! Sets the soname of the library, by which programs that are linked with it find it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcanele.so.0");
}
