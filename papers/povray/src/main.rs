//! `povray-farm`: see `povray-farm --help`.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    canele_povray::main()
}
