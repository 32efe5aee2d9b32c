//! The attempt to connect to one peer by all its addresses.
//!
//! Owns the connections until the handshake of one is over. Never tries an address twice. The next address is
//! tried as soon as one has failed or was silent for a moment (as in RFC 8305). So an address that drops all
//! packets does not delay the others.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use canele_sys::ids::Rank;
use canele_sys::poller::{Poller, ReadyDescriptor};

use super::handshake::{Credentials, Handshake};
use super::handshaking::{Handshaking, nonce};
use super::lost::AddressFailure;
use super::token::Token;
use crate::OtherRanks;

/// Time in ns for which an address is tried alone.
pub const ALONE_NS: u64 = 250_000_000;

/// An address of a peer, and the local address to reach it from.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The local address, if it matters.
    pub from: Option<IpAddr>,
    /// The peer's address.
    pub to: SocketAddr,
}

/// An attempt under way.
pub struct Connector {
    pub peer: Rank,
    /// The number of this attempt among successive ones to reach the peer.
    number: u32,
    routes: std::vec::IntoIter<Route>,
    attempts: Vec<Handshaking>,
    failures: Vec<(SocketAddr, AddressFailure)>,
    since_ns: Option<u64>,
    next_ns: u64,
    /// True if a socket is ready.
    ready: bool,
}

/// The state of the owner that handshakes need.
pub struct Context<'a> {
    pub credentials: &'a Credentials,
    /// Connected ranks of other jobs.
    pub others: &'a Arc<[OtherRanks]>,
    pub poller: &'a Poller,
    /// The ready sockets.
    pub ready: &'a [ReadyDescriptor],
    pub now_ns: Option<u64>,
    pub connect_timeout_ns: u64,
}

impl Connector {
    pub fn new(peer: Rank, number: u32, routes: Vec<Route>) -> Self {
        let (routes, next_ns) = (routes.into_iter(), u64::MAX);
        Self {
            peer,
            number,
            routes,
            attempts: vec![],
            failures: vec![],
            since_ns: None,
            next_ns,
            ready: false,
        }
    }

    /// Notes that a socket of the attempt is ready.
    pub fn mark_ready(&mut self) {
        self.ready = true;
    }

    /// Advances as far as possible without waiting. Returns the connection, or the errors if all addresses
    /// failed.
    pub fn step(
        &mut self,
        context: &Context<'_>,
    ) -> Option<Result<Handshaking, Vec<(SocketAddr, AddressFailure)>>> {
        if std::mem::take(&mut self.ready) {
            for handshaking in std::mem::take(&mut self.attempts) {
                if let Some(over) = self.move_on(handshaking, context) {
                    return Some(Ok(over));
                }
            }
        }
        // Each iteration uses up an address.
        while self.is_next_due(context) {
            let Some(way) = self.routes.next() else { break };
            match self.connect(way, context) {
                Ok(handshaking) => {
                    if let Some(over) = self.move_on(handshaking, context) {
                        return Some(Ok(over));
                    }
                }
                Err(failure) => self.failures.push((way.to, failure)),
            }
        }
        self.give_up_late_attempts(context);
        let over = self.attempts.is_empty() && self.routes.len() == 0;
        over.then(|| Err(std::mem::take(&mut self.failures)))
    }

    fn is_next_due(&mut self, context: &Context<'_>) -> bool {
        let due = self.attempts.is_empty() || context.now_ns.is_some_and(|now_ns| now_ns >= self.next_ns);
        if due {
            self.next_ns = u64::MAX;
        }
        if let Some(now_ns) = context.now_ns {
            self.next_ns = self.next_ns.min(now_ns.saturating_add(ALONE_NS));
        }
        due
    }

    fn connect(&self, way: Route, context: &Context<'_>) -> Result<Handshaking, AddressFailure> {
        let among = context.others.iter().find(|among| among.theirs(self.peer).is_some()).copied();
        let handshake =
            Handshake::initiate_among(context.credentials, among, self.peer, self.number, nonce()?);
        Handshaking::connect(way.from, way.to, handshake, Token::Connecting(self.peer))
    }

    /// Returns the connection if its handshake is over; keeps it for later unless it failed.
    fn move_on(&mut self, mut handshaking: Handshaking, context: &Context<'_>) -> Option<Handshaking> {
        match handshaking.step(context.poller) {
            Ok(()) if handshaking.handshake.is_over() => return Some(handshaking),
            Ok(()) => self.attempts.push(handshaking),
            Err(failure) => self.failures.push((handshaking.address, failure)),
        }
        None
    }

    /// Fails all silent addresses after the timeout of the whole attempt.
    fn give_up_late_attempts(&mut self, context: &Context<'_>) {
        let Some(now_ns) = context.now_ns else { return };
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) >= context.connect_timeout_ns {
            let silent = self.attempts.drain(..).map(|handshaking| handshaking.address);
            let untried = self.routes.by_ref().map(|way| way.to);
            self.failures.extend(silent.chain(untried).map(|address| (address, AddressFailure::Silent)));
        }
    }
}
