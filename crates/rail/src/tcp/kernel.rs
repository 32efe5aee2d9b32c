//! What the kernel does with a socket beyond sending and receiving.
//!
//! Owns the calls for which the system library has no safe form. Never keeps anything.

use std::os::fd::{AsRawFd, OwnedFd};

use rustix::io::Errno;

/// How many bytes of a socket may wait in the kernel before they leave.
pub fn bound_unsent(socket: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// A port is chosen when the socket is connected, not when it is bound to an address: then many sockets may share one.
pub fn choose_port_late(socket: &OwnedFd) -> Result<(), Errno> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// Bytes that the other end's kernel has not confirmed.
pub fn unconfirmed(socket: &OwnedFd) -> Result<usize, Errno> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request, known as SIOCOUTQ, writes one int, for which there is room.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(last_error()) }
}

fn set(socket: &OwnedFd, level: i32, name: i32, value: libc::c_int) -> Result<(), Errno> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the option's value is `len` bytes at an address that is valid during the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Of the call of this thread that has just failed.
pub fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
