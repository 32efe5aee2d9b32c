//! Ranks of one machine: rings in shared memory.
//!
//! Each rank owns an inbox (`layout`); a pair's slice of it is reserved when the first packet is sent, so idle pairs cost no
//! memory. Descriptors of inboxes and regions come and go through the owner of this driver: it opens no socket itself.
//!
//! ```text
//!   rank 0                                         rank 1
//!   Outgoing ──cells, payload──▶ [slice of 0 in the inbox of 1] ──▶ Incoming
//!   Incoming ◀── [slice of 1 in the inbox of 0] ◀──cells, payload── Outgoing
//! ```
//! *Sleeping.* The sleeper stores its sleep word, issues a heavy barrier and looks once more; a sender looks at the
//! word after its store. One of the two must see the other's store (`canele_sys::membarrier`). A rank that has rails of
//! descriptors beside this one sleeps on those and on an event ([`Shm::sleep_on_descriptors`]), which goes to its peers
//! and its launcher with its inbox.

mod doorbell;
mod inbox;
mod incoming;
pub mod layout;
mod link;
mod outgoing;
mod pace;
mod region;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::membarrier::{self, Fencing};
use canele_sys::segment::{Segment, SegmentError};
use canele_sys::sleep::{self, By, EventError, Ready, Watch};

pub use doorbell::Doorbell;
use inbox::Inbox;
use incoming::Incoming;
use layout::Layout;
use outgoing::Outgoing;
pub use region::{Elsewhere, Far, Region, Regions};

use crate::{
    Accept, Armed, Busy, Caps, Class, ConnectError, Corrupt, Glance, Header, Packet, Rail, Reach, Slot,
    Tally, Window,
};

/// The shared-memory rail of one rank.
pub struct Shm {
    me: Rank,
    caps: Caps,
    inbox: Inbox,
    /// What this rank sleeps on if not on its word.
    watch: Option<Arc<Watch>>,
    fencing: Fencing,
    links: Vec<Link>,
    incoming: Vec<LinkId>,
    /// Payload rings begin again at their start when they are empty.
    rewinds: bool,
    arrivals_seen: u32,
    news_seen: u32,
    /// Regions, ours and our peers'.
    pub regions: Regions,
}

#[derive(Default)]
struct Link {
    peer_inbox: Option<Inbox>,
    outgoing: Option<Outgoing>,
    incoming: Option<Incoming>,
}

impl Shm {
    /// Opens the rail of rank `me` in a job of `ranks` ranks on this machine.
    ///
    /// `cells` and `payload` are the wished ring sizes; an inbox stays below `budget` bytes where it can.
    pub fn open(
        me: Rank,
        ranks: usize,
        cells: usize,
        payload: usize,
        budget: usize,
    ) -> Result<Self, SegmentError> {
        let fencing = membarrier::register();
        let layout = Layout::new(ranks, cells, payload, budget);
        let caps = Caps {
            name: "shm",
            latency_ns: 100,
            bytes_per_us: 20_000,
            max_bulk: layout.payload / 4,
            overhead_ns: 30,
            best_packet: 4 << 10,
            ordered: true,
            numbered: false,
            lends: false,
            reliable: true,
            one_sided: true,
        };
        Ok(Self {
            me,
            caps,
            inbox: Inbox::create(me, layout, fencing)?,
            watch: None,
            fencing,
            links: (0..ranks).map(|_| Link::default()).collect(),
            incoming: Vec::new(),
            rewinds: false,
            arrivals_seen: 0,
            news_seen: 0,
            regions: Regions::default(),
        })
    }

    /// This rank's inbox, for the launcher to hand to peers.
    pub fn inbox_fd(&self) -> BorrowedFd<'_> {
        self.inbox.segment().fd()
    }

    /// For ranks that share processors, before anybody gets the inbox. Links use as few lines of their payload rings as they
    /// can, because the caches are shared too. And who sends pays for its fence: sleeps are as frequent as messages, and a
    /// barrier for all would interrupt every processor at each.
    pub fn share_processors(&mut self) {
        self.rewinds = true;
        self.fencing = Fencing::Fences;
        self.inbox.say_fencing(self.fencing);
    }

    /// From now on sleeps on descriptors ([`Alarm::watch_once`]). Before anybody gets the inbox: who has it must have the event too.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn sleep_on_descriptors(&mut self) -> Result<(), EventError> {
        self.watch = Some(Arc::new(Watch::open()?));
        Ok(())
    }

    /// What the launcher hands to peers beside the inbox, if this rank sleeps on descriptors.
    pub fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(|watch| watch.event().fd())
    }

    /// The memory of this rank's counters.
    pub fn counters(&self) -> Arc<CounterPage> {
        Arc::new(CounterPage(self.inbox.clone()))
    }

    /// Maps a peer's inbox, so that it can be woken and sent to; `event` came with it if the peer sleeps on descriptors.
    pub fn introduce(
        &mut self,
        peer: Rank,
        inbox: OwnedFd,
        event: Option<OwnedFd>,
    ) -> Result<(), ConnectError> {
        let incompatible = |what: String| ConnectError::Incompatible { peer, what };
        let segment = Segment::map(inbox).map_err(|e| incompatible(e.to_string()))?;
        let inbox = Inbox::open(segment, Some(&self.inbox.layout)).map_err(incompatible)?;
        let inbox = inbox.with_event(event).map_err(incompatible)?;
        self.links[peer.0 as usize].peer_inbox.get_or_insert(inbox);
        // It may have arrived before this: `accept` looks once more.
        self.arrivals_seen = self.inbox.arrivals().wrapping_sub(1);
        Ok(())
    }

    /// Whether the peer's inbox is mapped.
    pub fn is_introduced(&self, peer: Rank) -> bool {
        self.links[peer.0 as usize].peer_inbox.is_some()
    }

    /// Opens the way to a peer that was introduced: reserves this rank's slice of its inbox.
    pub fn open_link(&mut self, peer: Rank) -> Result<LinkId, ConnectError> {
        let link = &mut self.links[peer.0 as usize];
        if link.outgoing.is_none() {
            let inbox = link.peer_inbox.as_ref().expect("open_link comes after introduce");
            let opened = Outgoing::open(inbox, self.me, self.fencing, self.rewinds);
            link.outgoing = Some(opened.map_err(|source| ConnectError::Memory { peer, source })?);
        }
        Ok(LinkId::in_memory(peer))
    }

    /// Notices who has arrived since the last call. Two loads when nobody has.
    #[inline(always)]
    pub fn accept(&mut self) {
        let arrivals = self.inbox.arrivals();
        if arrivals != self.arrivals_seen {
            self.accept_arrived(arrivals);
        }
    }

    #[cold]
    fn accept_arrived(&mut self, arrivals: u32) {
        self.arrivals_seen = arrivals;
        for (rank, link) in self.links.iter_mut().enumerate() {
            let peer = Rank(rank as u32);
            if link.incoming.is_some() || !self.inbox.arrived(peer) {
                continue;
            }
            // Without its inbox, the launcher's word about this peer is still to be read, or the link is closed.
            let Some(peer_inbox) = &link.peer_inbox else { continue };
            link.incoming = Incoming::open(&self.inbox, peer, peer_inbox, self.rewinds).ok();
            self.incoming.push(LinkId::in_memory(peer));
        }
    }

    /// Whether the launcher has had news since the last call.
    #[inline(always)]
    pub fn has_news(&mut self) -> bool {
        let news = self.inbox.news();
        std::mem::replace(&mut self.news_seen, news) != news
    }

    /// Says that this rank's counters are of now, after they were written.
    pub fn counted(&self) {
        self.inbox.counted();
    }

    /// Sleepers woken by packets so far.
    pub fn wakeups(&self) -> u64 {
        self.links.iter().filter_map(|l| l.outgoing.as_ref()).map(|o| o.wakeups).sum()
    }

    /// This rank's sleep.
    pub fn alarm(&self) -> Alarm {
        Alarm { inbox: self.inbox.clone(), watch: self.watch.clone() }
    }

    fn something_came(&mut self) -> bool {
        if self.inbox.arrivals() != self.arrivals_seen || self.inbox.news() != self.news_seen {
            return true;
        }
        let packets =
            self.links.iter_mut().any(|l| l.incoming.as_mut().is_some_and(|i| !matches!(i.poll(), Ok(None))));
        packets || self.links.iter_mut().any(|l| l.outgoing.as_mut().is_some_and(Outgoing::room_came))
    }
}

/// The memory of a rank's counters.
#[derive(Debug)]
pub struct CounterPage(Inbox);

impl CounterPage {
    /// The words, as many as fit in the page.
    pub fn words(&self) -> &[canele_sys::atomic::AtomicU64] {
        let bytes = layout::COUNTER_WORDS * 8;
        let start =
            self.0.segment().at(layout::COUNTERS, bytes, 8).expect("the layout has a page of counters");
        // SAFETY: bounds and alignment checked; the inbox in `self` keeps it mapped; made of atomics only.
        unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), layout::COUNTER_WORDS) }
    }
}

/// The sleep of a rank, apart from the rail: a thread sleeps here while others use the rail, and they can wake it.
///
/// The rail does not know what it is rung for: the owner looks for that between [`Rail::arm`] and the sleep.
/// Either it sees there what was stored before [`Alarm::ring`], or its sleep ends at once.
#[derive(Clone)]
pub struct Alarm {
    inbox: Inbox,
    watch: Option<Arc<Watch>>,
}

impl Alarm {
    /// Sleeps until woken, a descriptor is ready or the time is over. Only after [`Rail::arm`] said that it may.
    pub fn sleep(&self, at_most: Option<Duration>) {
        match &self.watch {
            Some(watch) => watch.sleep(self.inbox.sleep_word(), at_most),
            None => sleep::sleep(self.inbox.sleep_word(), at_most),
        }
    }

    /// Wakes the sleeper, if there is one, after something was stored for it.
    pub fn ring(&self) {
        let event = self.watch.as_ref().map(|watch| watch.event());
        sleep::wake_if_asleep(self.inbox.sleep_word(), Fencing::Fences, event);
    }

    /// Lets `descriptor` end the next sleep in which it becomes `ready`; to be said again for another. Without effect for
    /// a rank that does not sleep on descriptors.
    ///
    /// # Errors
    /// The system cannot wait for it.
    pub fn watch_once(&self, descriptor: BorrowedFd<'_>, ready: Ready) -> Result<(), EventError> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.once(descriptor, ready))
    }
}

impl Rail for Shm {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    #[inline(always)]
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.links.get(peer.0 as usize)?.outgoing.as_ref().map(|_| LinkId::in_memory(peer))
    }

    #[inline(always)]
    fn peer(&self, link: LinkId) -> Rank {
        link.peer()
    }

    #[inline(always)]
    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.incoming.retain(|l| *l != link);
        self.links[link.peer().0 as usize] = Link::default();
        self.regions.forget(link.peer(), None);
    }

    #[inline(always)]
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        match &mut self.links[link.peer().0 as usize].outgoing {
            Some(outgoing) => outgoing.claim(bulk, class),
            None => Err(Busy),
        }
    }

    #[inline(always)]
    fn commit(&mut self, link: LinkId, header: Header) {
        let outgoing = &mut self.links[link.peer().0 as usize].outgoing;
        outgoing.as_mut().expect("commit on an open link").commit(header);
    }

    #[inline(always)]
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        match self.links.get_mut(link.peer().0 as usize).and_then(|l| l.incoming.as_mut()) {
            Some(incoming) => incoming.poll(),
            None => Ok(None),
        }
    }

    #[inline(always)]
    fn post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        match self.links.get_mut(link.peer().0 as usize).and_then(|l| l.outgoing.as_mut()) {
            Some(outgoing) => outgoing.post(header, bytes),
            None => Err(Busy),
        }
    }

    fn has_room(&mut self, link: LinkId, packets: usize, bulk: usize) -> bool {
        let outgoing = self.links.get_mut(link.peer().0 as usize).and_then(|l| l.outgoing.as_mut());
        outgoing.is_some_and(|outgoing| outgoing.has_room(packets, bulk))
    }

    #[inline(always)]
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        match self.links.get_mut(link.peer().0 as usize).and_then(|l| l.outgoing.as_mut()) {
            Some(outgoing) => outgoing.post_bulk(header, bulk),
            None => Err(Busy),
        }
    }

    #[inline(always)]
    fn glance(&mut self, link: LinkId, accept: &mut impl Accept) -> Glance {
        match self.links.get_mut(link.peer().0 as usize).and_then(|l| l.incoming.as_mut()) {
            Some(incoming) => incoming.glance(accept),
            None => Glance::Nothing,
        }
    }

    #[inline(always)]
    fn release(&mut self, link: LinkId) {
        let incoming = &mut self.links[link.peer().0 as usize].incoming;
        incoming.as_mut().expect("release on a link with packets").release();
    }

    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_> {
        self.regions.reach(link.peer(), place, len)
    }

    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>> {
        self.regions.own(place.region)?.window(usize::try_from(place.offset).ok()?, len)
    }

    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally> {
        let link = &self.links[link.peer().0 as usize];
        if mine {
            link.incoming.as_ref().map(|i| i.tally(index))
        } else {
            link.outgoing.as_ref().map(|o| o.tally(index))
        }
    }

    fn arm(&mut self) -> Armed {
        let by = if self.watch.is_some() { By::Event } else { By::Futex };
        sleep::announce(self.inbox.sleep_word(), by);
        for outgoing in self.links.iter().filter_map(|l| l.outgoing.as_ref()) {
            outgoing.ask_for_room();
        }
        // Pairs with the light side in `sleep::wake_if_asleep` (invariant I10).
        self.fencing.heavy();
        if self.something_came() {
            sleep::cancel(self.inbox.sleep_word());
            return Armed::Work;
        }
        Armed::Ready
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        self.alarm().sleep(at_most);
    }
}
