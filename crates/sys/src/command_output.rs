//! The output of a command, with a bound.
//!
//! Owns the bound: a command that prints more is killed.

use std::io::{self, Read};
use std::process::{Command, Output, Stdio};
use std::thread::{self, Builder};

use rustix::process::{Pid, Signal, kill_process};

use crate::bounded_read::read_all;

/// Runs a command to its end. Returns what it prints on standard output and standard error, at most `most`
/// bytes of each.
///
/// # Errors
/// Fails if the command or a thread cannot be started, or as [`read_all`] does; then the command has been
/// killed.
pub fn output(command: &mut Command, most: u64) -> io::Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The process number belongs to the child until the child has been waited for.
    let pid = Pid::from_child(&child);
    let (out, error) = (child.stdout.take(), child.stderr.take());
    let (out, error) = thread::scope(|scope| {
        let error = Builder::new().spawn_scoped(scope, || read_or_kill(error, most, pid));
        if error.is_err() {
            kill(pid);
        }
        let out = read_or_kill(out, most, pid);
        (
            out,
            error.and_then(|reader| {
                reader.join().unwrap_or_else(|_| Err(io::Error::other("a reader panicked")))
            }),
        )
    });
    let status = child.wait()?;
    Ok(Output { status, stdout: out?, stderr: error? })
}

fn read_or_kill(stream: Option<impl Read>, most: u64, pid: Pid) -> io::Result<Vec<u8>> {
    let stream = stream.ok_or_else(|| io::Error::other("a stream of the command is missing"))?;
    read_all(stream, most).inspect_err(|_| kill(pid))
}

fn kill(pid: Pid) {
    // The child may have ended already.
    let _ = kill_process(pid, Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> io::Result<Output> {
        output(Command::new("sh").args(["-c", script]).stdin(Stdio::null()), 1000)
    }

    #[test]
    fn what_a_command_prints_is_taken_up_to_a_bound() {
        let output = shell("echo out; echo error >&2; exit 3").unwrap();
        assert_eq!((output.stdout, output.stderr), (b"out\n".to_vec(), b"error\n".to_vec()));
        assert_eq!(output.status.code(), Some(3));
        for endless in ["exec yes", "exec yes >&2"] {
            let error = shell(endless).unwrap_err();
            assert_eq!(error.to_string(), "it is longer than the limit of 1000 bytes", "{endless}");
        }
    }
}
