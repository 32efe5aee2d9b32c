//! The driver for ranks of one machine: rings in shared memory.
//!
//! Each rank owns an inbox (`layout`) with a slice for each rank of its host. The start of a slice is
//! reserved and mapped when the link is opened, the rest as needed, so idle pairs cost no memory. The owner
//! of this driver passes on the descriptors of inboxes and regions: the driver opens no socket.
//!
//! ```text
//!   rank 0                                         rank 1
//!   Outgoing ──cells, payload──▶ [slice of 0 in the inbox of 1] ──▶ Incoming
//!   Incoming ◀── [slice of 1 in the inbox of 0] ◀──cells, payload── Outgoing
//! ```
//! *Sleeping.* The sleeper stores its sleep word, issues a heavy barrier and checks once more; a sender reads
//! the word after its store. One of the two must see the other's store (`canele_sys::membarrier`). A rank
//! that also has rails with descriptors sleeps on those and on an event ([`Shm::sleep_on_descriptors`]). Its
//! peers and its launcher receive the event with its inbox.

mod arrivals;
pub mod fetch;
mod inbox;
mod incoming;
pub mod layout;
mod link;
mod notifier;
mod outgoing;
mod pace;
mod rail;
mod rings;
mod waker;

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use canele_sys::device::MemoryKinds;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::membarrier::{self, Fencing};
use canele_sys::process_memory::{self, Proof};
use canele_sys::processor;
use canele_sys::segment::{Memfd, SegmentError};
use canele_sys::sleep::{EventError, Watch};

use fetch::SingleCopy;
use inbox::Inbox;
pub use inbox::StatsPage;
use incoming::Incoming;
use layout::InboxLayout;
pub use notifier::InboxNotifier;
use outgoing::LinkOptions;
use outgoing::Outgoing;
pub use waker::Waker;

use crate::{Caps, ConnectError, Distance, LinkTraits, Regions, Verbs};

/// The shared-memory rail of one rank.
pub struct Shm {
    /// The ranks of this host at the start of the job, in order. They number the slices of inboxes.
    here: Vec<u32>,
    /// The ranks of this host that were spawned later.
    spawned: Vec<u32>,
    /// This rank.
    me: Rank,
    /// The rank with the first entry in `links`.
    first: u32,
    caps: Caps,
    inbox: Inbox,
    /// The file of the inbox, for the peers.
    inbox_file: Arc<Memfd>,
    /// The descriptors on which this rank sleeps; none if it sleeps on its word.
    watch: Option<Arc<Watch>>,
    fencing: Fencing,
    /// The link to each rank of this host, indexed by rank minus `first`. Entries of ranks of other hosts
    /// stay empty, so the short path finds a link by a subtraction.
    links: Vec<Link>,
    /// The links on which packets can arrive, and those on which they can leave.
    incoming: Vec<LinkId>,
    outgoing: Vec<LinkId>,
    /// Rings that this rank has made and whose receivers still need them.
    rings: Vec<(Rank, Arc<Memfd>)>,
    /// A bit for each sender that has arrived and is accepted.
    accepted: Vec<u64>,
    /// True if payload rings restart at their start when they are empty.
    rewinds: bool,
    single_copy: SingleCopy,
    /// True if lines of short packets are moved to the cache that ranks share.
    demotes: bool,
    /// The word by which peers check that they access the memory of this process.
    word: Box<u64>,
    arrivals_seen: u32,
    notifications_seen: u32,
    /// The processor that this rank last published.
    processor: Option<u32>,
    /// The index of the link whose peer was checked last for the processor.
    asked: usize,
    /// Regions of this rank and of its peers.
    pub regions: Regions,
}

#[derive(Default)]
struct Link {
    peer_inbox: Option<Inbox>,
    /// The file of the peer's inbox, until this rank's slice of it is mapped.
    peer_file: Option<Arc<Memfd>>,
    outgoing: Option<Outgoing>,
    incoming: Option<Incoming>,
    /// The error that makes the peer's slice unreadable, until it is reported.
    unreadable: Option<SegmentError>,
}

/// Reports once the error that makes the slice of `peer` unreadable.
#[cold]
fn report_unreadable<'a>(
    peer: Rank,
    unreadable: &mut Option<SegmentError>,
) -> Result<Option<crate::Packet<'a>>, crate::Corrupt> {
    let why = unreadable.take();
    why.map_or(Ok(None), |why| Err(crate::Corrupt(format!("messages of {peer} cannot be read: {why}"))))
}

impl Shm {
    /// Opens the rail of rank `me`. `here` are the ranks of its host at the start of the job, in order; `me`
    /// may have been spawned later.
    ///
    /// `cells` and `payload` are the requested ring sizes; an inbox stays below `budget` bytes where
    /// possible.
    pub fn open(
        me: Rank,
        here: impl IntoIterator<Item = u32>,
        cells: usize,
        payload: usize,
        budget: usize,
    ) -> Result<Self, SegmentError> {
        let fencing = membarrier::register();
        let here: Vec<u32> = here.into_iter().collect();
        assert!(here.is_sorted_by(|one, next| one < next), "the ranks of a host are in order: {here:?}");
        // A host without ranks at the start has spawned ranks, whose order is not known here.
        let first = here.first().copied().unwrap_or(0);
        assert!(first <= me.0, "{me} does not come before the ranks {here:?} of its host");
        let places = here.last().copied().unwrap_or(first).max(me.0) - first + 1;
        let layout = InboxLayout::new(here.len(), cells, payload, budget);
        let caps = Caps {
            name: "shm",
            latency_ns: 100,
            bytes_per_us: 20_000,
            max_bulk: layout.max_bulk(),
            overhead_ns: 30,
            best_packet: 4 << 10,
            link_traits: LinkTraits::empty(),
            distance: Distance::Host,
            lends: false,
            reliable: true,
            maps_regions: true,
            memory_kinds: MemoryKinds::HOST,
            verbs: Verbs::empty(),
        };
        let (inbox, inbox_file) = Inbox::create(me, layout, fencing)?;
        Ok(Self {
            me,
            first,
            caps,
            inbox,
            inbox_file,
            watch: None,
            fencing,
            links: (0..places).map(|_| Link::default()).collect(),
            incoming: Vec::new(),
            outgoing: Vec::new(),
            rings: Vec::new(),
            accepted: vec![0; here.len().div_ceil(64)],
            here,
            spawned: Vec::new(),
            rewinds: false,
            single_copy: SingleCopy::Never,
            demotes: false,
            word: Box::default(),
            arrivals_seen: 0,
            notifications_seen: 0,
            processor: None,
            asked: 0,
            regions: Regions::default(),
        })
    }

    /// Returns this rank's inbox, which the launcher hands to peers.
    pub fn inbox_fd(&self) -> BorrowedFd<'_> {
        self.inbox_file.fd()
    }

    /// Prepares for ranks that share processors; call it before a peer gets the inbox. Links use few lines of
    /// their payload rings, because the ranks share caches too. Each sender pays for its own fence: sleeps
    /// are as frequent as messages, and a barrier would interrupt all processors each time.
    pub fn share_processors(&mut self) {
        self.rewinds = true;
        self.inbox.say_rewinds();
        self.fencing = Fencing::Fences;
        self.inbox.say_fencing(self.fencing);
    }

    /// Moves lines of short packets to the shared cache, for ranks whose processors have private caches. Call
    /// it before a link opens.
    pub fn demote_lines(&mut self) {
        self.demotes = true;
    }

    /// Lets peers read and write messages in the memory of this process, and this process in theirs. Call it
    /// before a peer gets the inbox.
    pub fn copy_once(&mut self, how: SingleCopy) {
        let mut word = [0; 8];
        let drawn = rustix::rand::getrandom(&mut word, rustix::rand::GetRandomFlags::empty());
        if how == SingleCopy::Never || drawn != Ok(word.len()) {
            return;
        }
        (*self.word, self.single_copy) = (u64::from_ne_bytes(word), how);
        process_memory::allow_siblings();
        self.inbox.show(Proof::own(&self.word));
    }

    /// Makes this rank sleep on descriptors ([`Waker::watch_once`]). Call it before a peer gets the inbox,
    /// because each peer needs the event with it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn sleep_on_descriptors(&mut self) -> Result<(), EventError> {
        self.watch = Some(Arc::new(Watch::open()?));
        Ok(())
    }

    /// Returns the event that the launcher hands to peers beside the inbox, if this rank sleeps on
    /// descriptors.
    pub fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(|watch| watch.event().fd())
    }

    /// Returns the memory in which this rank publishes its counters and waits.
    pub fn stats_page(&self) -> Arc<StatsPage> {
        Arc::new(StatsPage(self.inbox.clone()))
    }

    /// Maps a peer's inbox, so that this rank can wake it and send to it. `event` is the peer's event if it
    /// sleeps on descriptors.
    pub fn introduce(
        &mut self,
        peer: Rank,
        inbox: OwnedFd,
        event: Option<OwnedFd>,
    ) -> Result<(), ConnectError> {
        let incompatible = |what: String| ConnectError::Incompatible { peer, what };
        // Ranks that were added have greater numbers than all ranks at the start.
        if self.here.last().is_some_and(|last| peer.0 <= *last) && self.here.binary_search(&peer.0).is_err() {
            return Err(incompatible("it is of another host".into()));
        }
        let expected = Some(&self.inbox.layout).filter(|_| self.have_slices(peer));
        let (inbox, file) = Inbox::open(inbox, expected).map_err(incompatible)?;
        let mut inbox = inbox.with_event(event).map_err(incompatible)?;
        if !self.have_slices(peer) {
            inbox.layout = self.inbox.layout.of_ring_with(&inbox.layout);
            // A packet for one peer may have to be sent unchanged to another peer.
            self.caps.max_bulk = self.caps.max_bulk.min(inbox.layout.max_bulk());
        }
        let Some(link) = self.link_mut(peer) else {
            return Err(incompatible("it is of another host".into()));
        };
        if link.peer_inbox.is_none() {
            (link.peer_inbox, link.peer_file) = (Some(inbox), Some(file));
        }
        // The peer may have arrived before this call, so `accept` checks once more.
        self.arrivals_seen = self.inbox.arrivals().wrapping_sub(1);
        Ok(())
    }

    /// Returns true if the peer's inbox is mapped.
    pub fn is_introduced(&self, peer: Rank) -> bool {
        self.links.get(self.number(peer)).is_some_and(|link| link.peer_inbox.is_some())
    }

    /// Opens the link to an introduced peer: reserves this rank's slice of its inbox.
    pub fn open_link(&mut self, peer: Rank) -> Result<LinkId, ConnectError> {
        let own_slice = self.slice_of_pair(peer);
        let Self { fencing, single_copy, rewinds, demotes, .. } = *self;
        let options = LinkOptions { fencing, single_copy, rewinds, demotes };
        let link = self.link_mut(peer).expect("open_link comes after introduce");
        if link.outgoing.is_none() {
            let inbox = link.peer_inbox.as_ref().zip(link.peer_file.as_ref());
            let inbox = inbox.expect("open_link comes after introduce");
            let (opened, ring) = match own_slice {
                Some(slice) => (Outgoing::open(inbox, slice, options), None),
                None => {
                    rings::open(inbox.0, LinkOptions { rewinds: rewinds && inbox.0.rewinds(), ..options })
                }
            };
            link.outgoing = Some(opened.map_err(|source| ConnectError::Memory { peer, source })?);
            // Mapped memory needs no descriptor, and a rank may have thousands of peers.
            link.peer_file = None;
            self.rings.extend(ring.map(|ring| (peer, ring)));
            self.outgoing.push(LinkId::in_memory(peer));
        }
        Ok(LinkId::in_memory(peer))
    }

    /// Ends the copies that this rank and a peer share: afterwards the peer does not write into memory of
    /// this rank.
    pub fn end_shared_copies(&self, peer: Rank) {
        if let Some(incoming) = self.links.get(self.number(peer)).and_then(|link| link.incoming.as_ref()) {
            incoming.end_shared_copies();
        }
    }

    /// Returns the index of a rank among the links. A rank before those of this host gets an index that no
    /// link has.
    #[inline(always)]
    fn number(&self, peer: Rank) -> usize {
        peer.0.wrapping_sub(self.first) as usize
    }

    #[inline(always)]
    fn link_mut(&mut self, peer: Rank) -> Option<&mut Link> {
        let number = self.number(peer);
        self.links.get_mut(number)
    }

    /// Returns the links on which packets can leave, in the order of their opening.
    pub fn outgoing(&self) -> &[LinkId] {
        &self.outgoing
    }

    /// Publishes the processor on which this rank waits. Stores it only if the kernel has moved the rank.
    #[inline]
    pub fn publish_processor(&mut self) {
        let now = processor::current();
        if self.processor != now {
            self.processor = now;
            self.inbox.publish_processor(now.unwrap_or(u32::MAX));
        }
    }

    /// Returns true if a peer that is awake last waited on the processor of this rank. A rank that waits
    /// awake keeps such a peer from running. Checks `peer`, or without one the peer of a link, in turn.
    #[inline]
    pub fn is_processor_wanted(&mut self, peer: Option<Rank>) -> bool {
        self.publish_processor();
        let Some(processor) = self.processor else { return false };
        let peer = peer.or_else(|| {
            self.asked = if self.asked + 1 < self.incoming.len() { self.asked + 1 } else { 0 };
            Some(self.incoming.get(self.asked)?.peer())
        });
        let inbox = peer.and_then(|peer| self.links.get(self.number(peer))?.peer_inbox.as_ref());
        inbox.is_some_and(|inbox| inbox.wants_processor(processor))
    }

    /// Returns true if the launcher has notified this rank since the last call.
    #[inline(always)]
    pub fn take_notification(&mut self) -> bool {
        let notifications = self.inbox.notifications();
        std::mem::replace(&mut self.notifications_seen, notifications) != notifications
    }

    /// Marks this rank's counters as current, after they were written.
    pub fn counted(&self) {
        self.inbox.counted();
    }

    /// Returns the number of sleepers that packets have woken so far.
    pub fn wakeups(&self) -> u64 {
        self.open_outgoing().map(|outgoing| outgoing.wakeups).sum()
    }

    /// Returns this rank's waker.
    pub fn waker(&self) -> Waker {
        Waker { inbox: self.inbox.clone(), watch: self.watch.clone() }
    }

    fn open_outgoing(&self) -> impl Iterator<Item = &Outgoing> {
        self.outgoing.iter().filter_map(|link| self.links[self.number(link.peer())].outgoing.as_ref())
    }

    fn something_came(&mut self) -> bool {
        if self.inbox.arrivals() != self.arrivals_seen
            || self.inbox.notifications() != self.notifications_seen
        {
            return true;
        }
        let (first, links) = (self.first, &mut self.links);
        let number = |link: &LinkId| (link.peer().0 - first) as usize;
        let has_packet = |link: &LinkId| {
            let at = &mut links[number(link)];
            at.unreadable.is_some()
                || at.incoming.as_mut().is_some_and(|incoming| !matches!(incoming.poll(), Ok(None)))
        };
        if self.incoming.iter().any(has_packet) {
            return true;
        }
        let room_came =
            |link: &LinkId| links[number(link)].outgoing.as_mut().is_some_and(Outgoing::room_came);
        self.outgoing.iter().any(room_came)
    }
}
