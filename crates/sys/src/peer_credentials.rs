//! The process at the other end of a Unix socket, as the kernel reports it.
//!
//! Owns the query. A process of another pid namespace has no number here, and process numbers are never 0.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// The process that made the other end of a connected socket, or that listens there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCredentials {
    /// The process number in the pid namespace of the caller; none if the process is not visible there.
    pub pid: Option<u32>,
    /// The user.
    pub uid: u32,
}

/// Returns the process at the other end of a Unix socket.
///
/// # Errors
/// Fails as getsockopt(2) does.
pub fn peer_credentials(socket: impl AsFd) -> io::Result<PeerCredentials> {
    let mut found = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes to `found`, and their number to `bytes`; both live
    // during the call.
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
