//! The slice that one rank writes into the inbox of another: the memory that both ends of a direction share.
//!
//! `outgoing.rs` writes this rank's slice of the peer's inbox, `incoming.rs` reads the peer's slice of this rank's.

use canele_mem::chunk_counter::ChunkCounter;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_mem::ring::{Cursors, cells, payload};
use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::segment::{Mapping, SegmentError};

use super::fetch::FetchTimes;
use super::layout::InboxLayout;
use crate::CHUNK_COUNTERS;

/// A flag in the length byte of a cell: a bulk lies in the payload ring.
pub(super) const HAS_BULK: u8 = 0x80;
/// A flag in the length byte of a cell: the reader must time its reading of the bulk.
pub(super) const TIMED: u8 = 0x40;
/// A flag in the length of a bulk: the reader must report at once that it has read it.
pub(super) const TELL: u32 = 1 << 31;

/// The words of a slice that both ends use.
pub(super) struct Shared {
    cursors: NonNull<Cursors>,
    wants: NonNull<AtomicU32>,
    answer: NonNull<AtomicU64>,
    fetch_times: NonNull<FetchTimes>,
    chunk_counters: NonNull<ChunkCounter>,
    /// Keeps the slice mapped; the slice begins at `start` of it.
    pub(super) mapping: Arc<Mapping>,
    pub(super) start: usize,
    pub(super) layout: InboxLayout,
}

impl Shared {
    /// Returns the slice that begins at `start` of a mapping, and its rings.
    pub(super) fn new(
        (mapping, start): (Arc<Mapping>, usize),
        layout: InboxLayout,
        rewinds: bool,
    ) -> Result<(Self, cells::Cells, payload::PayloadMemory), SegmentError> {
        let slice = layout.slice();
        let at = |offset, len, align| mapping.at(start + offset, len, align);
        let base = at(slice.cells, layout.cells * 64, 64)?;
        // SAFETY: bounds and alignment were checked by `at`; `mapping`, kept in `Shared`, keeps the slice mapped; each
        // side makes one role, and no other rank uses this slice.
        let cells = unsafe { cells::Cells::new(base.cast(), layout.cells) };
        let base = at(slice.payload, layout.payload, 64)?;
        // SAFETY: as above.
        let span = unsafe { payload::PayloadMemory::new(base, layout.payload) };
        let span = if rewinds { span.rewinding() } else { span };
        let shared = Self {
            cursors: at(slice.cursors, 64, 64)?.cast(),
            wants: at(slice.wants, 4, 4)?.cast(),
            answer: at(slice.answer, 8, 8)?.cast(),
            fetch_times: at(slice.fetch_times, size_of::<FetchTimes>(), 8)?.cast(),
            chunk_counters: at(slice.chunk_counters, CHUNK_COUNTERS * size_of::<ChunkCounter>(), 64)?.cast(),
            mapping,
            start,
            layout,
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

    #[inline(always)]
    pub(super) fn fetch_times(&self) -> &FetchTimes {
        // SAFETY: as above.
        unsafe { self.fetch_times.as_ref() }
    }

    pub(super) fn chunk_counter(&self, index: usize) -> &ChunkCounter {
        assert!(index < CHUNK_COUNTERS, "chunk counter {index} of {CHUNK_COUNTERS}");
        // SAFETY: index < CHUNK_COUNTERS, all of which were checked and are mapped (`new`); made of atomics only.
        unsafe { self.chunk_counters.add(index).as_ref() }
    }
}
