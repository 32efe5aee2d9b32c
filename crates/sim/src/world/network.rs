//! A simulated network with the control path of a driver between hosts. Ranks do not know each other's
//! addresses at first. An attempt to connect takes a round trip, and fails if the peer has ended.
//!
//! An address is the rank's number in four bytes. Time is that of the world; it moves only when the world is
//! advanced, never in this module.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use canele_mem::buffer::RegionAddress;
use canele_mem::window::Window;
use canele_rail::{
    Class, Corrupt, FastPath, Header, LinkReport, Network, OneSided, OtherRanks, Packet, PeerCopy, Rail,
    Recoverable, Rma, Slot, Totals, Unreachable,
};
use canele_sys::ids::{LinkId, Rank};

use super::SimRail;
use crate::delegate::delegate;

/// The bytes of a packet's header.
const HEADER_BYTES: u64 = size_of::<Header>() as u64;

/// One network of a world, as its rank sees it.
pub struct SimNetwork {
    rail: SimRail,
    number: u8,
    ranks: u32,
    addresses: BTreeMap<Rank, Rank>,
    /// The time at which each attempt is answered.
    attempts: BTreeMap<Rank, u64>,
    /// The links that were reported to the owner, or will be.
    known: BTreeSet<LinkId>,
    opened: VecDeque<LinkId>,
    unreachable: VecDeque<Unreachable>,
    /// The bytes sent and received on each link.
    carried: BTreeMap<LinkId, (u64, u64)>,
    /// The bytes sent on links that were closed.
    sent_before: u64,
    /// The numbers of bulk bytes of the packet claimed last and of the packet polled last.
    bulks: (usize, usize),
}

impl SimNetwork {
    /// Makes network `number` of the world for a rank that is one of `ranks`. Its rail must be used for
    /// nothing else.
    pub fn new(rail: SimRail, number: u8, ranks: u32) -> Self {
        Self {
            rail,
            number,
            ranks,
            addresses: BTreeMap::new(),
            attempts: BTreeMap::new(),
            known: BTreeSet::new(),
            opened: VecDeque::new(),
            unreachable: VecDeque::new(),
            carried: BTreeMap::new(),
            sent_before: 0,
            bulks: (0, 0),
        }
    }

    fn id(&self, peer: Rank) -> LinkId {
        LinkId::new(self.number, peer)
    }

    /// Opens this end of the links that peers have opened, and queues each once for the owner.
    fn accept(&mut self) -> bool {
        self.rail.accept();
        let new: Vec<_> =
            self.rail.incoming().iter().copied().filter(|link| !self.known.contains(link)).collect();
        for link in &new {
            self.rail.open_link(self.number, link.peer());
            self.attempts.remove(&link.peer());
            self.add(*link);
        }
        !new.is_empty()
    }

    fn add(&mut self, link: LinkId) {
        self.known.insert(link);
        self.carried.insert(link, (0, 0));
        self.opened.push_back(link);
    }

    fn forget(&mut self, link: LinkId) {
        self.known.remove(&link);
        self.opened.retain(|opened| *opened != link);
        self.attempts.remove(&link.peer());
        self.sent_before += self.carried.remove(&link).map_or(0, |(sent, _)| sent);
    }
}

impl Rail for SimNetwork {
    delegate!(rail: caps speed incoming begin_pass flush sleep);

    fn link(&self, peer: Rank) -> Option<LinkId> {
        Some(self.id(peer)).filter(|link| self.known.contains(link))
    }

    fn disconnect(&mut self, link: LinkId) {
        self.close_link(link);
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, canele_rail::Busy> {
        self.bulks.0 = bulk;
        self.rail.claim(link, bulk, class)
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        let bytes = HEADER_BYTES + u64::from(header.inline_len) + self.bulks.0 as u64;
        self.carried.entry(link).or_default().0 += bytes;
        self.rail.commit(link, header);
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let packet = self.rail.poll(link)?;
        self.bulks.1 = packet.as_ref().map_or(0, |packet| packet.bulk.len());
        Ok(packet)
    }

    fn release(&mut self, link: LinkId) {
        self.carried.entry(link).or_default().1 += HEADER_BYTES + self.bulks.1 as u64;
        self.rail.release(link);
    }

    fn arm(&mut self) -> canele_rail::Armed {
        let came = self.accept() || !self.unreachable.is_empty();
        if came { canele_rail::Armed::Work } else { self.rail.arm() }
    }
}

impl FastPath for SimNetwork {}

impl OneSided for SimNetwork {
    fn own(&mut self, place: RegionAddress, len: usize) -> Option<Window<'_>> {
        self.rail.own(place, len)
    }
}

impl Rma for SimNetwork {
    delegate!(rail: has_verbs register deregister post_verb take_completion);
}

impl PeerCopy for SimNetwork {}

impl Recoverable for SimNetwork {
    delegate!(rail: generation take_lost);

    fn close_link(&mut self, link: LinkId) -> Option<canele_rail::Unacked> {
        self.forget(link);
        self.rail.close_link(link)
    }
}

impl Network for SimNetwork {
    const DRIVER: &'static str = "sim";

    fn own_address(&self) -> Vec<u8> {
        self.rail.me().0.to_le_bytes().to_vec()
    }

    fn introduce(&mut self, peer: Rank, address: &[u8]) -> bool {
        self.addresses.remove(&peer);
        let Some(there) = address.try_into().ok().map(|bytes| Rank(u32::from_le_bytes(bytes))) else {
            return false;
        };
        let leads = peer.0 < self.ranks && peer != self.rail.me() && there != self.rail.me();
        if leads {
            self.addresses.insert(peer, there);
        }
        leads
    }

    fn is_introduced(&self, peer: Rank) -> bool {
        self.addresses.contains_key(&peer)
    }

    fn connect(&mut self, peer: Rank) {
        if self.addresses.contains_key(&peer) && self.link(peer).is_none() {
            let round_trip_ns = 2 * u64::from(self.rail.caps(self.id(peer)).latency_ns);
            self.attempts.entry(peer).or_insert(self.rail.now_ns() + round_trip_ns);
        }
    }

    fn progress_connections(&mut self, _now_ns: u64) -> bool {
        let mut any = self.accept();
        let now_ns = self.rail.now_ns();
        for (peer, _) in self.attempts.extract_if(.., |_, due_ns| *due_ns <= now_ns).collect::<Vec<_>>() {
            let link = self.id(peer);
            match self.addresses.get(&peer) {
                Some(there) if *there == peer && self.rail.is_living(peer) => {
                    self.rail.open_link(self.number, peer);
                    self.add(link);
                    any = true;
                }
                _ => {
                    let why = format!("no process answers for {peer}");
                    self.unreachable.push_back(Unreachable { link, why });
                }
            }
        }
        any
    }

    fn has_connection_events(&self) -> bool {
        self.attempts.values().any(|due_ns| *due_ns <= self.rail.now_ns())
    }

    fn set_time(&mut self, _now_ns: u64) {}

    fn next_timeout(&self) -> Option<Duration> {
        let due_ns = self.attempts.values().min()?;
        Some(Duration::from_nanos(due_ns.saturating_sub(self.rail.now_ns())))
    }

    fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    fn take_opened(&mut self) -> Option<LinkId> {
        self.opened.pop_front()
    }

    fn take_unreachable(&mut self) -> Option<Unreachable> {
        self.unreachable.pop_front()
    }

    fn has_unacknowledged(&self) -> bool {
        self.known.iter().any(|link| self.rail.has_unacknowledged(*link))
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn add_ranks(&mut self, ranks: u32) {
        self.ranks = self.ranks.max(ranks);
    }

    fn add_others(&mut self, others: OtherRanks) {
        self.add_ranks(others.here.0 + others.ranks);
    }

    fn finish(&mut self) {
        self.rail.finish();
    }

    fn totals(&self) -> Totals {
        let sent = self.carried.values().map(|(sent, _)| sent).sum::<u64>();
        let speeds = self.known.iter().map(|link| self.rail.speed(*link));
        Totals {
            links: self.known.len() as u32,
            sent: self.sent_before + sent,
            speed: speeds.max_by_key(|speed| speed.bytes_per_us).unwrap_or_default(),
        }
    }

    fn report_link(&self, peer: Rank) -> Option<LinkReport> {
        let link = self.link(peer)?;
        let (sent, received) = self.carried[&link];
        let under_way = self.rail.speed(link).under_way as u64;
        let [here, there] = [self.rail.me(), peer].map(|rank| rank.to_string());
        Some(LinkReport { here, there, sent, received, under_way, measured: None })
    }
}
