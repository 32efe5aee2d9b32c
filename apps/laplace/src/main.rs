//! `laplace`: see `laplace --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    canele_laplace::main()
}
