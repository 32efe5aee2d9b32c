//! mandelbrot
fn main() {}
