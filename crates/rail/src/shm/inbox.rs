//! Inboxes: one's own, and those of peers as seen by a sender.
//!
//! Owns the mapping of an inbox's first pages with its words for sleeping, notifications and arrivals, and the event its owner sleeps
//! on, if it has one. The owner maps all of it; of a peer's inbox a sender maps its own slice beside these pages, and needs the
//! descriptor until then only.

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
    /// A peer's, which sleeps on descriptors.
    event: Option<Arc<Event>>,
    /// The sizes both sides agree on.
    pub layout: InboxLayout,
}

impl Inbox {
    /// One's own and its file: created, described, its header made real memory.
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

    /// Says how the owner's sleeps are fenced. For the owner, before a peer has the inbox.
    pub fn say_fencing(&self, fencing: Fencing) {
        let asymmetric = u32::from(fencing == Fencing::Asymmetric);
        self.word(layout::FENCING).store(asymmetric, Ordering::Relaxed);
    }

    /// Says that the owner's payload rings begin again at their start when they are empty. For the owner, before a peer has the
    /// inbox.
    pub fn say_rewinds(&self) {
        self.word(layout::REWINDS).store(1, Ordering::Relaxed);
    }

    /// True if the owner's payload rings begin again at their start when they are empty.
    pub fn rewinds(&self) -> bool {
        self.word(layout::REWINDS).load(Ordering::Relaxed) == 1
    }

    /// Shows by what peers know the owner when they read its memory. For the owner, before a peer has the inbox.
    pub fn show(&self, proof: Proof) {
        for (n, word) in [u64::from(proof.pid), proof.address, proof.word].into_iter().enumerate() {
            self.pages.atomic_u64(layout::PROOF + 8 * n).store(word, Ordering::Relaxed);
        }
    }

    /// By what the owner is known, if it lets its memory be read.
    pub fn proof(&self) -> Option<Proof> {
        let [pid, address, word] =
            [0, 8, 16].map(|at| self.pages.atomic_u64(layout::PROOF + at).load(Ordering::Relaxed));
        let pid = u32::try_from(pid).ok().filter(|pid| *pid != 0)?;
        Some(Proof { pid, address, word })
    }

    /// A peer's and its file, checked; of the `expected` layout if one is expected.
    pub fn open(descriptor: OwnedFd, expected: Option<&InboxLayout>) -> Result<(Self, Arc<Memfd>), String> {
        let file = Arc::new(Memfd::check(descriptor).map_err(|e| e.to_string())?);
        let first = file.len().min(layout::HEADER_BYTES);
        let pages = file.map(0, first).map_err(|e| e.to_string())?;
        let layout = InboxLayout::read(&pages, file.len(), expected)?;
        pages.dont_fork().map_err(|e| e.to_string())?;
        Ok((Self { pages: Arc::new(pages), event: None, layout }, file))
    }

    /// The same with the event that came with it, checked.
    pub fn with_event(mut self, event: Option<OwnedFd>) -> Result<Self, String> {
        self.event = event.map(Event::adopt).transpose().map_err(|e| e.to_string())?.map(Arc::new);
        Ok(self)
    }

    /// The event its owner sleeps on, if it is a peer's that has one.
    #[inline(always)]
    pub fn event(&self) -> Option<&Event> {
        self.event.as_deref()
    }

    /// The pages that are mapped.
    pub fn pages(&self) -> &Arc<Mapping> {
        &self.pages
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        self.pages.atomic_u32(offset)
    }

    /// The word the owner sleeps on.
    pub fn sleep_word(&self) -> &AtomicU32 {
        self.word(layout::SLEEP)
    }

    /// Whether the owner issues a heavy barrier before it sleeps and answers those of others.
    pub fn fencing(&self) -> Fencing {
        match self.word(layout::FENCING).load(Ordering::Relaxed) {
            1 => Fencing::Asymmetric,
            _ => Fencing::Fences,
        }
    }

    /// Says on which processor the owner waits. For the owner.
    pub fn publish_processor(&self, processor: u32) {
        self.word(layout::PROCESSOR).store(processor.wrapping_add(1), Ordering::Relaxed);
    }

    /// True if the owner does not sleep and last waited on `processor`: then it runs elsewhere by now, or waits for that
    /// processor.
    #[inline]
    pub fn wants_processor(&self, processor: u32) -> bool {
        // Relaxed: a guess that decides only how the caller waits.
        self.word(layout::PROCESSOR).load(Ordering::Relaxed) == processor.wrapping_add(1)
            && self.sleep_word().load(Ordering::Relaxed) == sleep::AWAKE
    }

    /// How often the launcher has notified the owner.
    pub fn notifications(&self) -> u32 {
        // Acquire pairs with the release in `notify`; the message itself comes through the launcher's socket.
        self.word(layout::NOTIFICATIONS).load(Ordering::Acquire)
    }

    /// Tells the owner to read its launcher's socket; returns the number of this notification. For the launcher.
    pub fn notify(&self) -> u32 {
        // Release pairs with the acquire in `notifications`.
        let before = self.word(layout::NOTIFICATIONS).fetch_add(1, Ordering::Release);
        sleep::wake_if_asleep(self.sleep_word(), Fencing::Fences, self.event());
        before.wrapping_add(1)
    }

    /// Says that the owner's counters are of now. For the owner, after it wrote them.
    pub fn counted(&self) {
        // Release pairs with the acquire in `has_counted`: a process that sees the number sees the counters.
        self.word(layout::COUNTED).store(self.notifications(), Ordering::Release);
    }

    /// Whether the owner has written its counters after the notification of this number.
    pub fn has_counted(&self, notification: u32) -> bool {
        // Acquire pairs with the release in `counted`. The numbers may start again at 0.
        self.word(layout::COUNTED).load(Ordering::Acquire).wrapping_sub(notification) as i32 >= 0
    }

    /// Says that `sender` has reserved its slice and will send.
    pub fn arrive(&self, sender: usize) {
        let (word, bit) = (sender / 64, sender % 64);
        // Release pairs with the acquire in `arrived`: a process that sees the bit may read the slice.
        self.pages.atomic_u64(layout::ARRIVED + 8 * word).fetch_or(1 << bit, Ordering::Release);
        self.word(layout::ARRIVALS).fetch_add(1, Ordering::Release);
    }

    /// How many ranks have arrived.
    #[inline(always)]
    pub fn arrivals(&self) -> u32 {
        self.word(layout::ARRIVALS).load(Ordering::Acquire)
    }

    /// Which of the senders from `64 * word` on have, a bit for each.
    pub fn arrived(&self, word: usize) -> u64 {
        // Acquire pairs with the release in `arrive`.
        self.pages.atomic_u64(layout::ARRIVED + 8 * word).load(Ordering::Acquire)
    }
}

/// The memory in which a rank tells of itself: its counters, and what its threads wait for.
#[derive(Debug)]
pub struct StatsPage(pub(super) Inbox);

impl StatsPage {
    /// The words of the counters.
    pub fn counters(&self) -> &[AtomicU64] {
        self.words(layout::COUNTERS, layout::COUNTER_WORDS)
    }

    /// What the owner's threads wait for.
    pub fn waits(&self) -> PublishedBytes<'_> {
        PublishedBytes::new(self.words(layout::WAITS, layout::WAITS_WORDS))
    }

    fn words(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let start = self.0.pages.at(offset, 8 * count, 8).expect("the layout has a page for it");
        // SAFETY: bounds and alignment checked; the inbox in `self` keeps it mapped; made of atomics only.
        unsafe { std::slice::from_raw_parts(start.cast().as_ptr(), count) }
    }
}
