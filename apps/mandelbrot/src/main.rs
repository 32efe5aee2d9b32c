//! `mandelbrot`: see `mandelbrot --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    canele_mandelbrot::main()
}
