//! What the command prints: answers and messages, as those of all of `canele`.

use std::io::Write;

use canele_sys::printable;

/// Prints an answer to standard output. Control characters of files and other processes in it are replaced.
pub fn print(text: &str) {
    // A closed standard output is the reader's choice, not a failure.
    let _ = writeln!(std::io::stdout(), "{}", printable::lines(text));
}

/// Prints a message of the command itself to standard error.
pub fn say(text: &str) {
    // There is no other place for it if standard error is closed.
    let _ = writeln!(std::io::stderr(), "canele: {}", printable::lines(text));
}
