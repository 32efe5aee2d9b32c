//! The reserved part of a payload ring.

use crate::shm::layout::InboxLayout;

/// The reserved part of the payload ring.
///
/// More is reserved as needed. If that fails, the ring restarts at its start whenever it is empty. The
/// consumer reports at once that it has read a bulk after which a restart may be necessary. So an open link
/// stays usable.
pub(super) struct Ready {
    /// Reserved bytes of the slice.
    pub slice: usize,
    /// Reserved bytes of the ring; `usize::MAX` once the whole ring is reserved.
    pub end: usize,
    /// The consumer reports at once that it has read a bulk that ends behind this offset.
    pub tell_from: usize,
    /// True once the system has refused more memory.
    pub refused: bool,
}

impl Ready {
    /// Describes a slice of this layout with its first `slice` bytes reserved.
    pub fn new(layout: &InboxLayout, slice: usize) -> Self {
        let end = slice - layout.payload_start();
        let (end, tell_from) = match end < layout.payload {
            true => (end, end - layout.max_bulk()),
            false => (usize::MAX, usize::MAX),
        };
        Self { slice, end, tell_from, refused: false }
    }
}
