//! Which process is at the other end of a Unix socket, as the kernel says it.
//!
//! Owns the question. A process of another pid namespace has no number here; a type in which a process number is never 0 cannot hold
//! such an answer.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The process that made the other end of a connected socket, or that listens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its number in the pid namespace of the caller; none if it cannot be seen from there.
    pub pid: Option<u32>,
    /// Its user.
    pub uid: u32,
}

/// Returns who is at the other end of a Unix socket.
///
/// # Errors
/// As getsockopt(2).
pub fn peer_credentials(socket: impl AsFd) -> io::Result<PeerCredentials> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes to `found`, and their number to `bytes`; both live during the call.
    let failed = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut bytes,
        )
    };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(PeerCredentials { pid: u32::try_from(found.pid).ok().filter(|pid| *pid > 0), uid: found.uid })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn the_other_end_of_a_pair_is_this_process() {
        let (one, _other) = UnixStream::pair().unwrap();
        let found = peer_credentials(&one).unwrap();
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(found, PeerCredentials { pid: Some(std::process::id()), uid });
    }
}
