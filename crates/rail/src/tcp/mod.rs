//! Ranks of several machines: connections of TCP.
//!
//! A rank listens on the addresses it was given (`door`); a pair of ranks has one connection, made when one of them first
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

mod connect;
mod dial;
mod door;
#[cfg(test)]
mod fuzz;
pub mod handshake;
mod incoming;
pub mod interfaces;
mod kernel;
mod landing;
mod link;
mod lost;
mod meeting;
mod outgoing;
mod pace;
mod rail;
mod seen;
mod sizes;
mod vectors;
mod watch;
mod wire;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};
use connect::Pair;
use dial::{Dial, Way};
use door::Door;
pub use door::OpenError;
use handshake::Credentials;
use link::Link;
pub use lost::{Failure, Unreachable};
pub use seen::Seen;
use sizes::Sizes;
use watch::{Flags, Interest, Watch};

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
    /// How long the attempts to reach a peer may take, and a handshake.
    pub patience_ns: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cells: 1024, payload: 4 << 20, unproven: 64, patience_ns: 15_000_000_000 }
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

/// What a rail does now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Links that are open.
    pub links: u32,
    /// Bytes sent since the rail was opened.
    pub sent: u64,
    /// The rate of the fastest link, the shortest round trip, and what is under way on all.
    pub speed: crate::Speed,
}

/// The TCP rail of one rank.
pub struct Tcp {
    number: u8,
    credentials: Credentials,
    sizes: Sizes,
    patience_ns: u64,
    caps: Caps,
    ways: Vec<Vec<Way>>,
    pairs: Vec<Pair>,
    links: Vec<Option<Box<Link>>>,
    incoming: Vec<LinkId>,
    dials: Vec<Dial>,
    door: Door,
    /// Watches the door and dials.
    door_watch: Watch,
    /// The last key in it, and the keys that were ready.
    keys: u64,
    ready: Vec<u64>,
    /// Watches that and the links.
    watch: Watch,
    lost: VecDeque<Lost>,
    unreachable: VecDeque<Unreachable>,
    /// Bytes sent over links that are no more.
    sent_before: u64,
    /// Counts passes.
    pass: u32,
}

impl Tcp {
    /// Opens a rail of a rank, which listens on `addresses`. Rails of one number are connected.
    ///
    /// # Errors
    /// An address cannot be listened on, or the system has no descriptor left.
    pub fn open(number: u8, member: Member, addresses: &[IpAddr], limits: Limits) -> Result<Self, OpenError> {
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
            best_packet: sizes.best_packet(),
            ordered: true,
            numbered: true,
            lends: true,
            reliable: true,
            one_sided: false,
        };
        let (watch, door_watch) = (Watch::new()?, Watch::new()?);
        let door = Door::open(addresses, limits.unproven, &door_watch)?;
        watch.set(door_watch.as_fd(), 0, &mut Interest::default(), Some(Flags::IN))?;
        Ok(Self {
            number,
            credentials: Credentials { me, rail: number, ranks, job, key, cells, payload: payload as u32 },
            sizes,
            patience_ns: limits.patience_ns,
            caps,
            ways: vec![Vec::new(); ranks as usize],
            pairs: vec![Pair::default(); ranks as usize],
            links: (0..ranks).map(|_| None).collect(),
            incoming: Vec::new(),
            dials: Vec::new(),
            door,
            door_watch,
            keys: addresses.len() as u64,
            ready: Vec::new(),
            watch,
            lost: VecDeque::new(),
            unreachable: VecDeque::new(),
            sent_before: 0,
            pass: 0,
        })
    }

    /// Whose rail it is.
    pub fn me(&self) -> Rank {
        self.credentials.me
    }

    /// Where peers reach this rank, one for each address it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        self.door.addresses()
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

    /// What the rail does now.
    pub fn now(&self) -> Now {
        let mut now = Now { sent: self.sent_before, ..Now::default() };
        for (id, link) in
            self.incoming.iter().filter_map(|id| Some((id, self.links[id.peer().0 as usize].as_ref()?)))
        {
            let speed = crate::Rail::speed(self, *id);
            let shortest = if now.links == 0 { u32::MAX } else { now.speed.round_trip_ns };
            now.links += 1;
            now.sent += link.sent();
            now.speed.bytes_per_us = now.speed.bytes_per_us.max(speed.bytes_per_us);
            now.speed.round_trip_ns = shortest.min(speed.round_trip_ns);
            now.speed.under_way += speed.under_way;
        }
        now
    }

    /// The links on which something was sent and nothing is heard of the peer's host, with for how long. A system call for each
    /// link with packets that are not acknowledged.
    pub fn silent(&self) -> impl Iterator<Item = (LinkId, Duration)> + '_ {
        let silence = |id: &LinkId| Some((*id, self.links[id.peer().0 as usize].as_ref()?.silence()?));
        self.incoming.iter().filter_map(silence)
    }

    /// Whether packets wait for their acknowledgement.
    pub fn is_waiting(&self) -> bool {
        self.links.iter().flatten().any(|link| link.outgoing.kept() > 0)
    }

    /// Whether all that was sent has reached the peers' hosts, as far as they can still be reached: then this rail can be
    /// closed, and what is under way is still read there.
    pub fn is_drained(&self) -> bool {
        self.links.iter().flatten().all(|link| link.is_drained())
    }

    /// Becomes readable when there is something to do: one descriptor for all sockets, to be waited for beside other things.
    /// Only after [`crate::Rail::arm`], and for no longer than [`Tcp::patience`] says.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.watch.as_fd()
    }
}
