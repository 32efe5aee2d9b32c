//! laplace
fn main() {}
