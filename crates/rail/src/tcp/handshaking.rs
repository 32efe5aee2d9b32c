//! One connection whose handshake is under way.
//!
//! Owns its socket until the handshake is over. Never waits, and reads nothing after the handshake.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use canele_sys::poller::{Interest, Poller, Ready};
use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};

use super::connector::Context;
use super::handshake::{Handshake, HandshakeError, LONGEST_FLIGHT, NONCE};
use super::kernel;
use super::lost::AddressFailure;
use super::token::Token;

/// Most flights that one step can handle, plus one step to see that nothing follows.
const FLIGHTS: usize = 6;
/// Most steps of an authentication. The flights of a peer arrive whole, hardly ever in two pieces.
const MOST_STEPS: u32 = 16;

/// A socket and its end of a handshake.
pub struct Handshaking {
    socket: OwnedFd,
    pub handshake: Handshake,
    /// The other end's address.
    pub address: SocketAddr,
    /// The token of the socket at the poller.
    pub token: Token,
    interest: Interest,
    since_ns: Option<u64>,
    steps: u32,
}

impl Handshaking {
    /// Begins to connect to a peer, from a local address.
    pub fn connect(
        from: Option<IpAddr>,
        address: SocketAddr,
        handshake: Handshake,
        token: Token,
    ) -> Result<Self, AddressFailure> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        // The first flight travels with the last packet of the TCP handshake. So the other end can check this
        // end as soon as that packet arrives.
        sockopt::set_tcp_quickack(&socket, false)?;
        if let Some(from) = from {
            kernel::choose_port_late(&socket)?;
            net::bind(&socket, &SocketAddr::new(from, 0))?;
        }
        match net::connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Self::new(socket, address, handshake, token, None))
    }

    /// Takes over a connection that another process made to this rank. Its token is set by its owner.
    pub fn accepted(socket: OwnedFd, address: SocketAddr, handshake: Handshake, now_ns: Option<u64>) -> Self {
        Self::new(socket, address, handshake, Token::Accepted(0), now_ns)
    }

    fn new(
        socket: OwnedFd,
        address: SocketAddr,
        handshake: Handshake,
        token: Token,
        since_ns: Option<u64>,
    ) -> Self {
        Self { socket, handshake, address, token, interest: Interest::default(), since_ns, steps: 0 }
    }

    /// Registers the socket at the poller under another token.
    pub fn set_token(&mut self, token: Token, poller: &Poller) -> Result<(), Errno> {
        self.token = token;
        self.watch(poller)
    }

    /// Watches for the next flight, and for room while there is output.
    fn watch(&mut self, poller: &Poller) -> Result<(), Errno> {
        let mut flags = Ready::IN;
        flags.set(Ready::OUT, !self.handshake.to_send().is_empty());
        let wanted = (!self.handshake.is_over()).then_some(flags);
        poller.set(&self.socket, self.token.to_word(), &mut self.interest, wanted)
    }

    /// Returns true if the connection took more steps than any peer needs. Each step costs this rank a
    /// wake-up.
    pub fn is_trickling(&self) -> bool {
        self.steps > MOST_STEPS
    }

    /// Exchanges as many flights as possible without waiting, and watches for the next event. After an error
    /// the connection is useless.
    pub fn step(&mut self, poller: &Poller) -> Result<(), AddressFailure> {
        self.steps += 1;
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
        Ok(self.watch(poller)?)
    }

    /// Reads the arrived part of the next flight and answers it. It never finishes a handshake, because only
    /// an event reports the end.
    pub fn hear_first(&mut self, poller: &Poller) -> Result<(), AddressFailure> {
        self.steps += 1;
        self.receive()?;
        self.send()?;
        Ok(self.watch(poller)?)
    }

    /// Returns true if the handshake has lasted too long, if the time is known.
    pub fn is_too_old(&mut self, context: &Context<'_>) -> bool {
        let Some(now_ns) = context.now_ns else { return false };
        now_ns.saturating_sub(*self.since_ns.get_or_insert(now_ns)) >= context.connect_timeout_ns
    }

    /// Sends pending bytes. On a socket that is still connecting, this call reports the failure.
    fn send(&mut self) -> Result<(), AddressFailure> {
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

    /// Receives a part of a flight. Returns true if bytes arrived.
    fn receive(&mut self) -> Result<bool, AddressFailure> {
        let mut bytes = [0; LONGEST_FLIGHT];
        let wanted = self.handshake.wanted();
        if wanted == 0 {
            return Ok(false);
        }
        let received = self.receive_into(&mut bytes[..wanted], RecvFlags::DONTWAIT)?;
        if let Err(refused) = self.handshake.handle(&bytes[..received]) {
            // Sent once, so that a program of another version learns the version of this one.
            let _ = self.send();
            return Err(refused.into());
        }
        Ok(received > 0)
    }

    /// Checks that the other end, which waits for an answer, has sent nothing; it may have hung up.
    fn expect_nothing(&self) -> Result<(), AddressFailure> {
        match self.receive_into(&mut [0], RecvFlags::DONTWAIT | RecvFlags::PEEK)? {
            0 => Ok(()),
            _ => Err(HandshakeError::Answer.into()),
        }
    }

    /// Receives bytes and returns their number; the end of the stream is an error.
    fn receive_into(&self, bytes: &mut [u8], flags: RecvFlags) -> Result<usize, AddressFailure> {
        match net::recv(&self.socket, bytes, flags) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Err(AddressFailure::HungUp),
            Ok((received, _)) => Ok(received),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the socket, for frames. It is not watched any more.
    pub fn into_socket(self) -> OwnedFd {
        self.socket
    }
}

impl AsFd for Handshaking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Returns a random number that no stranger can guess.
pub fn nonce() -> Result<[u8; NONCE], AddressFailure> {
    let mut nonce = [0; NONCE];
    // The system always returns up to 256 bytes whole.
    getrandom(&mut nonce, GetRandomFlags::empty())?;
    Ok(nonce)
}
