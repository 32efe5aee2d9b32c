//! The driver for ranks of several machines: TCP connections.
//!
//! A rank listens on its addresses (`acceptor`). A pair of ranks has one connection, made when one of them
//! first needs it (`connector`). Both prove first that they belong to the job ([`handshake`]). Frames
//! (`wire`) travel both ways over it (`link`). This driver starts no thread and never waits except in
//! [`crate::Rail::sleep`]. Its owner exchanges the addresses of ranks.
//!
//! ```text
//!   claim, commit, lend ─▶ Outgoing: kept until acknowledged ─▶ socket ═══ socket ─▶ Incoming ─▶ poll, land, release
//!                    ◀──────── acknowledgements, in every frame that goes the other way ────────
//! ```
//! *Busy.* A packet leaves in its commit. Its link is busy for the rest of the pass, and until the system has
//! taken the whole packet. Meanwhile further messages wait in the layer above, which combines them.
//!
//! *Two connections at once.* The accepting rank decides. A rank that dials a higher one does not answer that
//! rank's dial until its own has succeeded or failed. A higher rank accepts the dial of a lower one and drops
//! its own. So the lower rank's connection is used, and the other one carried no packet. Of two jobs, the job
//! with the lower number has the lower ranks.
//!
//! *Acknowledgements* count the packets that the peer's library has released. They return room and end the
//! need to keep packets.

mod acceptor;
mod address;
mod connect;
mod connector;
mod direct_receive;
#[cfg(test)]
mod fuzz;
pub mod handshake;
mod handshaking;
mod incoming;
pub mod interfaces;
mod kernel;
mod link;
mod lost;
mod network;
mod outgoing;
mod pace;
mod poll_interval;
mod rail;
mod sizes;
mod token;
mod unauthenticated;
mod vectors;
mod wire;
mod worklists;

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use acceptor::Acceptor;
use address::OwnAddresses;
pub use address::encode as encode_address;
use canele_sys::device::MemoryKinds;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::poller::{Interest, Poller, Ready, ReadyDescriptor};
use canele_sys::port_range::PortRange;
use connect::Pair;
use connector::{Connector, Route};
use handshake::{Credentials, SocketNames};
use link::Link;
use lost::Why;
pub use lost::{AddressFailure, ConnectFailure};
use poll_interval::PollInterval;
use sizes::Sizes;
use token::Token;
use worklists::Worklists;

use crate::{Caps, Distance, LinkTraits, Lost, Member, OpenError, OtherRanks, Verbs};

/// Time limit of an attempt to connect, in ns.
const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;

/// Limits of the rail's memory and times. The first two are equal in all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpLimits {
    /// Packets a link holds in each direction; rounded up to a power of two, at least 16.
    pub cells: u32,
    /// Bytes of bulk a link holds in each direction, at least 256.
    pub payload: usize,
    /// Most accepted connections that are not authenticated yet.
    pub unproven: usize,
    /// Time limit in ns of an attempt to reach a peer, and of a handshake.
    pub connect_timeout_ns: u64,
    /// The ports to listen on.
    pub ports: PortRange,
}

impl Default for TcpLimits {
    fn default() -> Self {
        Self {
            cells: 1024,
            payload: 4 << 20,
            unproven: 64,
            connect_timeout_ns: 15_000_000_000,
            ports: PortRange::ANY,
        }
    }
}

/// The progress of a link, as packet numbers, which wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The next packet to be committed here.
    pub committed: u32,
    /// The oldest packet that the peer has not acknowledged.
    pub acknowledged: u32,
    /// The next packet to arrive from the peer.
    pub expected: u32,
    /// The packet number last acknowledged to the peer.
    pub told: u32,
}

/// The TCP rail of one rank.
pub struct Tcp {
    number: u8,
    credentials: Credentials,
    /// Ranks of connected jobs.
    others: Arc<[OtherRanks]>,
    sizes: Sizes,
    connect_timeout_ns: u64,
    caps: Caps,
    /// The addresses of this host, once a peer was introduced.
    own: Option<OwnAddresses>,
    routes: Vec<Vec<Route>>,
    pairs: Vec<Pair>,
    links: Vec<Option<Box<Link>>>,
    incoming: Vec<LinkId>,
    connectors: BTreeMap<Rank, Connector>,
    acceptor: Acceptor,
    /// Watches the acceptor and connectors.
    handshake_poller: Poller,
    /// Its events.
    ready: Vec<ReadyDescriptor>,
    /// True if it may have events.
    handshakes_ready: bool,
    /// The time last reported by the owner.
    now_ns: Option<u64>,
    /// Watches the handshake poller and the links.
    poller: Poller,
    /// Limits the calls of the poller.
    poll_interval: PollInterval,
    /// True if this pass calls the poller.
    asks: bool,
    /// The links that need attention.
    lists: Worklists,
    /// Links that were not reported to the owner yet.
    opened: VecDeque<LinkId>,
    lost: VecDeque<Lost>,
    failures: VecDeque<ConnectFailure>,
    /// Bytes sent over links that have ended.
    sent_before: u64,
    /// System calls for links that have ended, and the number of polls.
    calls_before: u64,
    polls: u64,
    /// The number of the pass.
    pass: u32,
}

impl TcpLimits {
    /// Returns the limits for the rails of a job.
    pub fn of_jobs(ports: PortRange) -> TcpLimits {
        TcpLimits { connect_timeout_ns: CONNECT_TIMEOUT_NS, ports, ..TcpLimits::default() }
    }

    fn sizes(&self) -> Sizes {
        let cells = self.cells.clamp(16, 1 << 24).next_power_of_two();
        Sizes { cells, payload: self.payload.clamp(256, 1 << 30) }
    }
}

impl Tcp {
    /// Returns the capabilities of a rail with these limits.
    pub fn capabilities(limits: TcpLimits) -> Caps {
        let sizes = limits.sizes();
        Caps {
            name: "tcp",
            latency_ns: 5000,
            bytes_per_us: 2000,
            max_bulk: sizes.max_bulk(),
            overhead_ns: 1500,
            best_packet: sizes.best_packet(),
            link_traits: LinkTraits::SEVERAL | LinkTraits::RECOVERABLE,
            distance: Distance::Network,
            lends: true,
            reliable: true,
            maps_regions: false,
            memory_kinds: MemoryKinds::HOST,
            verbs: Verbs::empty(),
        }
    }

    /// Opens a rail of a rank that listens on `addresses`. Those that fail are left out
    /// ([`crate::Driver::take_refused`]).
    ///
    /// # Errors
    /// The system has no descriptor or memory left.
    pub fn listen(
        number: u8,
        member: Member,
        addresses: &[IpAddr],
        limits: TcpLimits,
    ) -> Result<Self, OpenError> {
        let Member { me, ranks, job, key } = member;
        let (sizes, caps) = (limits.sizes(), Self::capabilities(limits));
        let Sizes { cells, payload } = sizes;
        let (poller, handshake_poller) = (Poller::new()?, Poller::new()?);
        let acceptor = Acceptor::open(addresses, limits, &handshake_poller)?;
        poller.set(
            &handshake_poller,
            Token::Handshakes.to_word(),
            &mut Interest::default(),
            Some(Ready::IN),
        )?;
        Ok(Self {
            number,
            credentials: Credentials {
                me,
                rail: number,
                ranks,
                job,
                key,
                cells,
                payload: payload as u32,
                // The names stay empty: routers may change addresses, and a rank has several.
                sockets: SocketNames::default(),
            },
            others: Arc::default(),
            sizes,
            connect_timeout_ns: limits.connect_timeout_ns,
            caps,
            own: None,
            routes: vec![Vec::new(); ranks as usize],
            pairs: vec![Pair::default(); ranks as usize],
            links: (0..ranks).map(|_| None).collect(),
            incoming: Vec::new(),
            connectors: BTreeMap::new(),
            acceptor,
            handshake_poller,
            ready: Vec::new(),
            handshakes_ready: false,
            now_ns: None,
            poller,
            poll_interval: PollInterval::new(),
            asks: true,
            lists: Worklists::default(),
            opened: VecDeque::new(),
            lost: VecDeque::new(),
            failures: VecDeque::new(),
            sent_before: 0,
            calls_before: 0,
            polls: 0,
            pass: 0,
        })
    }

    /// Returns the rank of this rail.
    pub fn me(&self) -> Rank {
        self.credentials.me
    }

    /// Returns the sockets at which peers reach this rank, one for each address it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.acceptor.addresses()
    }

    /// Reads arrived data on every link, without delivering it.
    pub fn fetch(&mut self) {
        for at in 0..self.incoming.len() {
            self.read_link(self.incoming[at], Link::read_now);
        }
    }

    /// Reads from a link, and notes its new state.
    #[inline]
    fn read_link(&mut self, id: LinkId, read: impl FnOnce(&mut Link) -> Option<Why>) {
        let Some(link) = self.links[id.peer().0 as usize].as_deref_mut() else { return };
        if let Some(why) = read(link) {
            self.lost.push_back(why.of(id));
        }
        self.lists.note(id, link);
    }

    /// Polls the system for ready links, and sleeps up to `at_most` if none is. Returns true if there may be
    /// more.
    fn poll_links(&mut self, at_most: Option<Duration>) -> bool {
        self.polls += 1;
        let Self { poller, links, lists, number, handshakes_ready, poll_interval, .. } = self;
        poller.wait(at_most, |found| match Token::from_word(found.token) {
            Token::Link(peer) => {
                if let Some(link) = links[peer.0 as usize].as_deref_mut() {
                    poll_interval.renew();
                    link.handle_ready(found.ready);
                    lists.note(LinkId::new(*number, peer), link);
                }
            }
            _ => *handshakes_ready = true,
        })
    }

    /// Reads all arrived data, except where the owner must first decide on the place of a bulk.
    fn read_ready(&mut self) {
        for at in 0..self.lists.ready.len() {
            let id = self.lists.ready[at];
            self.read_link(id, |link| {
                let mut why = None;
                while link.is_readable()
                    && !link.incoming.has_packet()
                    && !link.incoming.asks()
                    && why.is_none()
                {
                    why = link.read_now();
                }
                why
            });
        }
    }

    /// Returns the number of system calls on sockets and pollers since opening, without those that make
    /// connections.
    pub fn system_calls(&self) -> u64 {
        let links = self.links.iter().flatten().map(|link| link.calls());
        self.calls_before + self.polls + links.sum::<u64>()
    }

    /// Returns the progress of a link.
    pub fn progress(&self, link: LinkId) -> Option<Progress> {
        let link = self.links.get(link.peer().0 as usize)?.as_ref()?;
        let (outgoing, incoming) = (&link.outgoing, &link.incoming);
        Some(Progress {
            committed: outgoing.next(),
            acknowledged: outgoing.next().wrapping_sub(outgoing.kept()),
            expected: incoming.expected(),
            told: incoming.told(),
        })
    }

    /// Returns true if all output has reached the hosts of the reachable peers. Then this rail can be closed;
    /// the peers still read the data.
    pub fn is_drained(&self) -> bool {
        self.links.iter().flatten().all(|link| link.is_drained())
    }
}
