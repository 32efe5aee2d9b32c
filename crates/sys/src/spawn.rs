//! The few steps of starting and joining a job that need `unsafe`: what happens in a new process between
//! fork and exec, and taking over a descriptor that was inherited by number.
//!
//! Owns nothing. Never decides: the launcher says what to prepare.

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

use crate::affinity::ProcessorSet;

/// What a process is given before its program starts.
#[derive(Debug, Clone)]
pub struct Preparation {
    /// A descriptor the program inherits under its present number.
    pub keep: Option<RawFd>,
    /// The processors the program may run on; `None`: all that its parent may use.
    pub processors: Option<ProcessorSet>,
}

/// Makes `command` start its program in a process group of its own, with the interrupting signals at their
/// default action, killed when the calling thread's process ends.
///
/// The parent-death signal belongs to the *thread* that spawns: spawn from a thread that lives as long
/// as the children should.
pub fn prepare(command: &mut Command, preparation: Preparation) {
    let parent = std::process::id();
    command.process_group(0);
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls (prctl, getppid,
    // signal, fcntl, sched_setaffinity); it allocates nothing and touches no lock.
    unsafe {
        command.pre_exec(move || in_child(parent, &preparation));
    }
}

fn in_child(parent: u32, preparation: &Preparation) -> io::Result<()> {
    // SAFETY: plain system calls on this process's own attributes with valid constants.
    unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before the line above: then nobody will ever send that signal.
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        // A shell starts background jobs with these ignored; a rank must be stoppable through its launcher.
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::signal(libc::SIGQUIT, libc::SIG_DFL);
        if let Some(keep) = preparation.keep
            && libc::fcntl(keep, libc::F_SETFD, 0) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    preparation.processors.as_ref().map_or(Ok(()), ProcessorSet::bind_thread)
}

/// Takes over the inherited descriptor `number`, which must be a connected `SOCK_SEQPACKET` Unix socket,
/// and marks it close-on-exec.
///
/// # Errors
/// `EBADF` if it is not open, `ENOTSOCK` or `EPROTOTYPE` if it is something else, `EBUSY` if this process
/// has already taken it over.
pub fn adopt_socket(number: RawFd) -> io::Result<OwnedFd> {
    static ADOPTED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
    let mut adopted = ADOPTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if number < 3 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    if adopted.contains(&number) {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // SAFETY: only borrowed for the two calls below, which fail with EBADF if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    if rustix::net::sockopt::socket_type(borrowed)? != rustix::net::SocketType::SEQPACKET
        || rustix::net::sockopt::socket_domain(borrowed)? != rustix::net::AddressFamily::UNIX
    {
        return Err(io::Error::from_raw_os_error(libc::EPROTOTYPE));
    }
    rustix::io::fcntl_setfd(borrowed, rustix::io::FdFlags::CLOEXEC)?;
    adopted.push(number);
    // SAFETY: the descriptor is open, was inherited for this purpose, and is handed out once per process.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn only_a_sequenced_unix_socket_is_adopted_and_only_once() {
        assert_eq!(adopt_socket(1_000_000).unwrap_err().raw_os_error(), Some(libc::EBADF));
        assert_eq!(adopt_socket(-1).unwrap_err().raw_os_error(), Some(libc::EBADF));
        let file = std::fs::File::open("/proc/self/status").unwrap().into_raw_fd();
        assert_eq!(adopt_socket(file).unwrap_err().raw_os_error(), Some(libc::ENOTSOCK));
        let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(adopt_socket(stream.into_raw_fd()).unwrap_err().raw_os_error(), Some(libc::EPROTOTYPE));
        let (socket, _other) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::empty(),
            None,
        )
        .unwrap();
        let number = socket.into_raw_fd();
        let adopted = adopt_socket(number).unwrap();
        assert!(rustix::io::fcntl_getfd(&adopted).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        assert_eq!(adopt_socket(number).unwrap_err().raw_os_error(), Some(libc::EBUSY));
    }
}
