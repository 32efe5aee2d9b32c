//! Ranks of several machines: connections of TCP.
//!
//! A rank listens on the addresses it was given (`listen`); a pair of ranks has one connection, made when one of them first
//! wants it (`dial`), after both have proven that they belong to the job ([`handshake`]). Frames (`wire`) go both ways
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
//! *Two connections at once.* Whoever answers decides. A rank that connects to a higher one leaves the connection of that
//! rank unanswered until its own has come about or failed; a higher rank accepts that of a lower one and drops its own. So the
//! lower rank's is used, and no packet was on the other.
//!
//! *Acknowledgements* count what the peer's library has released. They give room back, and say what need not be kept.

mod dial;
pub mod handshake;
mod incoming;
mod landing;
mod link;
mod listen;
mod lost;
mod meeting;
mod outgoing;
mod pace;
mod rail;
mod sizes;
mod vectors;
mod wire;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;

use canele_sys::ids::{LinkId, Rank};
use rustix::event::PollFlags;

use dial::Dial;
use handshake::Credentials;
use link::Link;
pub use listen::ListenError;
use listen::Listeners;
pub use lost::{Failure, Unreachable};
use meeting::Meeting;
pub use pace::Speed;
use sizes::Sizes;

use crate::{Caps, Lost};

/// The job a rank belongs to, and its place in it.
#[derive(Clone, Copy)]
pub struct Member {
    /// This rank.
    pub me: Rank,
    /// Ranks of the job.
    pub ranks: u32,
    /// The job.
    pub job: u64,
    /// Known to the ranks of the job and to nobody else.
    pub key: [u8; 32],
}

/// How much the rail holds, and for how long. The first two are the same in all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Packets a link holds in each direction; rounded up to a power of two, at least 16.
    pub cells: u32,
    /// Bytes of bulk a link holds in each direction, at least 256.
    pub payload: usize,
    /// Connections in hand whose other end has not proven itself.
    pub unproven: usize,
    /// How long a handshake may take.
    pub patience_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cells: 1024, payload: 1 << 20, unproven: 64, patience_ns: 10_000_000_000 }
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
    sizes: Sizes,
    patience_ns: u64,
    caps: Caps,
    addresses: Vec<Vec<SocketAddr>>,
    links: Vec<Option<Box<Link>>>,
    incoming: Vec<LinkId>,
    dials: Vec<Dial>,
    listeners: Listeners,
    lost: VecDeque<Lost>,
    unreachable: VecDeque<Unreachable>,
    /// Counts passes.
    pass: u32,
}

impl Tcp {
    /// Opens a rail of a rank, which listens on `addresses`. Rails of one number are connected.
    ///
    /// # Errors
    /// An address cannot be listened on.
    pub fn open(
        number: u8,
        member: Member,
        addresses: &[IpAddr],
        limits: Limits,
    ) -> Result<Self, ListenError> {
        let Member { me, ranks, job, key } = member;
        let cells = limits.cells.clamp(16, 1 << 24).next_power_of_two();
        let payload = limits.payload.clamp(256, 1 << 30);
        let sizes = Sizes { cells, payload };
        let caps = Caps {
            name: "tcp",
            latency_ns: 5000,
            bytes_per_us: 2000,
            max_bulk: sizes.max_bulk(),
            overhead_ns: 1500,
            best_packet: (64 << 10).min(sizes.max_bulk()),
            ordered: true,
            numbered: true,
            lends: true,
            reliable: true,
            one_sided: false,
        };
        Ok(Self {
            number,
            credentials: Credentials { me, ranks, job, key, cells, payload: payload as u32 },
            sizes,
            patience_ns: limits.patience_ns,
            caps,
            addresses: vec![Vec::new(); ranks as usize],
            links: (0..ranks).map(|_| None).collect(),
            incoming: Vec::new(),
            dials: Vec::new(),
            listeners: Listeners::open(addresses, limits.unproven)?,
            lost: VecDeque::new(),
            unreachable: VecDeque::new(),
            pass: 0,
        })
    }

    /// Whose rail it is.
    pub fn me(&self) -> Rank {
        self.credentials.me
    }

    /// Where peers reach this rank, one for each address it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.listeners.addresses()
    }

    /// Says where a peer is reached; the addresses are tried in order.
    pub fn introduce(&mut self, peer: Rank, addresses: Vec<SocketAddr>) {
        self.addresses[peer.0 as usize] = addresses;
    }

    /// Begins to connect to a peer that was introduced. [`Tcp::meet`] goes on with it until [`crate::Rail::link`] knows the
    /// link or [`Tcp::take_unreachable`] says why there is none.
    pub fn open_link(&mut self, peer: Rank) {
        let place = peer.0 as usize;
        if self.links[place].is_none() && self.dials.iter().all(|dial| dial.peer != peer) {
            self.dials.push(Dial::new(peer, self.addresses[place].clone()));
            self.go_on_dialling(None);
        }
    }

    /// Answers who connects to this rank and goes on with connections that are being made; says whether there is a new
    /// link. A few system calls: for passes that found nothing, and now and then for others. `now_ns` is any clock
    /// that goes on.
    pub fn meet(&mut self, now_ns: u64) -> bool {
        self.go_on_meeting(Some(now_ns))
    }

    fn go_on_meeting(&mut self, now_ns: Option<u64>) -> bool {
        let links = self.incoming.len();
        let (me, have, dials) = (self.credentials.me, &self.links, &self.dials);
        let wanted = |peer: Rank| {
            let dialling = dials.iter().any(|dial| dial.peer == peer);
            have[peer.0 as usize].is_none() && !(dialling && me < peer)
        };
        let accepted = self.listeners.step(&self.credentials, now_ns, self.patience_ns, wanted);
        for (peer, meeting) in accepted {
            self.dials.retain(|dial| dial.peer != peer);
            self.add_link(peer, meeting);
        }
        self.go_on_dialling(now_ns);
        self.incoming.len() != links
    }

    fn go_on_dialling(&mut self, now_ns: Option<u64>) {
        for mut dial in std::mem::take(&mut self.dials) {
            match dial.step(&self.credentials, now_ns, self.patience_ns) {
                None => self.dials.push(dial),
                Some(Ok(meeting)) => self.add_link(dial.peer, meeting),
                Some(Err(tried)) => self.unreachable.push_back(Unreachable { peer: dial.peer, tried }),
            }
        }
    }

    fn add_link(&mut self, peer: Rank, meeting: Meeting) {
        let link = Link::new(meeting.into_socket(), peer, 0, self.sizes);
        self.links[peer.0 as usize] = Some(Box::new(link));
        self.incoming.push(LinkId::new(self.number, peer));
    }

    fn remove_link(&mut self, link: LinkId) -> Option<Box<Link>> {
        self.incoming.retain(|other| *other != link);
        self.lost.retain(|lost| lost.link != link);
        self.links[link.peer().0 as usize].take()
    }

    /// A peer to whom no connection could be made.
    pub fn take_unreachable(&mut self) -> Option<Unreachable> {
        self.unreachable.pop_front()
    }

    /// Reads what has come on every link, without handing it out.
    pub fn fetch(&mut self) {
        self.read_where(|_| true);
    }

    /// The same, except where the owner is to say first where a bulk goes.
    fn look(&mut self) {
        self.read_where(|link| !link.incoming.asks());
    }

    fn read_where(&mut self, may: impl Fn(&Link) -> bool) {
        for id in &self.incoming {
            let link = self.links[id.peer().0 as usize].as_mut().filter(|link| may(link));
            if let Some(why) = link.and_then(|link| link.read_now()) {
                self.lost.push_back(Lost { link: *id, why: why.to_string() });
            }
        }
    }

    /// What a link is measured to do.
    pub fn speed(&self, link: LinkId) -> Option<Speed> {
        let outgoing = &self.links.get(link.peer().0 as usize)?.as_ref()?.outgoing;
        Some(outgoing.pace.speed(outgoing.under_way()))
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

    /// Connections in hand whose other end has not proven itself, and how many such were dropped so far.
    pub fn unproven(&self) -> (usize, u64) {
        (self.listeners.unproven(), self.listeners.dropped)
    }

    /// What a sleeper waits for, beside other things it waits for. Only after [`crate::Rail::arm`]. While a handshake is
    /// under way it also looks again after the patience with it.
    pub fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let links = self.incoming.iter().filter_map(|id| self.links[id.peer().0 as usize].as_deref());
        let dials = self.dials.iter().filter_map(Dial::descriptor);
        links.filter_map(Link::descriptor).chain(dials).chain(self.listeners.descriptors())
    }
}
