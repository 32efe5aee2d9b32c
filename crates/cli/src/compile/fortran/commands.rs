//! Runs the commands that compile the modules, and shows the output of a failed one.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use canele_sys::command_output;

use super::super::RECURSION;
use super::super::query::typed;

/// Most bytes that a command may print before it is ended.
const MOST_PRINTED: u64 = 1 << 20;
/// Number of the last lines of a command's output that are shown.
const LINES_SHOWN: usize = 12;

/// Returns a command without input, with English texts. A wrapper of MPI that is started this way refuses to
/// be a compiler.
pub fn started(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(RECURSION, "1").env("LC_ALL", "C").stdin(Stdio::null());
    command
}

/// Runs a command to its end.
pub fn output_of(command: &mut Command) -> io::Result<Output> {
    command_output::output(command, MOST_PRINTED)
}

/// Runs a command in a folder.
///
/// # Errors
/// Fails if the command cannot be started or fails. In the second case the error has the command's last
/// output.
pub fn run_in(folder: &Path, words: &[OsString]) -> Result<(), RunError> {
    said_in(folder, words).map(drop)
}

/// Runs a command in a folder; returns its output.
///
/// # Errors
/// Returns the errors of [`run_in`].
pub fn said_in(folder: &Path, words: &[OsString]) -> Result<String, RunError> {
    let output = output_of(started(words).current_dir(folder)).map_err(RunError::NotStarted)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(RunError::Failed(format!(
            "`{}` ended with {}{}",
            typed(words),
            output.status,
            last_lines(&output.stdout, &output.stderr)
        ))),
    }
}

/// The error of a command.
#[derive(Debug)]
pub enum RunError {
    /// The command cannot be started.
    NotStarted(io::Error),
    /// The command failed; the text has its status and last lines.
    Failed(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::NotStarted(error) => write!(f, "it cannot be run: {error}"),
            RunError::Failed(text) => f.write_str(text),
        }
    }
}

/// Returns the last lines of a command's output, each on its own line.
pub fn last_lines(out: &[u8], error: &[u8]) -> String {
    let text = [out, error].map(String::from_utf8_lossy).join("\n");
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
    match shown.is_empty() {
        true => " and printed nothing".into(),
        false => format!(" and printed\n  {}", shown.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_shown() {
        assert_eq!(last_lines(b"", b" \n"), " and printed nothing");
        assert_eq!(last_lines(b"a\n", b"\nb\n"), " and printed\n  a\n  b");
        let many: String = (0..100).map(|line| format!("{line}\n")).collect();
        let shown = last_lines(b"first", many.as_bytes());
        assert!(
            shown.contains("\n  99") && !shown.contains("first") && shown.lines().count() == 13,
            "{shown}"
        );
    }
}
