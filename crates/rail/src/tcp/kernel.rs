//! Kernel options and state of a socket beyond sending and receiving.
//!
//! Owns the calls for which the system library has no safe form. Keeps no state.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;

/// Limits the bytes of a socket that may wait in the kernel before they leave.
pub fn bound_unsent(socket: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Delays the choice of a port from `bind` to `connect`: then many sockets may share one. Emulated kernels that
/// lack the option choose it early.
pub fn choose_port_late(socket: &OwnedFd) -> Result<(), Errno> {
    match set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1) {
        Err(Errno::NOPROTOOPT) => Ok(()),
        other => other,
    }
}

/// Enables keepalive: the kernel probes the other end's kernel after silence, and ends the connection without
/// an answer. A kernel also answers for a stopped process; neither process wakes up.
pub fn keep_asking(socket: &OwnedFd) -> Result<(), Errno> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, QUIET)?;
    sockopt::set_tcp_keepintvl(socket, ANSWER)?;
    sockopt::set_tcp_keepcnt(socket, 1)?;
    // Window probes are limited to the same interval; Linux before 6.15 makes them less and less frequent.
    set(socket, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, ANSWER.as_millis() as libc::c_int)
}

/// Silence after which the other end's kernel is probed, and time for its answer.
const QUIET: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(1);
/// The value in Linux's `uapi/linux/tcp.h`.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Returns the number of bytes that the other end's kernel has not confirmed.
pub fn unconfirmed(socket: &OwnedFd) -> Result<usize, Errno> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request, known as SIOCOUTQ, writes one int, for which there is room.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(last_error()) }
}

/// Returns the time since the other end's kernel last answered, if it owes an answer. It owes one for
/// retransmitted data, for data that does not leave though there is room, or for probes. The state of the
/// peer's process does not matter: a kernel confirms data for a stopped process.
pub fn silence(socket: &OwnedFd) -> Result<Option<Duration>, Errno> {
    let mut info = [0u8; INFO];
    let mut len = INFO as libc::socklen_t;
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_INFO);
    // SAFETY: the call writes at most `len` bytes to `info`, and how many to `len`.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, info.as_mut_ptr().cast(), &raw mut len) };
    if result != 0 {
        return Err(last_error());
    }
    let word = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().expect("4 bytes"));
    let unanswered = word(UNACKED) > 0 && info[RETRANSMITS] > 0;
    let stuck = word(UNSENT) > 0 && info[BACKOFF] > 0 && word(WINDOW) > 0;
    // There is no room, and the probes for room are unanswered. One answer may be on its way.
    let asked = info[PROBES] > 1;
    let since = Duration::from_millis(word(LAST_ACK).into());
    Ok((unanswered || stuck || asked).then_some(since))
}

/// Offsets of fields in `TCP_INFO` (`struct tcp_info` in Linux's `uapi/linux/tcp.h`, which only grows). An
/// older kernel leaves unknown fields at 0.
const INFO: usize = 232;
const RETRANSMITS: usize = 2;
const PROBES: usize = 3;
const BACKOFF: usize = 4;
const UNACKED: usize = 24;
const LAST_ACK: usize = 56;
const UNSENT: usize = 144;
const WINDOW: usize = 228;

fn set(socket: &OwnedFd, level: i32, name: i32, value: libc::c_int) -> Result<(), Errno> {
    let len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the option's value is `len` bytes at an address that is valid during the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), len) };
    if result == 0 { Ok(()) } else { Err(last_error()) }
}

/// Returns the error of the call of this thread that has just failed.
pub fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
