//! The rules by which links are made and ended: the dialling side, the accepting side, and the choice among
//! several connections of a pair.
//!
//! Owns the rules; the sockets are those of [`super::connector`], [`super::acceptor`] and [`super::link`].
//!
//! *Generations.* A pair of ranks has one connection over a rail at a time. Its number is greater than those
//! of its predecessors, and both ends know it. Each rank counts for each peer: a new dial takes the next
//! number. The accepting rank also takes its next number, at least the dial's, and sends it in the last
//! flight of the handshake.
//!
//! *Outdated dials.* A rank answers only dials of a peer that are newer than any successful one. They must be
//! newer than the dial of the last connection. Where this rank dialled, they must be newer than that
//! connection itself, which the peer has accepted and so knows. The peer itself has given up older dials.
//!
//! *Early dials.* A new dial for a pair whose connection this rank still holds means that the peer has lost
//! the connection. It is lost here too. The dial stays unanswered until this rank has closed or disconnected
//! the old connection.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::poller::ReadyDescriptor;

use super::acceptor::{CLOSED_NS, Decision};
use super::connector::{ALONE_NS, Context, Route};
use super::handshaking::Handshaking;
use super::link::Link;
use super::lost::{ConnectFailure, Why};
use super::token::Token;
use super::{Tcp, kernel};

/// The counters of a rank for a peer.
#[derive(Clone, Copy, Default)]
pub(super) struct Pair {
    /// The greatest number used for a dial or a connection.
    pub(super) last: u32,
    /// Dials of the peer up to this number are outdated.
    past: u32,
}

/// Interval in ns at which handshakes are checked for their timeout.
const TIMEOUT_CHECK_NS: u64 = 1_000_000_000;

impl Tcp {
    /// Orders the routes to the sockets of a peer. Those that share most leading bits with an address of this
    /// rail are tried first.
    pub(super) fn order_routes(&self, sockets: Vec<SocketAddr>) -> Vec<Route> {
        let own: Vec<_> = self.addresses().iter().map(SocketAddr::ip).collect();
        let route = |to: SocketAddr| {
            let near = own.iter().filter(|own| own.is_ipv4() == to.is_ipv4());
            let nearest = near.min_by_key(|own| differing_bits(**own, to.ip()));
            let from = nearest.copied().filter(|own| !own.is_unspecified());
            Route { from, to }
        };
        let mut routes: Vec<_> = sockets.into_iter().map(route).collect();
        routes.sort_by_key(|route| route.from.map_or(u32::MAX, |from| differing_bits(from, route.to.ip())));
        routes
    }

    /// Answers connections to this rank and advances connection attempts. Returns true if there is a new
    /// link. Costs one system call if nothing arrived.
    pub(super) fn step_connections(&mut self) -> bool {
        let links = self.incoming.len();
        let mut ready = std::mem::take(&mut self.ready);
        ready.clear();
        self.polls += 1;
        self.handshakes_ready = self.handshake_poller.wait(Some(Duration::ZERO), |found| ready.push(found));
        self.let_in(&ready);
        for event in &ready {
            if let Token::Connecting(peer) = Token::from_word(event.token)
                && let Some(connector) = self.connectors.get_mut(&peer)
            {
                connector.mark_ready();
            }
        }
        self.ready = ready;
        let peers: Vec<_> = self.connectors.keys().copied().collect();
        peers.iter().for_each(|peer| self.step_connector(*peer, self.now_ns));
        self.incoming.len() != links
    }

    fn let_in(&mut self, ready: &[ReadyDescriptor]) {
        let Self { credentials, others, links, connectors, lost, pairs, number, acceptor, .. } = self;
        let (me, number) = (credentials.me, *number);
        // If both ends of a pair dial, both prefer the dial of the first rank. Jobs number each other's ranks
        // independently.
        let is_first = |peer: Rank| {
            let among = others.iter().find(|among| among.theirs(peer).is_some());
            among.map_or(me < peer, |among| among.job < among.theirs)
        };
        let decide = |peer: Rank, attempt: u32| {
            let (pair, link) = (&mut pairs[peer.0 as usize], &mut links[peer.0 as usize]);
            if attempt <= pair.past {
                return Decision::Drop;
            }
            if is_first(peer) && connectors.contains_key(&peer) {
                return Decision::Wait;
            }
            if let Some(link) = link {
                if let Some(why) = link.give_up(Why::Replaced) {
                    lost.push_back(why.of(LinkId::new(number, peer)));
                }
                return Decision::Wait;
            }
            pair.last = (pair.last + 1).max(attempt);
            pair.past = attempt;
            Decision::Accept(pair.last)
        };
        let context = Context {
            credentials,
            others,
            poller: &self.handshake_poller,
            ready,
            now_ns: self.now_ns,
            connect_timeout_ns: self.connect_timeout_ns,
        };
        for (peer, handshaking) in acceptor.step(&context, decide) {
            self.connectors.remove(&peer);
            self.add_link(peer, handshaking);
        }
    }

    /// Advances the attempt to connect to a peer.
    pub(super) fn step_connector(&mut self, peer: Rank, now_ns: Option<u64>) {
        let Some(mut connector) = self.connectors.remove(&peer) else { return };
        let context = Context {
            credentials: &self.credentials,
            others: &self.others,
            poller: &self.handshake_poller,
            ready: &[],
            now_ns,
            connect_timeout_ns: self.connect_timeout_ns,
        };
        match connector.step(&context) {
            None => drop(self.connectors.insert(peer, connector)),
            Some(Ok(handshaking)) => {
                let generation = handshaking.handshake.generation();
                let pair = &mut self.pairs[peer.0 as usize];
                (pair.last, pair.past) = (pair.last.max(generation), generation);
                self.add_link(peer, handshaking);
            }
            Some(Err(tried)) => self.failures.push_back(ConnectFailure { peer, tried }),
        }
    }

    fn add_link(&mut self, peer: Rank, handshaking: Handshaking) {
        let generation = handshaking.handshake.generation();
        let socket = handshaking.into_socket();
        // If a kernel does not support this, it buffers too much or reports a dead host later; the link still
        // works.
        let _ = kernel::bound_unsent(&socket, self.sizes.max_bulk());
        let _ = kernel::keep_asking(&socket);
        let id = LinkId::new(self.number, peer);
        let mut link = Box::new(Link::new(socket, peer, generation, self.sizes));
        if let Err(error) = link.watch(&self.poller, Token::Link(peer))
            && let Some(why) = link.give_up(Why::Broken(error))
        {
            self.lost.push_back(why.of(id));
        }
        self.lists.note(id, &mut link);
        self.links[peer.0 as usize] = Some(link);
        self.incoming.push(id);
        self.opened.push_back(id);
    }

    pub(super) fn remove_link(&mut self, id: LinkId) -> Option<Box<Link>> {
        let link = self.links.get_mut(id.peer().0 as usize)?.take()?;
        self.incoming.retain(|other| *other != id);
        self.opened.retain(|other| *other != id);
        self.lost.retain(|lost| lost.link != id);
        self.lists.remove(id, &link);
        self.sent_before += link.sent();
        self.calls_before += link.calls();
        Some(link)
    }

    /// Takes a failed attempt to connect, with the error of each address.
    pub fn take_failure(&mut self) -> Option<ConnectFailure> {
        self.failures.pop_front()
    }

    /// Returns the number of unauthenticated connections, and how many of them were dropped so far.
    pub fn unproven(&self) -> (usize, u64) {
        (self.acceptor.unproven(), self.acceptor.dropped)
    }

    /// Returns the time after which a connection needs work even if nothing arrives.
    pub(super) fn connection_timeout(&self) -> Option<Duration> {
        let dialling = (!self.connectors.is_empty()).then_some(ALONE_NS);
        let closed = self.acceptor.is_closed().then_some(CLOSED_NS);
        let timed = self.acceptor.is_timed().then_some(TIMEOUT_CHECK_NS.min(self.connect_timeout_ns));
        [dialling, closed, timed].into_iter().flatten().min().map(Duration::from_nanos)
    }
}

/// Returns the number of bits after the common leading bits of two addresses of one family.
fn differing_bits(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => 32 - (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => 128 - (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => u32::MAX,
    }
}
