//! The options of Fortran compilers that change the meaning of a module: kinds of numbers, and linker names
//! of procedures.
//!
//! Owns that list. Modules are compiled with these options, too.

use std::ffi::{OsStr, OsString};

use canele_mpi_tables::fortran::IntegerLength;

/// Options of gfortran and flang, of ifx, and of nvfortran.
const EXACT: [&str; 22] = [
    "-fdefault-integer-8",
    "-fdefault-real-8",
    "-fdefault-real-10",
    "-fdefault-real-16",
    "-fdefault-double-8",
    "-finteger-4-integer-8",
    "-freal-4-real-8",
    "-freal-4-real-10",
    "-freal-4-real-16",
    "-freal-8-real-4",
    "-freal-8-real-10",
    "-freal-8-real-16",
    "-fno-underscoring",
    "-fsecond-underscore",
    "-i4",
    "-i8",
    "-r4",
    "-r8",
    "-r16",
    "-Mr8",
    "-m32",
    "-m64",
];

/// Options of ifx with a value, which follows directly or as the next word.
const WITH_VALUE: [&str; 3] = ["-integer-size", "-real-size", "-double-size"];

/// Returns the options of a line that change modules, in their order; of repeated options only the last.
pub fn of(words: &[OsString]) -> Vec<OsString> {
    let mut found: Vec<Vec<OsString>> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let option = match (is_exact(word), with_value(word)) {
            (true, _) | (_, Some(true)) => vec![word.clone()],
            (_, Some(false)) => std::iter::once(word).chain(words.next()).cloned().collect(),
            _ => continue,
        };
        found.retain(|earlier| *earlier != option);
        found.push(option);
    }
    found.concat()
}

/// An option that makes C's `int` longer in Fortran, too, so that no arguments can be passed to C.
const LONG_INT: &str = "-finteger-4-integer-8";

/// Returns the option with which no module can be compiled, if it is among these.
pub fn impossible(flags: &[OsString]) -> Option<&OsStr> {
    flags.iter().map(OsString::as_os_str).find(|word| *word == LONG_INT)
}

/// Returns the length of an INTEGER with these options, of which the last one decides.
pub fn integers(flags: &[OsString]) -> IntegerLength {
    let mut length = IntegerLength::Four;
    for (at, word) in flags.iter().enumerate() {
        let word = word.to_str().unwrap_or_default();
        let bits = match word.strip_prefix("-integer-size") {
            Some("") => flags.get(at + 1).and_then(|value| value.to_str()),
            Some(value) => Some(value.trim_start_matches(['=', ':'])),
            None => None,
        };
        length = match (word, bits) {
            ("-fdefault-integer-8" | "-i8", _) | (_, Some("64")) => IntegerLength::Eight,
            ("-i4", _) | (_, Some("32")) => IntegerLength::Four,
            _ => length,
        };
    }
    length
}

fn is_exact(word: &OsStr) -> bool {
    EXACT.iter().any(|option| word == *option)
}

/// Returns true if an option contains its value; `None` if it is another option.
fn with_value(word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    let option = WITH_VALUE.iter().find(|option| word.starts_with(**option))?;
    Some(word.len() > option.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_option_says_how_long_an_integer_is() {
        use IntegerLength::{Eight, Four};
        for (line, expected) in [
            ("", Four),
            ("-fdefault-integer-8", Eight),
            ("-i8 -i4", Four),
            ("-i4 -i8", Eight),
            ("-integer-size=64", Eight),
            ("-integer-size:64 -r8", Eight),
            ("-integer-size 64", Eight),
            ("-real-size 64", Four),
            ("-integer-size 64 -real-size 32", Eight),
            ("-i8 -integer-size 32 -r8", Four),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(integers(&of(&words)), expected, "{line}");
        }
        let words = ["-O2", "-finteger-4-integer-8"].map(OsString::from);
        assert_eq!(impossible(&of(&words)), Some(OsStr::new("-finteger-4-integer-8")));
        assert_eq!(impossible(&of(&["-i8".into()])), None);
    }

    #[test]
    fn options_that_change_kinds_are_found_in_their_order() {
        for (line, expected) in [
            ("-O2 -c a.f90", ""),
            ("-fdefault-integer-8 -O2 a.f90 -fdefault-real-8", "-fdefault-integer-8 -fdefault-real-8"),
            ("-i8 -c a.f90 -i4 -i8", "-i4 -i8"),
            ("-integer-size 64 a.f90", "-integer-size 64"),
            (
                "a.f90 -real-size:64 -double-size=128 -integer-size",
                "-real-size:64 -double-size=128 -integer-size",
            ),
            ("-i8x -fdefault-integer-80 -r", ""),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            let expected: Vec<OsString> = expected.split_whitespace().map(OsString::from).collect();
            assert_eq!(of(&words), expected, "{line}");
        }
    }
}
