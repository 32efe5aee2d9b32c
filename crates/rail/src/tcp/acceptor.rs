//! Connections that peers make to this rank.
//!
//! Owns the listening sockets and the accepted connections whose handshake is not over. Listeners never stop
//! accepting, because connections that wait in the kernel's queue would block peers. The number of
//! unauthenticated connections is limited; one more evicts another (`unauthenticated`). An evicted peer
//! connects again. A rank also listens on an address whose interface is down; it serves once the interface is
//! back.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use canele_sys::ids::Rank;
use canele_sys::poller::{Interest, Poller, Ready};
use canele_sys::port_range::PortRange;
use rustix::io::Errno;
use rustix::net::{self, sockopt};

use super::TcpLimits;
use super::connector::Context;
use super::handshake::Handshake;
use super::handshaking::{Handshaking, nonce};
use super::lost::AddressFailure;
use super::token::Token;
use super::unauthenticated::Unauthenticated;
use crate::OpenError;

/// Time in ns without accepting after the system had no descriptor left.
pub const CLOSED_NS: u64 = 100_000_000;
/// Connections that the kernel queues for a listener, if it allows so many.
const BACKLOG: i32 = 4096;
/// Connections that one step takes from each listener. Then other ready connections have their turn.
const AT_ONCE: usize = 64;

/// The owner's decision on an authenticated peer.
pub enum Decision {
    /// The peer is connected; the value is the connection's generation.
    Accept(u32),
    /// The connection must wait.
    Wait,
    /// The connection is outdated, because a newer one exists.
    Drop,
}

struct Listener {
    socket: TcpListener,
    interest: Interest,
}

impl Listener {
    /// Listens on an address, at a port chosen by the system.
    fn open(address: IpAddr, ports: PortRange) -> io::Result<(SocketAddr, Self)> {
        let bind = |port| match TcpListener::bind((address, port)) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                Self::bind_missing(address, port)
            }
            bound => bound,
        };
        let socket = ports.bind(bind)?;
        socket.set_nonblocking(true)?;
        net::listen(&socket, BACKLOG)?;
        // Accepted sockets inherit the option, which saves a system call for each.
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok((socket.local_addr()?, Self { socket, interest: Interest::default() }))
    }

    /// Binds to an address that no interface has at the moment.
    fn bind_missing(address: IpAddr, port: u16) -> io::Result<TcpListener> {
        let family = match address {
            IpAddr::V4(_) => net::AddressFamily::INET,
            IpAddr::V6(_) => net::AddressFamily::INET6,
        };
        let socket = net::socket_with(family, net::SocketType::STREAM, net::SocketFlags::CLOEXEC, None)?;
        match address {
            IpAddr::V4(_) => sockopt::set_ip_freebind(&socket, true)?,
            IpAddr::V6(_) => sockopt::set_ipv6_freebind(&socket, true)?,
        }
        net::bind(&socket, &SocketAddr::new(address, port))?;
        Ok(socket.into())
    }
}

/// The listeners and the connections accepted from them.
pub struct Acceptor {
    listeners: Vec<Listener>,
    addresses: Vec<SocketAddr>,
    /// The error of the first address that was left out.
    refused: Option<OpenError>,
    unauthenticated: Unauthenticated,
    /// Authenticated connections that the owner has not accepted yet.
    waiting: Vec<Handshaking>,
    closed_until_ns: Option<u64>,
    /// True if the last step took its maximum number of connections from a listener.
    has_more: bool,
    /// Number of connections that were dropped unauthenticated.
    pub dropped: u64,
}

impl Acceptor {
    /// Listens on each address. Addresses that fail are left out and reported by [`Self::take_refused`].
    pub fn open(addresses: &[IpAddr], limits: TcpLimits, poller: &Poller) -> Result<Self, OpenError> {
        let (mut opened, mut refused) = (Vec::new(), None);
        for &address in addresses {
            match Listener::open(address, limits.ports) {
                Ok(listener) => opened.push(listener),
                Err(source) if is_exhaustion(&source) => {
                    return Err(OpenError::Address { address: address.to_string(), source });
                }
                Err(source) => {
                    refused.get_or_insert(OpenError::Address { address: address.to_string(), source });
                }
            }
        }
        let (addresses, listeners) = opened.into_iter().unzip();
        let mut acceptor = Self {
            listeners,
            addresses,
            refused,
            unauthenticated: Unauthenticated::new(limits.unproven)?,
            waiting: Vec::new(),
            closed_until_ns: None,
            has_more: false,
            dropped: 0,
        };
        acceptor.watch_listeners(poller)?;
        Ok(acceptor)
    }

    /// Returns the addresses on which it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes the error of a requested address on which it does not listen.
    pub fn take_refused(&mut self) -> Option<OpenError> {
        self.refused.take()
    }

    /// Returns the number of unauthenticated connections.
    pub fn unproven(&self) -> usize {
        self.unauthenticated.len()
    }

    /// Returns true if a handshake may time out.
    pub fn is_timed(&self) -> bool {
        self.unauthenticated.len() > 0 || !self.waiting.is_empty()
    }

    /// Returns true if it accepts nothing for a moment.
    pub fn is_closed(&self) -> bool {
        self.closed_until_ns.is_some()
    }

    /// Returns true if more connections probably wait to be accepted.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Advances every ready handshake, accepts connections, and asks `decide` about the authenticated ones.
    /// Those that must wait do so until they time out. Returns the accepted ones.
    pub fn step(
        &mut self,
        context: &Context<'_>,
        mut decide: impl FnMut(Rank, u32) -> Decision,
    ) -> Vec<(Rank, Handshaking)> {
        self.reopen(context.now_ns);
        let mut left = Vec::new();
        for token in context.ready.iter().map(|event| Token::from_word(event.token)) {
            match token {
                Token::Accepted(place) => self.move_on(place, context),
                Token::Waiting(peer) => left.push(peer),
                _ => {}
            }
        }
        self.dropped += self.unauthenticated.expire(context);
        self.accept_all(context);
        // The listeners are registered already, so a change of their events does not fail.
        let _ = self.watch_listeners(context.poller);
        self.decide(context, &left, &mut decide)
    }

    fn move_on(&mut self, place: usize, context: &Context<'_>) {
        let Some(handshaking) = self.unauthenticated.get_mut(place) else { return };
        let is_alive = handshaking.step(context.poller).is_ok();
        match handshaking.handshake.undecided() {
            Some(peer) if is_alive => {
                let mut handshaking = self.unauthenticated.remove(place);
                if handshaking.set_token(Token::Waiting(peer), context.poller).is_ok() {
                    self.waiting.push(handshaking);
                }
            }
            None if is_alive && !handshaking.is_trickling() => {}
            _ => {
                drop(self.unauthenticated.remove(place));
                self.dropped += 1;
            }
        }
    }

    fn decide(
        &mut self,
        context: &Context<'_>,
        left: &[Rank],
        decide: &mut impl FnMut(Rank, u32) -> Decision,
    ) -> Vec<(Rank, Handshaking)> {
        let mut accepted = Vec::new();
        for mut handshaking in std::mem::take(&mut self.waiting) {
            let Some(peer) = handshaking.handshake.undecided() else { continue };
            let gone = left.contains(&peer) && handshaking.step(context.poller).is_err();
            if gone || handshaking.is_too_old(context) {
                continue;
            }
            match decide(peer, handshaking.handshake.dial()) {
                Decision::Wait => self.waiting.push(handshaking),
                Decision::Drop => {}
                Decision::Accept(generation) => {
                    handshaking.handshake.accept(generation);
                    // A socket that has sent only a handshake so far has room for these few bytes.
                    if handshaking.step(context.poller).is_ok() && handshaking.handshake.is_over() {
                        accepted.push((peer, handshaking));
                    }
                }
            }
        }
        accepted
    }

    fn reopen(&mut self, now_ns: Option<u64>) {
        if let Some(now_ns) = now_ns {
            // If the time of closing was not known, the pause lasts from now.
            let until_ns = self.closed_until_ns.map(|until| until.min(now_ns.saturating_add(CLOSED_NS)));
            self.closed_until_ns = until_ns.filter(|until| now_ns < *until);
        }
    }

    fn accept_all(&mut self, context: &Context<'_>) {
        self.has_more = false;
        for event in context.ready {
            let Token::Listener(at) = Token::from_word(event.token) else { continue };
            let mut budget = AT_ONCE;
            while budget > 0 && !self.is_closed() && self.accept(at, context) {
                budget -= 1;
            }
            self.has_more |= budget == 0;
        }
    }

    /// Accepts one connection. Returns true if there may be more.
    fn accept(&mut self, at: usize, context: &Context<'_>) -> bool {
        match self.listeners[at].socket.accept() {
            Ok((stream, address)) => self.begin(stream.into(), address, context),
            Err(error) if is_about_one(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
            // Unauthenticated connections must not use up the descriptors.
            Err(_) if self.unauthenticated.evict(context) => self.dropped += 1,
            Err(_) => {
                self.closed_until_ns =
                    Some(context.now_ns.map_or(u64::MAX, |now| now.saturating_add(CLOSED_NS)));
            }
        }
        true
    }

    /// Begins the handshake of an accepted connection, and evicts another one if there is no room.
    fn begin(&mut self, socket: OwnedFd, address: SocketAddr, context: &Context<'_>) {
        let begin = || {
            let handshake = Handshake::respond_to_all(context.credentials, context.others, nonce()?);
            Ok::<_, AddressFailure>(Handshaking::accepted(socket, address, handshake, context.now_ns))
        };
        let Ok(handshaking) = begin() else {
            self.dropped += 1;
            return;
        };
        let place = self.unauthenticated.insert(handshaking);
        self.move_on(place, context);
        while self.unauthenticated.is_too_full() && self.unauthenticated.evict(context) {
            self.dropped += 1;
        }
    }

    /// Lets new connections end a sleep, unless none can be accepted.
    fn watch_listeners(&mut self, poller: &Poller) -> Result<(), Errno> {
        let flags = if self.is_closed() { Ready::empty() } else { Ready::IN };
        for (at, Listener { socket, interest }) in self.listeners.iter_mut().enumerate() {
            poller.set(&*socket, Token::Listener(at).to_word(), interest, Some(flags))?;
        }
        Ok(())
    }
}

/// Returns true for an error of this process or host, not of the address.
fn is_exhaustion(error: &io::Error) -> bool {
    let exhaustions = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    Errno::from_io_error(error).is_some_and(|errno| exhaustions.contains(&errno))
}

/// Returns true for an error of the next connection, not of this rank.
fn is_about_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, PermissionDenied};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | PermissionDenied)
}
