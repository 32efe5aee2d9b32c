//! One connection whose handshake is under way.
//!
//! Owns its socket until the handshake is over. Never waits, and reads nothing behind the handshake.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};

use super::handshake::{Handshake, NONCE};
use super::lost::Failure;

/// Flights of a handshake that one step can take, and one to see that nothing follows.
const FLIGHTS: usize = 6;

/// A socket and one end of a handshake.
pub struct Meeting {
    socket: OwnedFd,
    pub handshake: Handshake,
    /// The other end's address.
    pub address: SocketAddr,
    patience_ns: u64,
    /// When patience ends: it begins with the first step that knows the time.
    until_ns: Option<u64>,
}

impl Meeting {
    /// Begins to connect.
    pub fn connect(address: SocketAddr, handshake: Handshake, patience_ns: u64) -> Result<Self, Failure> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { socket, handshake, address, patience_ns, until_ns: None })
    }

    /// Goes on with a connection that somebody made to us.
    pub fn accepted(
        socket: OwnedFd,
        address: SocketAddr,
        handshake: Handshake,
        patience_ns: u64,
    ) -> Result<Self, Failure> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok(Self { socket, handshake, address, patience_ns, until_ns: None })
    }

    /// Exchanges what can be exchanged without waiting; `now_ns` where the time is known. After an error the connection is useless.
    pub fn step(&mut self, now_ns: Option<u64>) -> Result<(), Failure> {
        for _ in 0..FLIGHTS {
            self.send()?;
            if !self.receive()? {
                break;
            }
        }
        self.send()?;
        let Some(now_ns) = now_ns else { return Ok(()) };
        let until_ns = *self.until_ns.get_or_insert(now_ns.saturating_add(self.patience_ns));
        if now_ns >= until_ns && !self.handshake.is_over() { Err(Failure::Silent) } else { Ok(()) }
    }

    /// On a socket that is still connecting this is what reports the failure.
    fn send(&mut self) -> Result<(), Failure> {
        let bytes = self.handshake.to_send();
        if bytes.is_empty() {
            return Ok(());
        }
        match net::send(&self.socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(sent) => self.handshake.handle_sent(sent),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether something came.
    fn receive(&mut self) -> Result<bool, Failure> {
        let mut bytes = [0; 128];
        let wanted = self.handshake.wanted();
        if wanted == 0 {
            return Ok(false);
        }
        match net::recv(&self.socket, &mut bytes[..wanted], RecvFlags::DONTWAIT) {
            Ok((0, _)) => Err(Failure::HungUp),
            Ok((received, _)) => {
                let handled = self.handshake.handle(&bytes[..received]);
                if let Err(refused) = handled {
                    // Once, so that a program of another version learns of ours.
                    let _ = self.send();
                    return Err(refused.into());
                }
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(Errno::CONNRESET) => Err(Failure::HungUp),
            Err(error) => Err(error.into()),
        }
    }

    /// What to wait for.
    pub fn descriptor(&self) -> (BorrowedFd<'_>, PollFlags) {
        let sends = !self.handshake.to_send().is_empty();
        (self.socket.as_fd(), if sends { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN })
    }

    /// The socket, for frames.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

/// A number nobody can guess.
pub fn nonce() -> Result<[u8; NONCE], Failure> {
    let mut nonce = [0; NONCE];
    // Up to 256 bytes always come whole.
    getrandom(&mut nonce, GetRandomFlags::empty())?;
    Ok(nonce)
}
