//! Errors of `CANELE_…` variables, worded so that the user can correct them.

use super::{Allowed, COMPILER_VARIABLES, LAUNCHER_VARIABLES, Tunables};
use thiserror::Error;

/// A variable of the environment that cannot be used. The user's fault.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TunableError {
    /// No tunable has this name.
    #[error("the environment variable {variable} is unknown{}", suggestion(.closest))]
    Unknown {
        /// The variable.
        variable: String,
        /// A known variable of nearly the same name.
        closest: Option<String>,
    },
    /// The tunable may not have this value.
    #[error("{variable}={value} is not allowed: it must be {allowed}{}{unit}", if .unit.is_empty() { "" } else { " " })]
    Value {
        /// The variable.
        variable: String,
        /// The value.
        value: String,
        /// The tunable's unit.
        unit: &'static str,
        /// The allowed values.
        allowed: Allowed,
    },
}

fn suggestion(closest: &Option<String>) -> String {
    match closest {
        Some(closest) => format!("; did you mean {closest}?"),
        None => "; `canele info --tunables` lists those that are known".to_owned(),
    }
}

/// Returns the error for `variable`, with the known variable that was probably meant.
pub(super) fn unknown(variable: &str) -> TunableError {
    const CLOSE: usize = 3;
    let others = LAUNCHER_VARIABLES.iter().chain(&COMPILER_VARIABLES).map(|&name| name.to_owned());
    let known = Tunables::table().map(|row| row.variable()).chain(others);
    let ranked = known.map(|name| (distance(&name, variable), name));
    let closest = ranked.min().filter(|&(distance, _)| distance <= CLOSE).map(|(_, name)| name);
    TunableError::Unknown { variable: variable.to_owned(), closest }
}

/// Returns Levenshtein's distance: the number of letters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn distances() {
        for (a, b, expected) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 2)] {
            assert_eq!((distance(a, b), distance(b, a)), (expected, expected), "{a} {b}");
        }
    }
}
