//! The rail: links by peer, one poller for all sockets, and the traits that move packets.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::time::Duration;

use canele_rail::{
    Armed, Busy, Caps, Class, Corrupt, Distance, FastPath, Header, LinkTraits, Lost, Member, Network,
    OneSided, OpenError, OtherRanks, Packet, PeerCopy, Rail, Recoverable, Rma, Slot, Unreachable, Verbs,
};
use canele_sys::device::MemoryKinds;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::poller::{Interest, Poller, Ready};

use super::connections::{Accepted, Attempt};
use super::link::{End, Limits, Link};

/// The token of the link to rank 0; the other links follow it. All other tokens belong to connections that
/// are being made.
pub const LINKS: u64 = 1 << 32;
/// The token of all other descriptors.
pub const CONNECTIONS: u64 = 0;

/// A rail over packets of Unix-domain sockets.
pub struct Unix {
    pub number: u8,
    pub member: Member,
    pub others: Vec<OtherRanks>,
    pub limits: Limits,
    pub caps: Caps,
    pub poller: Poller,
    /// The listening socket of this rank and its name.
    pub listener: Option<(OwnedFd, Vec<u8>)>,
    pub listener_interest: Interest,
    /// Accepting pauses until then, because the system has no descriptor left.
    pub pause_until_ns: Option<u64>,
    pub refused: Option<OpenError>,
    pub introduced: BTreeMap<Rank, Vec<u8>>,
    /// The largest generation of a link, or number of an attempt, that this rank knows of each peer.
    pub generations: BTreeMap<Rank, u32>,
    pub attempts: BTreeMap<Rank, Attempt>,
    pub accepted: Vec<Accepted>,
    pub opened: VecDeque<LinkId>,
    pub unreachable: VecDeque<Unreachable>,
    pub links: BTreeMap<Rank, Link>,
    pub incoming: Vec<LinkId>,
    pub buffer: Vec<u8>,
    pub has_events: bool,
    pub now_ns: u64,
    /// Bytes sent over links that are gone.
    pub sent_before: u64,
}

impl Unix {
    /// Opens a rail without an address.
    pub fn new(number: u8, member: Member, limits: Limits) -> Result<Self, OpenError> {
        let caps = Caps {
            name: "unix",
            latency_ns: 5_000,
            bytes_per_us: 2_000,
            max_bulk: limits.max_bulk(),
            overhead_ns: 1_000,
            best_packet: limits.max_bulk(),
            // A socket is lost with its process alone.
            link_traits: LinkTraits::empty(),
            distance: Distance::Network,
            lends: false,
            reliable: true,
            maps_regions: false,
            memory_kinds: MemoryKinds::HOST,
            verbs: Verbs::empty(),
        };
        Ok(Self {
            number,
            member,
            others: Vec::new(),
            limits,
            caps,
            poller: Poller::new()?,
            listener: None,
            listener_interest: Interest::default(),
            pause_until_ns: None,
            refused: None,
            introduced: BTreeMap::new(),
            generations: BTreeMap::new(),
            attempts: BTreeMap::new(),
            accepted: Vec::new(),
            opened: VecDeque::new(),
            unreachable: VecDeque::new(),
            links: BTreeMap::new(),
            incoming: Vec::new(),
            buffer: vec![0; limits.max_frame()],
            has_events: false,
            now_ns: 0,
            sent_before: 0,
        })
    }

    pub fn id(&self, peer: Rank) -> LinkId {
        LinkId::new(self.number, peer)
    }

    pub fn open_link(&self, link: LinkId) -> Option<&Link> {
        self.links.get(&link.peer()).filter(|_| link.rail() == self.number)
    }

    fn open_link_mut(&mut self, link: LinkId) -> Option<&mut Link> {
        self.links.get_mut(&link.peer()).filter(|_| link.rail() == self.number)
    }

    pub fn list_links(&mut self) {
        self.incoming = self.links.keys().map(|peer| LinkId::new(self.number, *peer)).collect();
    }

    /// Receives packets on all links, and sends frames that the system did not take before. Returns true if
    /// any packet came.
    pub fn fetch(&mut self) -> bool {
        let (links, buffer, mut has_events) = (&mut self.links, &mut self.buffer, self.has_events);
        let mut any = false;
        // The next call reports the rest, because a descriptor is reported as long as it is ready.
        self.poller.wait(Some(Duration::ZERO), |found| match found.token.checked_sub(LINKS) {
            Some(peer) => {
                let link = links.get_mut(&Rank(peer as u32));
                any |= link.is_some_and(|link| link.read(buffer));
            }
            None => has_events = true,
        });
        self.has_events = has_events;
        any
    }

    /// Sends waiting frames and watches each link for the events that it needs. Returns true if any frame has
    /// left.
    fn settle_links(&mut self, all_credit: bool) -> bool {
        let mut any = false;
        for (peer, link) in &mut self.links {
            let sent = link.sent;
            link.send_waiting();
            any |= link.sent > sent;
            any |= link.send_credit(all_credit);
            let ready = if link.has_waiting() { Ready::IN | Ready::OUT } else { Ready::IN };
            // The poller would report the end of a link in every call.
            let wanted = link.end.is_none().then_some(ready);
            let token = LINKS + u64::from(peer.0);
            // A socket that the poller has no memory for is still read in each pass that polls its link.
            let _ = self.poller.set(&link.socket, token, &mut link.interest, wanted);
        }
        any
    }
}

impl Rail for Unix {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.contains_key(&peer).then(|| self.id(peer))
    }

    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        if link.rail() != self.number {
            return;
        }
        let peer = link.peer();
        self.end_attempt(peer);
        self.opened.retain(|opened| *opened != link);
        self.unreachable.retain(|failed| failed.link != link);
        if let Some(gone) = self.links.remove(&peer) {
            self.sent_before += gone.sent;
            self.list_links();
        }
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        self.open_link_mut(link).ok_or(Busy)?.claim(bulk, class)
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        self.open_link_mut(link).expect("an open link").commit(header);
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        if link.rail() != self.number {
            return Ok(None);
        }
        let Some(open) = self.links.get_mut(&link.peer()) else { return Ok(None) };
        if !open.has_arrived() {
            open.read(&mut self.buffer);
        }
        open.poll()
    }

    fn release(&mut self, link: LinkId) {
        self.open_link_mut(link).expect("an open link").release();
    }

    fn begin_pass(&mut self) {
        self.fetch();
        self.settle_links(false);
    }

    fn flush(&mut self) -> bool {
        self.settle_links(false)
    }

    fn arm(&mut self) -> Armed {
        self.fetch();
        self.settle_links(true);
        let has_work = |link: &mut Link| {
            let is_lost = matches!(link.end, Some(End::Lost { .. })) && !link.is_reported;
            link.take_room() | link.has_arrived() | is_lost
        };
        let works = self.links.values_mut().fold(false, |any, link| has_work(link) | any);
        if works || self.has_events || !self.unreachable.is_empty() { Armed::Work } else { Armed::Ready }
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        let at_most = at_most.into_iter().chain(self.next_timeout()).min();
        self.poller.wait(at_most, |_| {});
    }
}

impl Recoverable for Unix {
    fn generation(&self, link: LinkId) -> u32 {
        self.open_link(link).map_or(0, |link| link.generation)
    }

    fn take_lost(&mut self) -> Option<Lost> {
        self.links.iter_mut().find_map(|(peer, link)| {
            let Some(End::Lost { why, finished }) = link.end.clone() else { return None };
            let is_news = !std::mem::replace(&mut link.is_reported, true);
            is_news.then(|| Lost { link: LinkId::new(self.number, *peer), why, finished })
        })
    }
}

impl FastPath for Unix {}
impl OneSided for Unix {}
impl PeerCopy for Unix {}
impl Rma for Unix {}
