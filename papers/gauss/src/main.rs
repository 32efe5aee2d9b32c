//! `gauss`: see `gauss --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    canele_gauss::main()
}
