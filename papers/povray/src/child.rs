//! Starts `povray` so that it ends with the process that started it, even if that process is killed.
//!
//! The kernel sends a process a signal at its parent's end if the process has requested it. POV-Ray does not,
//! so this program starts itself, requests the signal, and then becomes POV-Ray.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

/// First argument of a process that becomes POV-Ray; the starter's process id and the program follow.
const MARK: &str = "--become-povray";
/// Exit status of shells for a program that cannot be started.
const CANNOT_START: u8 = 127;

/// Returns a command that runs `povray` until this process, or the calling thread, ends.
///
/// # Errors
/// The path of this executable is unknown.
pub fn command(povray: &Path) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(MARK).arg(std::process::id().to_string()).arg(povray);
    Ok(command)
}

/// Becomes POV-Ray if this process was started by [`command`]; then it returns only the status of a failure.
pub fn become_povray() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != MARK {
        return None;
    }
    let (starter, povray) = (arguments.next()?, arguments.next()?);
    let error = set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(io::Error::from)
        .and_then(|()| check_parent(&starter))
        .map_or_else(|error| error, |()| Command::new(&povray).args(arguments).exec());
    eprintln!("cannot start {}: {error}", povray.display());
    Some(ExitCode::from(CANNOT_START))
}

/// Checks that the starter still lives. If it ended before the signal was requested, the signal never comes.
fn check_parent(starter: &OsStr) -> io::Result<()> {
    let parent = getppid().map(|pid| pid.as_raw_nonzero().to_string());
    if parent.as_deref().map(OsStr::new) == Some(starter) {
        Ok(())
    } else {
        Err(io::Error::other("the process that started it has ended"))
    }
}
