//! `dsm`: see `dsm --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    canele_dsm::main()
}
