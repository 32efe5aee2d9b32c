//! `mpichversion`: the version query of MPICH's command of this name, answered for Canelé's library with
//! MPICH's ABI.
//!
//! Owns the lines of the answer. Never loads the library.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::{print, wrong_usage};

/// One line: its option, the short form, and the output.
type VersionLine = (&'static str, &'static str, &'static str);

const LINES: [VersionLine; 8] = [
    ("version", "v", "MPICH Version:      5.0.2"),
    ("date", "D", "MPICH Release date: not recorded"),
    ("abi", "a", "MPICH ABI:          12:0:0"),
    ("device", "d", "MPICH Device:       canele"),
    ("configure", "c", "MPICH configure:    none, built with cargo"),
    ("compiler", "b", "MPICH CC:           cc\nMPICH CXX:          c++\nMPICH FC:           gfortran"),
    ("features", "f", "MPICH features:     MPI 5.0"),
    ("custom", "u", concat!("MPICH Custom Information: Canelé ", env!("CARGO_PKG_VERSION"))),
];

/// The text of `--help`.
pub const HELP: &str =
    "Prints the release of MPICH whose ABI the library libmpi.so.12 of Canelé has, as MPICH's command of this name does.

Usage: mpichversion [OPTIONS]

Prints all lines, or those of the options, which have one dash or two:

  -version, -v                the release of MPICH whose ABI the library has
  -date, -D                   the date of this release
  -abi, -a                    the version of the ABI in libtool's numbers
  -device, -d                 the library that moves messages
  -configure, -c              the configuration of the build
  -compiler, -b               the compilers that mpicc, mpicxx and mpifort run
  -features, -f               the version of the MPI standard
  -custom, -u                 the release of Canelé

Examples:
  mpichversion
  mpichversion -version -custom";

/// Prints the requested lines in their order; all if none is requested.
pub fn main(words: &[OsString]) -> ExitCode {
    let mut asked = [words.is_empty(); LINES.len()];
    for word in words {
        let word = word.to_string_lossy();
        let name = word.strip_prefix("--").or(word.strip_prefix('-')).unwrap_or_default();
        match LINES.iter().position(|(long, short, _)| name == *long || name == *short) {
            Some(at) => asked[at] = true,
            None if name == "help" => {
                print(HELP);
                return ExitCode::SUCCESS;
            }
            // MPICH's command accepts the word and lists no patches either.
            None if name == "patches" => {}
            None => return wrong_usage(&format!("mpichversion: there is no option {word}\n\n{HELP}")),
        }
    }
    let lines = LINES.iter().zip(asked).filter(|(_, asked)| *asked).map(|((.., line), _)| *line);
    let lines: Vec<&str> = lines.collect();
    if !lines.is_empty() {
        print(&lines.join("\n"));
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_the_one_that_the_library_names() {
        let library = include_str!("../../mpich-layout/src/lib.rs");
        let (_, release) = LINES[0].2.split_once(':').unwrap();
        assert!(library.contains(&format!("\"MPICH Version:\\t{}\\n\"", release.trim())), "{release}");
    }

    #[test]
    fn the_help_names_all_options() {
        for (long, short, _) in LINES {
            assert!(HELP.contains(&format!("  -{long}, -{short} ")), "{long}");
        }
    }
}
