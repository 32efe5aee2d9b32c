//! Ranks of several machines: connections of TCP.
//!
//! A rank listens on the addresses it was given (`acceptor`); a pair of ranks has one connection, made when one of them first
//! wants it (`connector`), after both have proven that they belong to the job ([`handshake`]). Frames (`wire`) go both routes
//! over it (`link`). This driver starts no thread and never waits except in [`crate::Rail::sleep`]; how ranks learn of each
//! other's addresses is the owner's business.
//!
//! ```text
//!   claim, commit, lend ─▶ Outgoing: kept until acknowledged ─▶ socket ═══ socket ─▶ Incoming ─▶ poll, land, release
//!                    ◀──────── acknowledgements, in every frame that goes the other way ────────
//! ```
//! *Busy.* A packet leaves in its commit. Its link is busy for the rest of the pass, and as long as the system has not taken all
//! of it; what is to be sent meanwhile waits in the layer above, which puts it together.
//!
//! *Two connections at once.* The rank that answers decides. A rank that connects to a higher one leaves the connection of that
//! rank unanswered until its own has come about or failed; a higher rank accepts that of a lower one and drops its own. So the
//! lower rank's is used, and no packet was on the other. Of ranks of two jobs, those of the job with the lower number are the lower ones.
//!
//! *Acknowledgements* count what the peer's library has released. They give room back, and say what need not be kept.

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

/// How long an attempt to connect may take.
const CONNECT_TIMEOUT_NS: u64 = 10_000_000_000;

/// How much the rail holds, and for how long. The first two are the same in all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpLimits {
    /// Packets a link holds in each direction; rounded up to a power of two, at least 16.
    pub cells: u32,
    /// Bytes of bulk a link holds in each direction, at least 256.
    pub payload: usize,
    /// Accepted connections whose other end has not proven itself.
    pub unproven: usize,
    /// How long the attempts to reach a peer may take, and a handshake.
    pub connect_timeout_ns: u64,
}

impl Default for TcpLimits {
    fn default() -> Self {
        Self { cells: 1024, payload: 4 << 20, unproven: 64, connect_timeout_ns: 15_000_000_000 }
    }
}

/// How far a link has come. All are numbers of packets, which wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The next packet to be committed here.
    pub committed: u32,
    /// The oldest packet that the peer has not acknowledged.
    pub acknowledged: u32,
    /// The next packet to come from the peer.
    pub expected: u32,
    /// The next packet the peer was told to be wanted.
    pub told: u32,
}

/// The TCP rail of one rank.
pub struct Tcp {
    number: u8,
    credentials: Credentials,
    /// Ranks of other jobs.
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
    /// What of it was ready.
    ready: Vec<ReadyDescriptor>,
    /// Something of it may be ready.
    handshakes_ready: bool,
    /// The time when it was told last.
    now_ns: Option<u64>,
    /// Watches that and the links.
    poller: Poller,
    /// How often it is asked.
    poll_interval: PollInterval,
    /// This pass asks the system what came.
    asks: bool,
    /// The links that need attention.
    lists: Worklists,
    /// Links of which the owner was not told.
    opened: VecDeque<LinkId>,
    lost: VecDeque<Lost>,
    failures: VecDeque<ConnectFailure>,
    /// Bytes sent over links that are no more.
    sent_before: u64,
    /// System calls for links that are no more, and how often pollers were asked.
    calls_before: u64,
    polls: u64,
    /// Counts passes.
    pass: u32,
}

impl TcpLimits {
    /// Those of a job's rails.
    pub fn of_jobs() -> TcpLimits {
        TcpLimits { connect_timeout_ns: CONNECT_TIMEOUT_NS, ..TcpLimits::default() }
    }

    fn sizes(&self) -> Sizes {
        let cells = self.cells.clamp(16, 1 << 24).next_power_of_two();
        Sizes { cells, payload: self.payload.clamp(256, 1 << 30) }
    }
}

impl Tcp {
    /// What a rail with these limits can do.
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

    /// Opens a rail of a rank, which listens on those of `addresses` that it can ([`crate::Driver::take_refused`]).
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
        let acceptor = Acceptor::open(addresses, limits.unproven, &handshake_poller)?;
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
                // Routers may change addresses, and a rank has several.
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

    /// Whose rail it is.
    pub fn me(&self) -> Rank {
        self.credentials.me
    }

    /// Where peers reach this rank, one for each address it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.acceptor.addresses()
    }

    /// Reads what has come on every link, without handing it out.
    pub fn fetch(&mut self) {
        for at in 0..self.incoming.len() {
            self.read_link(self.incoming[at], Link::read_now);
        }
    }

    /// Reads from a link, and notes what became of it.
    #[inline]
    fn read_link(&mut self, id: LinkId, read: impl FnOnce(&mut Link) -> Option<Why>) {
        let Some(link) = self.links[id.peer().0 as usize].as_deref_mut() else { return };
        if let Some(why) = read(link) {
            self.lost.push_back(why.of(id));
        }
        self.lists.note(id, link);
    }

    /// Asks the system which links are ready, after a sleep of at most so long if none is; says whether there may be more.
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

    /// Reads all that has come, except where the owner is to say first where a bulk goes.
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

    /// System calls on sockets and pollers since the rail was opened, but for those that make connections.
    pub fn system_calls(&self) -> u64 {
        let links = self.links.iter().flatten().map(|link| link.calls());
        self.calls_before + self.polls + links.sum::<u64>()
    }

    /// How far a link has come.
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

    /// Whether all that was sent has reached the peers' hosts, as far as they can still be reached: then this rail can be
    /// closed, and what is under way is still read there.
    pub fn is_drained(&self) -> bool {
        self.links.iter().flatten().all(|link| link.is_drained())
    }
}
