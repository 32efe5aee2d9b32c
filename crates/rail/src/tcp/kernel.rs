//! What the kernel does with a socket beyond sending and receiving.
//!
//! Owns the calls for which the system library has no safe form. Never keeps anything.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;

/// How many bytes of a socket may wait in the kernel before they leave.
pub fn bound_unsent(socket: &OwnedFd, bytes: usize) -> Result<(), Errno> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// A port is chosen when the socket is connected, not when it is bound to an address: then many sockets may share one.
pub fn choose_port_late(socket: &OwnedFd) -> Result<(), Errno> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// The kernel asks the other end's, when nothing was heard of it for a while, whether it is there, and ends the connection if it does
/// not answer. It answers for a process that is stopped, too; neither process wakes up.
pub fn keep_asking(socket: &OwnedFd) -> Result<(), Errno> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, QUIET)?;
    sockopt::set_tcp_keepintvl(socket, ANSWER)?;
    sockopt::set_tcp_keepcnt(socket, 1)?;
    // It asks at least so often too whether there is room again; Linux before 6.15 does it less and less often.
    set(socket, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, ANSWER.as_millis() as libc::c_int)
}

/// How long a connection may be quiet before the other end's kernel is asked, and how long its answer may take.
const QUIET: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(1);
/// Of Linux's `uapi/linux/tcp.h`.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Bytes that the other end's kernel has not confirmed.
pub fn unconfirmed(socket: &OwnedFd) -> Result<usize, Errno> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request, known as SIOCOUTQ, writes one int, for which there is room.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) };
    if result == 0 { Ok(usize::try_from(bytes).unwrap_or(0)) } else { Err(last_error()) }
}

/// For how long the other end's kernel has answered nothing though something was sent, and again, or is to be sent, has room there and
/// does not get out. Whether its process lives does not matter: a kernel confirms what comes for a process that is stopped.
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
    // There is no room, and it does not answer when it is asked for some. The last answer may be on its way.
    let asked = info[PROBES] > 1;
    let since = Duration::from_millis(word(LAST_ACK).into());
    Ok((unanswered || stuck || asked).then_some(since))
}

/// Where things are in what `TCP_INFO` gives (`struct tcp_info` in Linux's `uapi/linux/tcp.h`, which only grows; an older kernel
/// leaves what it does not know at 0).
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

/// Of the call of this thread that has just failed.
pub fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
