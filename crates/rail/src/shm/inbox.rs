//! Inboxes: one's own, and those of peers as seen by a sender.
//!
//! Owns the mapping, its words for sleeping, news and arrivals, and the event its owner sleeps on, if it has one. What lies in the slices is the links' business.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::ids::Rank;
use canele_sys::membarrier::Fencing;
use canele_sys::segment::{Segment, SegmentError};
use canele_sys::sleep::{self, Event};

use super::layout::{self, Layout};

/// A mapped inbox. Cheap to clone; unmapped with the last clone.
#[derive(Clone, Debug)]
pub struct Inbox {
    segment: Arc<Segment>,
    /// A peer's, which sleeps on descriptors.
    event: Option<Arc<Event>>,
    /// The sizes both sides agree on.
    pub layout: Layout,
}

impl Inbox {
    /// One's own: created, described, its header made real memory.
    pub fn create(rank: Rank, layout: Layout, fencing: Fencing) -> Result<Self, SegmentError> {
        let segment = Segment::create(&format!("canele-inbox-{}", rank.0), layout.bytes())?;
        segment.reserve(0, layout.header_bytes())?;
        segment.dont_fork()?;
        layout.describe(&segment);
        let inbox = Self { segment: Arc::new(segment), event: None, layout };
        inbox.say_fencing(fencing);
        Ok(inbox)
    }

    /// Says how the owner's sleeps are fenced. For the owner, before anybody else has the inbox.
    pub fn say_fencing(&self, fencing: Fencing) {
        let asymmetric = u32::from(fencing == Fencing::Asymmetric);
        self.word(layout::FENCING).store(asymmetric, Ordering::Relaxed);
    }

    /// A peer's, checked; of the `expected` layout if one is expected.
    pub fn open(segment: Segment, expected: Option<&Layout>) -> Result<Self, String> {
        let layout = Layout::read(&segment, expected)?;
        segment.dont_fork().map_err(|e| e.to_string())?;
        Ok(Self { segment: Arc::new(segment), event: None, layout })
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

    /// The memory.
    pub fn segment(&self) -> &Segment {
        &self.segment
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        self.segment.atomic_u32(offset)
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

    /// How often the launcher had news.
    pub fn news(&self) -> u32 {
        // Acquire pairs with the release in `announce_news`; the news itself comes through the launcher's socket.
        self.word(layout::NEWS).load(Ordering::Acquire)
    }

    /// Tells the owner to read its launcher's socket; gives the number of this news. For the launcher.
    pub fn announce_news(&self) -> u32 {
        // Release pairs with the acquire in `news`.
        let before = self.word(layout::NEWS).fetch_add(1, Ordering::Release);
        sleep::wake_if_asleep(self.sleep_word(), Fencing::Fences, self.event());
        before.wrapping_add(1)
    }

    /// Says that the owner's counters are of now. For the owner, after it wrote them.
    pub fn counted(&self) {
        // Release pairs with the acquire in `has_counted`: whoever sees the number sees the counters.
        self.word(layout::COUNTED).store(self.news(), Ordering::Release);
    }

    /// Whether the owner has written its counters after the news of this number.
    pub fn has_counted(&self, news: u32) -> bool {
        // Acquire pairs with the release in `counted`. The numbers may start again at 0.
        self.word(layout::COUNTED).load(Ordering::Acquire).wrapping_sub(news) as i32 >= 0
    }

    /// Says that `sender` has reserved its slice and will send.
    pub fn arrive(&self, sender: Rank) {
        let (word, bit) = (sender.0 as usize / 64, sender.0 % 64);
        // Release pairs with the acquire in `arrived`: whoever sees the bit may read the slice.
        self.segment.atomic_u64(layout::ARRIVED + 8 * word).fetch_or(1 << bit, Ordering::Release);
        self.word(layout::ARRIVALS).fetch_add(1, Ordering::Release);
    }

    /// How many ranks have arrived.
    #[inline(always)]
    pub fn arrivals(&self) -> u32 {
        self.word(layout::ARRIVALS).load(Ordering::Acquire)
    }

    /// Whether `sender` has.
    pub fn arrived(&self, sender: Rank) -> bool {
        let (word, bit) = (sender.0 as usize / 64, sender.0 % 64);
        // Acquire pairs with the release in `arrive`.
        self.segment.atomic_u64(layout::ARRIVED + 8 * word).load(Ordering::Acquire) >> bit & 1 == 1
    }
}
