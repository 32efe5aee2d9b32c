//! The output of the command, which has the same form as in all of `canele`.

use std::io::Write;

use canele_sys::printable;

/// Prints a result to standard output. Control characters from files and other processes are replaced.
pub fn print(text: &str) {
    // A closed standard output is the reader's choice, not a failure.
    let _ = writeln!(std::io::stdout(), "{}", printable::lines(text));
}

/// Prints a message of the command itself to standard error.
pub fn say(text: &str) {
    // If standard error is closed, there is no other place for the message.
    let _ = writeln!(std::io::stderr(), "canele: {}", printable::lines(text));
}
