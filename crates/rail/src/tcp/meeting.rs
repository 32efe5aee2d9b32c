//! One connection whose handshake is under way.
//!
//! Owns its socket until the handshake is over. Never waits, and reads nothing behind the handshake.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};

use super::handshake::{Handshake, NONCE, Refused};
use super::kernel;
use super::lost::Failure;
use super::watch::{Flags, Interest, Watch};

/// Flights of a handshake that one step can take, and one to see that nothing follows.
const FLIGHTS: usize = 6;

/// A socket and one end of a handshake.
pub struct Meeting {
    socket: OwnedFd,
    pub handshake: Handshake,
    /// The other end's address.
    pub address: SocketAddr,
    /// By which it is watched.
    pub key: u64,
    interest: Interest,
    since_ns: Option<u64>,
}

impl Meeting {
    /// Begins to connect, from an address of this machine.
    pub fn connect(
        from: Option<IpAddr>,
        address: SocketAddr,
        handshake: Handshake,
        key: u64,
    ) -> Result<Self, Failure> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        if let Some(from) = from {
            kernel::choose_port_late(&socket)?;
            net::bind(&socket, &SocketAddr::new(from, 0))?;
        }
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self { socket, handshake, address, key, interest: Interest::default(), since_ns: None })
    }

    /// Goes on with a connection that somebody made to us.
    pub fn accepted(
        socket: OwnedFd,
        address: SocketAddr,
        handshake: Handshake,
        key: u64,
    ) -> Result<Self, Failure> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok(Self { socket, handshake, address, key, interest: Interest::default(), since_ns: None })
    }

    /// Exchanges what can be exchanged without waiting, and is watched for what comes next. After an error the
    /// connection is useless.
    pub fn step(&mut self, watch: &Watch) -> Result<(), Failure> {
        for _ in 0..FLIGHTS {
            self.send()?;
            if !self.receive()? {
                break;
            }
        }
        self.send()?;
        if self.handshake.undecided().is_some() {
            self.expect_nothing()?;
        }
        let mut flags = Flags::IN;
        flags.set(Flags::OUT, !self.handshake.to_send().is_empty());
        let wanted = (!self.handshake.is_over()).then_some(flags);
        Ok(watch.set(self.socket.as_fd(), self.key, &mut self.interest, wanted)?)
    }

    /// How long it has lasted, where the time is known.
    pub fn age_ns(&mut self, now_ns: Option<u64>) -> u64 {
        now_ns.map_or(0, |now_ns| now_ns.saturating_sub(*self.since_ns.get_or_insert(now_ns)))
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
        let received = self.receive_into(&mut bytes[..wanted], RecvFlags::DONTWAIT)?;
        if let Err(refused) = self.handshake.handle(&bytes[..received]) {
            // Once, so that a program of another version learns of ours.
            let _ = self.send();
            return Err(refused.into());
        }
        Ok(received > 0)
    }

    /// Who waits for an answer says nothing, but may leave.
    fn expect_nothing(&self) -> Result<(), Failure> {
        match self.receive_into(&mut [0], RecvFlags::DONTWAIT | RecvFlags::PEEK)? {
            0 => Ok(()),
            _ => Err(Refused::Answer.into()),
        }
    }

    /// How many bytes came; the end is an error.
    fn receive_into(&self, bytes: &mut [u8], flags: RecvFlags) -> Result<usize, Failure> {
        match net::recv(&self.socket, bytes, flags) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Err(Failure::HungUp),
            Ok((received, _)) => Ok(received),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// The socket, for frames. It is not watched any more.
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
