//! The options of Fortran compilers that change what a module means: kinds of numbers, and names of procedures for the linker.
//!
//! Owns that list. Modules are compiled with these options, too.

use std::ffi::{OsStr, OsString};

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

/// Returns such options of a line in their order, of repeated ones the last.
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

/// Options of which the modules know nothing: they make the default INTEGER as long as eight bytes.
const LONG_INTEGERS: [&str; 3] = ["-fdefault-integer-8", "-finteger-4-integer-8", "-i8"];

/// Returns the option that makes the default INTEGER longer than C's `int`, if there is one among these.
pub fn long_integers(flags: &[OsString]) -> Option<&OsStr> {
    let is_size = |word: &OsStr| {
        word.to_str().is_some_and(|word| word.starts_with("-integer-size") && word.ends_with("64"))
    };
    let mut sizes = flags.windows(2).filter(|pair| pair[0] == "-integer-size" && pair[1] == "64");
    let option = flags.iter().rev().find(|word| {
        is_size(word)
            || word.as_os_str() == "-i4"
            || LONG_INTEGERS.iter().any(|option| word.as_os_str() == *option)
    });
    option
        .map(OsString::as_os_str)
        .filter(|option| *option != "-i4")
        .or(sizes.next().map(|pair| pair[0].as_os_str()))
}

fn is_exact(word: &OsStr) -> bool {
    EXACT.iter().any(|option| word == *option)
}

/// Whether an option has its value in itself; `None` if it is none of these.
fn with_value(word: &OsStr) -> Option<bool> {
    let word = word.to_str()?;
    let option = WITH_VALUE.iter().find(|option| word.starts_with(**option))?;
    Some(word.len() > option.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_for_long_integers_are_told_apart() {
        for (line, expected) in [
            ("-fdefault-integer-8", Some("-fdefault-integer-8")),
            ("-i8 -i4", None),
            ("-i4 -i8", Some("-i8")),
            ("-integer-size=64", Some("-integer-size=64")),
            ("-integer-size 64", Some("-integer-size")),
            ("-integer-size 32 -r8", None),
        ] {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            assert_eq!(long_integers(&of(&words)), expected.map(OsStr::new), "{line}");
        }
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
