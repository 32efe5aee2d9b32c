//! The remote shell's command line, and the texts of its failures. Owns both; starts nothing.

use crate::hosts::is_here;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::PathBuf;

use crate::failure::{Exit, SignalName};

/// The command for ssh: it never asks a question, and leaves no shared connection behind that would die with
/// the job.
const SSH: [&str; 9] =
    ["ssh", "-T", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ControlMaster=no"];
/// The number of lines of a shell's output that are shown.
const SHOWN: usize = 6;

/// A command, with arguments, that runs another one on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its words, between blanks.
    pub text: String,
    /// True if it starts the agent of this host, too, which needs no shell.
    pub starts_own_agent: bool,
}

/// The way in which agents are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteShell {
    /// The command and its own arguments.
    pub words: Vec<OsString>,
    /// True if it starts the agent of this host, too.
    pub starts_own_agent: bool,
    /// The `canele` command on the hosts.
    pub canele: PathBuf,
}

impl RemoteShell {
    /// Returns the shell for a command; without one, ssh for all hosts but this one.
    ///
    /// # Errors
    /// Fails with a text that describes the error.
    pub fn new(given: Option<&ShellCommand>, canele: PathBuf) -> Result<RemoteShell, String> {
        let words: Vec<OsString> = match given {
            Some(command) => command.text.split_whitespace().map(OsString::from).collect(),
            None => SSH.map(OsString::from).into(),
        };
        let starts_own_agent = given.is_some_and(|command| command.starts_own_agent);
        if words.is_empty() {
            return Err("--rsh: a command is needed, as `ssh -p 2222`".into());
        }
        Ok(RemoteShell { words, starts_own_agent, canele })
    }

    /// Returns the command that runs `canele SUBCOMMAND` on `host`.
    pub fn command(&self, host: &str, subcommand: &str) -> Vec<OsString> {
        if !self.starts_own_agent && self.canele.is_absolute() && is_here(host) {
            return vec![self.canele.clone().into(), subcommand.into()];
        }
        let mut words = self.words.clone();
        let canele = quoted(&self.canele.to_string_lossy());
        words.extend([unbracketed(host).into(), canele.into(), subcommand.into()]);
        words
    }
}

/// Removes brackets, which separate an address from the following number of ranks: `me@[fd77::1]` is
/// `me@fd77::1` to a shell.
fn unbracketed(name: &str) -> String {
    name.replace(['[', ']'], "")
}

/// Quotes a word for the shell at the far end. A word without special characters stays as it is, also because
/// the far end may have no shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=~".contains(c);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Returns the command as a user would type it.
pub fn as_typed(command: &[OsString]) -> String {
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// Describes the end of a shell.
pub fn ended(exit: Exit) -> String {
    match exit {
        Exit::Status(status) => format!("exited with status {status}"),
        Exit::Signal(signal) => format!("was killed by {}", SignalName(signal)),
        Exit::Lost | Exit::Unknown => "was lost".into(),
    }
}

/// Returns the last lines of a shell's output, without control characters.
pub fn last_lines(printed: &[u8]) -> String {
    let printed = String::from_utf8_lossy(printed);
    let lines: Vec<&str> = printed.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.is_empty() {
        return "; it printed nothing".into();
    }
    let mut text = String::from("; it printed:");
    for line in &lines[lines.len().saturating_sub(SHOWN)..] {
        let line: String = line.chars().take(200).map(|c| if c.is_control() { ' ' } else { c }).collect();
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_names_host_and_executable() {
        let command = |text: &str, starts_own_agent| ShellCommand { text: text.into(), starts_own_agent };
        let shell =
            RemoteShell::new(Some(&command("rsh -p  2222", true)), "/opt/my tools/canele".into()).unwrap();
        assert_eq!(as_typed(&shell.command("h1", "agent")), "rsh -p 2222 h1 '/opt/my tools/canele' agent");
        assert_eq!(
            as_typed(&shell.command("localhost", "agent")),
            "rsh -p 2222 localhost '/opt/my tools/canele' agent"
        );
        for given in [None, Some(&command("qrsh -inherit", false))] {
            let shell = RemoteShell::new(given, "/usr/bin/canele".into()).unwrap();
            assert_eq!(shell.command("localhost", "agent"), ["/usr/bin/canele", "agent"]);
        }
        let shell = RemoteShell::new(None, "/usr/bin/canele".into()).unwrap();
        let typed = as_typed(&shell.command("u@[fd77::1]", "agent"));
        assert!(typed.starts_with("ssh ") && typed.ends_with(" u@fd77::1 /usr/bin/canele agent"), "{typed}");
        assert!(typed.contains("BatchMode=yes"));
        assert!(RemoteShell::new(Some(&command("  ", true)), "x".into()).is_err());
    }

    #[test]
    fn only_the_last_lines_are_shown_and_nothing_that_moves_the_cursor() {
        let text = last_lines(b"1\n2\n\n3\n4\n5\n6\x1b[2J\n7\n");
        assert_eq!(text, "; it printed:\n  2\n  3\n  4\n  5\n  6 [2J\n  7");
        assert_eq!(last_lines(b" \n"), "; it printed nothing");
    }
}
