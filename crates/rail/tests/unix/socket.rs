//! Sockets that carry packets, and their abstract names, which any process of the network namespace may take.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType,
    accept_with, bind, connect, getpeername, recv, sendmsg, socket_with,
};
use rustix::rand::{GetRandomFlags, getrandom};

/// Bytes of the longest abstract name.
pub const MAX_NAME: usize = 107;

const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Returns bytes that no other process can guess.
pub fn random<const N: usize>() -> Result<[u8; N], Errno> {
    let mut bytes = [0; N];
    let drawn = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if drawn == N { Ok(bytes) } else { Err(Errno::IO) }
}

/// Opens a socket with a name that begins with `prefix`, and that no other process could take before.
pub fn open(prefix: &[u8]) -> Result<(OwnedFd, Vec<u8>), Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
    let unique: String = random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = [prefix, unique.as_bytes()].concat();
    bind(&socket, &SocketAddrUnix::new_abstract_name(&name)?)?;
    Ok((socket, name))
}

/// Connects a socket to a name. It is connected at once, or not at all: `AGAIN` if the listener's queue is full.
pub fn connect_to(socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    connect(socket, &SocketAddrUnix::new_abstract_name(name)?)
}

/// Accepts a connection, and returns the name at its other end: none if that has no name.
pub fn accept(listener: &OwnedFd) -> Result<(OwnedFd, Option<Vec<u8>>), Errno> {
    let socket = accept_with(listener, FLAGS)?;
    let there = getpeername(&socket).ok().flatten();
    let there = there.and_then(|address| SocketAddrUnix::try_from(address).ok());
    let name = there.and_then(|address| address.abstract_name().map(<[u8]>::to_vec));
    Ok((socket, name))
}

/// Sends one packet put together from parts: all of it or nothing.
pub fn send_packet(socket: impl AsFd, parts: &[&[u8]]) -> Result<(), Errno> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let parts: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
    sendmsg(socket, &parts, &mut SendAncillaryBuffer::default(), flags).map(drop)
}

/// Receives one packet and returns its length, which is larger than `into` if the packet was cut. 0 is the
/// end: an empty packet of a hostile peer looks equal, and ends the connection as well.
pub fn receive_packet(socket: impl AsFd, into: &mut [u8]) -> Result<usize, Errno> {
    recv(socket, into, RecvFlags::DONTWAIT | RecvFlags::TRUNC).map(|(_, len)| len)
}

/// Returns true if the other end has closed the connection, or has sent bytes.
pub fn has_stirred(socket: impl AsFd) -> bool {
    let mut byte = [0; 1];
    recv(socket, &mut byte, RecvFlags::DONTWAIT | RecvFlags::PEEK) != Err(Errno::AGAIN)
}
