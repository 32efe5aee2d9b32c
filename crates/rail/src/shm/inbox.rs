//! Inboxes: the inbox of this rank, and those of peers as a sender sees them.
//!
//! Owns the mapping of an inbox's first pages, with its words for sleeping, notifications and arrivals. Owns
//! also the event that its owner sleeps on, if any. The owner maps the whole inbox. A sender maps these pages
//! and its own slice of a peer's inbox; then it closes the descriptor.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canele_sys::atomic::{AtomicU32, AtomicU64, Ordering};
use canele_sys::ids::Rank;
use canele_sys::membarrier::Fencing;
use canele_sys::process_memory::Proof;
use canele_sys::published::PublishedBytes;
use canele_sys::segment::{Mapping, Memfd, SegmentError};
use canele_sys::sleep::{self, Event};

use super::layout::{self, InboxLayout};

/// A mapped inbox. Cheap to clone; unmapped with the last clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    pages: Arc<Mapping>,
    /// The event of a peer that sleeps on descriptors.
    event: Option<Arc<Event>>,
    /// The sizes both sides agree on.
    pub layout: InboxLayout,
}

impl Inbox {
    /// Creates the inbox of this rank and its file, describes it, and reserves memory for its header.
    pub fn create(
        rank: Rank,
        layout: InboxLayout,
        fencing: Fencing,
    ) -> Result<(Self, Arc<Memfd>), SegmentError> {
        let name = format!("canele-inbox-{}", rank.0);
        let file = Arc::new(Memfd::create(&name, layout.bytes())?);
        let pages = file.map(0, layout.bytes())?;
        pages.populate(0, layout::HEADER_BYTES)?;
        pages.dont_fork()?;
        layout.describe(&pages);
        let inbox = Self { pages: Arc::new(pages), event: None, layout };
        inbox.say_fencing(fencing);
        Ok((inbox, file))
    }

    /// Publishes the fencing of the owner's sleeps. The owner calls it before a peer has the inbox.
    pub fn say_fencing(&self, fencing: Fencing) {
        let asymmetric = u32::from(fencing == Fencing::Asymmetric);
        self.word(layout::FENCING).store(asymmetric, Ordering::Relaxed);
    }

    /// Publishes that the owner's payload rings restart at their start when they are empty. The owner calls
    /// it before a peer has the inbox.
    pub fn say_rewinds(&self) {
        self.word(layout::REWINDS).store(1, Ordering::Relaxed);
    }

    /// Returns true if the owner's payload rings restart at their start when they are empty.
    pub fn rewinds(&self) -> bool {
        self.word(layout::REWINDS).load(Ordering::Relaxed) == 1
    }

    /// Publishes the proof by which peers recognise the owner when they read its memory. The owner calls it
    /// before a peer has the inbox.
    pub fn show(&self, proof: Proof) {
        for (n, word) in [u64::from(proof.pid), proof.address, proof.word].into_iter().enumerate() {
            self.pages.atomic_u64(layout::PROOF + 8 * n).store(word, Ordering::Relaxed);
        }
    }

    /// Returns the proof of the owner's identity, if the owner lets its memory be read.
    pub fn proof(&self) -> Option<Proof> {
        let [pid, address, word] =
            [0, 8, 16].map(|at| self.pages.atomic_u64(layout::PROOF + at).load(Ordering::Relaxed));
        let pid = u32::try_from(pid).ok().filter(|pid| *pid != 0)?;
        Some(Proof { pid, address, word })
    }

    /// Opens a peer's inbox and returns it with its file, checked; it must have the `expected` layout if one
    /// is given.
    pub fn open(descriptor: OwnedFd, expected: Option<&InboxLayout>) -> Result<(Self, Arc<Memfd>), String> {
        let file = Arc::new(Memfd::check(descriptor).map_err(|e| e.to_string())?);
        let first = file.len().min(layout::HEADER_BYTES);
        let pages = file.map(0, first).map_err(|e| e.to_string())?;
        let layout = InboxLayout::read(&pages, file.len(), expected)?;
        pages.dont_fork().map_err(|e| e.to_string())?;
        Ok((Self { pages: Arc::new(pages), event: None, layout }, file))
    }

    /// Adds the event that came with the inbox, checked.
    pub fn with_event(mut self, event: Option<OwnedFd>) -> Result<Self, String> {
        self.event = event.map(Event::adopt).transpose().map_err(|e| e.to_string())?.map(Arc::new);
        Ok(self)
    }

    /// Returns the event its owner sleeps on, if this is the inbox of a peer that has one.
    #[inline(always)]
    pub fn event(&self) -> Option<&Event> {
        self.event.as_deref()
    }

    /// Returns the mapped pages.
    pub fn pages(&self) -> &Arc<Mapping> {
        &self.pages
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        self.pages.atomic_u32(offset)
    }

    /// Returns the word the owner sleeps on.
    pub fn sleep_word(&self) -> &AtomicU32 {
        self.word(layout::SLEEP)
    }

    /// Returns `Asymmetric` if the owner issues a heavy barrier before it sleeps and answers those of others.
    pub fn fencing(&self) -> Fencing {
        match self.word(layout::FENCING).load(Ordering::Relaxed) {
            1 => Fencing::Asymmetric,
            _ => Fencing::Fences,
        }
    }

    /// Publishes the processor on which the owner waits. The owner calls it.
    pub fn publish_processor(&self, processor: u32) {
        self.word(layout::PROCESSOR).store(processor.wrapping_add(1), Ordering::Relaxed);
    }

    /// Returns true if the owner does not sleep and last waited on `processor`. Then the owner runs elsewhere
    /// by now, or waits for that processor.
    #[inline]
    pub fn wants_processor(&self, processor: u32) -> bool {
        // Relaxed: the value is a hint for the way the caller waits.
        self.word(layout::PROCESSOR).load(Ordering::Relaxed) == processor.wrapping_add(1)
            && self.sleep_word().load(Ordering::Relaxed) == sleep::AWAKE
    }

    /// Returns the number of the launcher's notifications to the owner.
    pub fn notifications(&self) -> u32 {
        // Acquire pairs with the release in `notify`; the message itself arrives through the launcher's
        // socket.
        self.word(layout::NOTIFICATIONS).load(Ordering::Acquire)
    }

    /// Tells the owner to read its launcher's socket; returns the number of this notification. The launcher
    /// calls it.
    pub fn notify(&self) -> u32 {
        // Release pairs with the acquire in `notifications`.
        let before = self.word(layout::NOTIFICATIONS).fetch_add(1, Ordering::Release);
        sleep::wake_if_asleep(self.sleep_word(), Fencing::Fences, self.event());
        before.wrapping_add(1)
    }

    /// Marks the owner's counters as current. The owner calls it after it wrote them.
    pub fn counted(&self) {
        // Release pairs with the acquire in `has_counted`: a process that sees the number sees the counters.
        self.word(layout::COUNTED).store(self.notifications(), Ordering::Release);
    }

    /// Returns true if the owner has written its counters after the notification of this number.
    pub fn has_counted(&self, notification: u32) -> bool {
        // Acquire pairs with the release in `counted`. The numbers may wrap to 0.
        self.word(layout::COUNTED).load(Ordering::Acquire).wrapping_sub(notification) as i32 >= 0
    }

    /// Publishes that `sender` has reserved its slice and will send.
    pub fn arrive(&self, sender: usize) {
        let (word, bit) = (sender / 64, sender % 64);
        // Release pairs with the acquire in `arrived`: a process that sees the bit may read the slice.
        self.pages.atomic_u64(layout::ARRIVED + 8 * word).fetch_or(1 << bit, Ordering::Release);
        self.word(layout::ARRIVALS).fetch_add(1, Ordering::Release);
    }

    /// Returns the number of arrivals.
    #[inline(always)]
    pub fn arrivals(&self) -> u32 {
        self.word(layout::ARRIVALS).load(Ordering::Acquire)
    }

    /// Returns a bit for each sender from `64 * word` on that has arrived.
    pub fn arrived(&self, word: usize) -> u64 {
        // Acquire pairs with the release in `arrive`.
        self.pages.atomic_u64(layout::ARRIVED + 8 * word).load(Ordering::Acquire)
    }
}

/// The memory in which a rank publishes its counters and the waits of its threads.
#[derive(Debug)]
pub struct StatsPage(pub(super) Inbox);

impl StatsPage {
    /// Returns the words of the counters.
    pub fn counters(&self) -> &[AtomicU64] {
        self.words(layout::COUNTERS, layout::COUNTER_WORDS)
    }

    /// Returns the published waits of the owner's threads.
    pub fn waits(&self) -> PublishedBytes<'_> {
        PublishedBytes::new(self.words(layout::WAITS, layout::WAITS_WORDS))
    }

    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let start = self.0.pages.at(offset, 8 * count, 8).expect("the layout has a page for it");
        // SAFETY: bounds and alignment checked; the inbox in `self` keeps it mapped; made of atomics only.
        unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), count) }
    }
}
