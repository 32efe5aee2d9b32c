//! The steps of starting and joining a job that need `unsafe`: the work in a new process between fork and
//! exec, and taking over a descriptor that was inherited by number.
//!
//! Owns nothing. Never decides: the launcher says what to prepare.

use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

use crate::affinity::ProcessorSet;
use crate::signals;

/// The settings that a process gets before its program starts.
#[derive(Debug, Clone)]
pub struct Preparation {
    /// A descriptor that the program inherits under its present number.
    pub keep: Option<RawFd>,
    /// The processors that the program may run on; `None`: all that its parent may use.
    pub processors: Option<ProcessorSet>,
}

/// Makes `command` start its program in a process group of its own, which the end of the calling thread
/// kills. The program gets the signal state that this process has inherited, but ending signals have their
/// default action.
///
/// The parent-death signal belongs to the *thread* that spawns: spawn from a thread that lives as long as the
/// children should.
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
        // If the parent ended before the line above, the signal is never sent.
        if libc::getppid() as u32 != parent {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(keep) = preparation.keep
            && libc::fcntl(keep, libc::F_SETFD, 0) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    // The launcher must be able to stop a rank.
    signals::give_back_but_ending();
    preparation.processors.as_ref().map_or(Ok(()), ProcessorSet::bind_thread)
}

/// Makes `command` start its program apart from this process: as no process's child here, in a session of its
/// own, and with only the three standard descriptors. The child that the caller gets ends at once and must be
/// waited for.
pub fn detach(command: &mut Command) {
    // SAFETY: the closure runs between fork and exec and makes only async-signal-safe calls (fork, _exit,
    // setsid, close_range). It allocates nothing and touches no lock.
    unsafe {
        command.pre_exec(leave_parent);
    }
}

fn leave_parent() -> io::Result<()> {
    // SAFETY: these are plain system calls. The process that forks here has one thread and ends without
    // running anything of the program.
    unsafe {
        match libc::fork() {
            0 => {}
            -1 => return Err(io::Error::last_os_error()),
            _ => libc::_exit(0),
        }
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        // This closes descriptors inherited from the starter when the new program begins; Linux before 5.11
        // refuses.
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
    Ok(())
}

/// Takes over the inherited descriptor `number`, which must be a connected `SOCK_SEQPACKET` Unix socket,
/// and marks it close-on-exec.
///
/// # Errors
/// Fails with `EBADF` if it is not open, `ENOTSOCK` or `EPROTOTYPE` if it is something else, `EBUSY` if this
/// process has already taken it over.
pub fn adopt_socket(number: RawFd) -> io::Result<OwnedFd> {
    adopt(number, |fd| {
        Ok(socket_type(fd)? == SocketType::SEQPACKET && socket_domain(fd)? == AddressFamily::UNIX)
    })
}

/// Takes over the inherited descriptor `number`, which must be a stream socket, and marks it close-on-exec.
///
/// # Errors
/// Fails as [`adopt_socket`] does.
pub fn adopt_stream(number: RawFd) -> io::Result<OwnedFd> {
    adopt(number, |fd| Ok(socket_type(fd)? == SocketType::STREAM))
}

fn adopt(number: RawFd, is_right: fn(BorrowedFd) -> rustix::io::Result<bool>) -> io::Result<OwnedFd> {
    static ADOPTED: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());
    let mut adopted = ADOPTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if number < 3 {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    if adopted.contains(&number) {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // SAFETY: only borrowed for the calls below, which fail with EBADF if it is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    if !is_right(borrowed)? {
        return Err(io::Error::from_raw_os_error(libc::EPROTOTYPE));
    }
    // A marked descriptor was taken over by another library with a copy of this crate: an inherited one is
    // not marked.
    if rustix::io::fcntl_getfd(borrowed)?.contains(rustix::io::FdFlags::CLOEXEC) {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
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
        let (socket, other) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::SEQPACKET,
            rustix::net::SocketFlags::empty(),
            None,
        )
        .unwrap();
        let number = socket.into_raw_fd();
        let marked = rustix::io::fcntl_dupfd_cloexec(&other, 3).unwrap().into_raw_fd();
        let taken = adopt_socket(marked).unwrap_err();
        assert_eq!(taken.raw_os_error(), Some(libc::EBUSY), "by another library of this process");
        let adopted = adopt_socket(number).unwrap();
        assert!(rustix::io::fcntl_getfd(&adopted).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
        assert_eq!(adopt_socket(number).unwrap_err().raw_os_error(), Some(libc::EBUSY));
    }

    #[test]
    fn a_detached_program_is_no_child_and_has_no_descriptor_of_this_one() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let leak = std::fs::File::open("/proc/self/status").unwrap().into_raw_fd();
        // SAFETY: open, and left open.
        rustix::io::fcntl_setfd(unsafe { BorrowedFd::borrow_raw(leak) }, rustix::io::FdFlags::empty())
            .unwrap();
        let script = format!(
            "test -e /proc/self/fd/{leak} && echo leaked; echo $PPID; cut -d' ' -f6 /proc/$$/stat; echo $$"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).stdout(writer);
        detach(&mut command);
        let mut child = command.spawn().unwrap();
        drop(command);
        assert!(child.wait().unwrap().success());
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [parent, session, own] = words[..] else { panic!("{text}") };
        assert!(parent != std::process::id().to_string() && session == own, "{text}");
    }

    #[test]
    fn a_program_that_cannot_be_detached_says_so() {
        let mut command = Command::new("/nowhere/program");
        detach(&mut command);
        assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
