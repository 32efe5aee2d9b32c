//! How much of a payload ring is real memory, and what follows where there is no more.

use crate::shm::layout::InboxLayout;

/// How much of the payload ring is real memory.
///
/// More is reserved when it is needed. Where it cannot be had, the ring begins again at its start whenever it is empty, which the
/// consumer tells of at once for those bulks after which that may be necessary: a link that is open stays usable.
pub(super) struct Ready {
    /// Bytes of the slice.
    pub slice: usize,
    /// Bytes of the ring; more than it has once all of it is real.
    pub end: usize,
    /// The consumer is to tell at once of bulks that end behind this.
    pub tell_from: usize,
    /// No more can be had.
    pub refused: bool,
}

impl Ready {
    /// With the first `slice` bytes of a slice of this layout.
    pub fn new(layout: &InboxLayout, slice: usize) -> Self {
        let end = slice - layout.payload_start();
        let (end, tell_from) = match end < layout.payload {
            true => (end, end - layout.max_bulk()),
            false => (usize::MAX, usize::MAX),
        };
        Self { slice, end, tell_from, refused: false }
    }
}
