//! The slice that one rank writes into the inbox of another: what both ends of a direction share.
//!
//! `outgoing.rs` writes this rank's slice of the peer's inbox, `incoming.rs` reads the peer's slice of this rank's.

use std::ptr::NonNull;

use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::ids::Rank;
use canele_sys::ring::{Cursors, cells, payload};
use canele_sys::segment::SegmentError;

use super::inbox::Inbox;
use crate::{TALLIES, Tally};

/// In the length byte of a cell: a bulk lies in the payload ring.
pub(super) const HAS_BULK: u8 = 0x80;
/// And: the sender wants to know how long it takes to be read.
pub(super) const TIMED: u8 = 0x40;

/// The words of a slice that both sides use.
pub(super) struct Shared {
    cursors: NonNull<Cursors>,
    wants: NonNull<AtomicU32>,
    answer: NonNull<AtomicU64>,
    tallies: NonNull<Tally>,
    pub(super) inbox: Inbox,
}

impl Shared {
    /// The slice of `sender` in `inbox`, and its rings.
    pub(super) fn new(
        inbox: &Inbox,
        sender: Rank,
        rewinds: bool,
    ) -> Result<(Self, cells::Cells, payload::Span), SegmentError> {
        let (layout, segment) = (inbox.layout, inbox.segment());
        let slice = layout.slice(sender.0 as usize);
        let base = segment.at(slice.cells, layout.cells * 64, 64)?;
        // SAFETY: bounds and alignment were checked by `at`; `inbox`, kept in `Shared`, keeps the slice mapped; each
        // side makes one role, and no other rank uses this slice.
        let cells = unsafe { cells::Cells::new(base.cast(), layout.cells) };
        let base = segment.at(slice.payload, layout.payload, 64)?;
        // SAFETY: as above.
        let span = unsafe { payload::Span::new(base, layout.payload) };
        let span = if rewinds { span.rewinding() } else { span };
        let shared = Self {
            cursors: segment.at(slice.cursors, 64, 64)?.cast(),
            wants: segment.at(slice.wants, 4, 4)?.cast(),
            answer: segment.at(slice.answer, 8, 8)?.cast(),
            tallies: segment.at(slice.tallies, TALLIES * size_of::<Tally>(), 64)?.cast(),
            inbox: inbox.clone(),
        };
        Ok((shared, cells, span))
    }

    #[inline(always)]
    pub(super) fn cursors(&self) -> &Cursors {
        // SAFETY: checked and mapped (`new`); made of atomics only.
        unsafe { self.cursors.as_ref() }
    }

    #[inline(always)]
    pub(super) fn wants(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.wants.as_ref() }
    }

    #[inline(always)]
    pub(super) fn answer(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.answer.as_ref() }
    }

    pub(super) fn tally(&self, index: usize) -> &Tally {
        assert!(index < TALLIES, "tally {index} of {TALLIES}");
        // SAFETY: index < TALLIES, all of which were checked and are mapped (`new`); made of atomics only.
        unsafe { self.tallies.add(index).as_ref() }
    }
}
