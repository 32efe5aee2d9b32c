//! The command `canele`.
fn main() {}
