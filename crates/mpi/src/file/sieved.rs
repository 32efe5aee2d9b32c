//! Sieved writes: a window of the file is read, changed and written back under a lock.
//!
//! A concurrent write of another member into the window would be lost. So all members lock their writes to a
//! file whose writes are sieved. Each lock costs system calls, and messages on some file systems. Sieving is
//! therefore used only on request, by `romio_ds_write`.

use canele_sys::file_lock::LockKind;

use super::File;
use super::extents::{Extent, Tiles};
use super::hints::{Hints, Use};
use super::windows::{Span, Windows};
use crate::Result;

/// Sieving saves time if at least one byte in this many is written.
const SPARSE: usize = 16;

impl File {
    /// Returns true if members lock their writes and may read the bytes around them.
    pub(super) fn sieves_writes(&self, hints: &Hints) -> bool {
        hints.ds_write == Use::Enable && self.amode.reads()
    }

    /// Writes bytes of the stream, whose offsets do not decrease, in windows of this many bytes.
    pub(super) fn write_sieved(
        &self,
        tiles: &Tiles,
        start: usize,
        bytes: &[u8],
        window: usize,
        sieve: &mut Vec<u8>,
    ) -> Result<()> {
        let mut extents = tiles.extents(start, bytes.len()).peekable();
        let mut group: Vec<Extent> = Vec::new();
        while let Some(first) = extents.next() {
            let end = first.offset + window as u64;
            group.clear();
            group.push(first);
            group.extend(std::iter::from_fn(|| extents.next_if(|extent| extent.end() <= end)));
            let part = |extent: &Extent| &bytes[extent.at - start..extent.at - start + extent.len];
            let span = Span { start: first.offset, end: group[group.len() - 1].end() };
            self.change(span, group.len() == 1, sieve, |sieve| {
                for extent in &group {
                    let at = (extent.offset - span.start) as usize;
                    sieve[at..at + extent.len].copy_from_slice(part(extent));
                }
            })?;
        }
        Ok(())
    }

    /// Changes bytes of the file under a lock; reads them first unless all are overwritten.
    fn change(
        &self,
        span: Span,
        changes_all: bool,
        sieve: &mut Vec<u8>,
        change: impl FnOnce(&mut [u8]),
    ) -> Result<()> {
        let _lock = self.lock(LockKind::Exclusive, span.start, span.end)?;
        sieve.resize(span.len(), 0);
        if !changes_all {
            let there = self.read_full(sieve, span.start)?;
            sieve[there..].fill(0);
        }
        change(sieve);
        self.write_all(sieve, span.start)
    }
}

impl Windows<'_> {
    /// Writes the present bytes of a part of a window, sieved if that pays.
    pub fn write_part_sieved(
        &self,
        half: usize,
        window: Span,
        part: Span,
        sieve: &mut Vec<u8>,
    ) -> Result<()> {
        let runs = self.exchange.runs(half, part, window.start);
        let origin = (part.start - window.start) as usize;
        let place = |at: usize| part.start + at as u64;
        let write = |first: usize, end: usize, few: &[(usize, usize)], sieve: &mut Vec<u8>| {
            let span = Span { start: place(first), end: place(end) };
            self.file.change(span, few.len() == 1, sieve, |sieve| {
                for (at, len) in few {
                    self.exchange.half(half).get(origin + at, &mut sieve[at - first..at - first + len]);
                }
            })
        };
        let all: Vec<(usize, usize)> = runs.iter().collect();
        let (Some((first, _)), Some((at, len))) = (all.first(), all.last()) else { return Ok(()) };
        if at + len - first <= runs.total().saturating_mul(SPARSE) {
            return write(*first, at + len, &all, sieve);
        }
        all.iter().try_for_each(|(at, len)| write(*at, at + len, &[(*at, *len)], sieve))
    }
}
