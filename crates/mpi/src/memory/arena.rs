//! Memory of the process that peers can access, in pieces: for `MPI_Alloc_mem` and small windows.
//!
//! ```text
//!   chunks: regions, each twice as long as the one before         ranges: the allocated pieces
//!     ├─ real after it was touched ─┤- - - - - - - - - - - - -┤
//! ```
//!
//! Few chunks hold any number of pieces of any length. So a piece costs no descriptor, no system call and no
//! message to the launcher, and peers map a chunk once. Pages become real when they are touched. Pages of
//! free ranges are returned to the system after enough bytes were freed.
//!
//! This module never frees a chunk, and touches no memory of a piece except to clear it on request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use canele_engine::{Engine, Region};
use canele_sys::memory::Account;

use super::ranges::{Ranges, UNIT};
use crate::{Result, fail};

/// Size of the first chunk in bytes.
const FIRST_CHUNK: usize = 4 << 20;
/// Largest chunk that is not made for one piece; every peer that accesses a piece maps its whole chunk.
const LAST_CHUNK: usize = 1 << 30;
/// Bytes that may be freed before pages are returned to the system.
const KEPT: usize = 64 << 20;
/// Shortest free range whose pages are returned, in bytes.
const LEAST_DISCARDED: usize = 64 << 10;
/// Size of a page in bytes.
const PAGE: usize = 4096;
/// Shortest piece of the program that is checked against the host's account, in bytes.
const COUNTED: usize = 1 << 20;

/// The use of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PieceUse {
    /// Allocated by the program, which frees it.
    Program,
    /// Memory of a window.
    Window,
}

/// A part of a region of this process.
pub(crate) struct ArenaPiece {
    /// The region.
    pub region: Arc<Region>,
    /// Offset of the piece in the region.
    pub offset: usize,
    /// Length in bytes.
    pub len: usize,
}

impl ArenaPiece {
    /// Returns the piece's address in this process.
    pub fn address(&self) -> *mut u8 {
        self.region.address().wrapping_add(self.offset)
    }

    /// Sets all of it to zero.
    pub fn clear(&self) {
        const ZEROS: [u8; PAGE] = [0; PAGE];
        for at in (0..self.len).step_by(PAGE) {
            let len = PAGE.min(self.len - at);
            if let Some(part) = self.region.window(self.offset + at, len) {
                part.write(0, &ZEROS[..len]);
            }
        }
    }

    /// Makes its pages real before they are touched, for words of the library.
    ///
    /// # Errors
    /// Fails if there is not enough memory.
    pub fn make_real(&self) -> Result<()> {
        let from = self.offset - self.offset % PAGE;
        let end = (self.offset + self.len).next_multiple_of(PAGE);
        Ok(self.region.make_real(from, end - from).map_err(canele_engine::Error::from)?)
    }
}

#[derive(Default)]
struct ArenaPieces {
    ranges: Ranges<PieceUse>,
    /// Number of bytes freed since pages were returned.
    freed: usize,
    /// Size of the last chunk in bytes.
    last_chunk: usize,
}

/// The memory of a process.
#[derive(Default)]
pub(crate) struct Arena {
    chunks: RwLock<BTreeMap<usize, Arc<Region>>>,
    kept: Mutex<ArenaPieces>,
}

impl Arena {
    fn kept(&self) -> MutexGuard<'_, ArenaPieces> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allocates a piece of `bytes` bytes, at least one, at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// Fails if there is not enough memory, and in a forked child.
    pub fn take(&self, engine: &Engine, bytes: usize, align: usize, of: PieceUse) -> Result<ArenaPiece> {
        // A child shares the memory with its parent, but not the records.
        if canele_sys::fork::forked() {
            return Err(canele_engine::Error::Forked.into());
        }
        if of == PieceUse::Program && bytes >= COUNTED {
            check_account(bytes)?;
        }
        loop {
            let found = self.kept().ranges.take(bytes, align, of);
            let Some(start) = found else {
                self.grow(engine, bytes, align)?;
                continue;
            };
            let Some((region, offset)) = self.find(start, bytes) else {
                fail!(Internal, "a piece at {start:#x} lies in no region");
            };
            return Ok(ArenaPiece { region, offset, len: bytes });
        }
    }

    /// Frees the piece that begins at an address; returns true if there was one for this use.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn give(&self, start: usize, of: PieceUse) -> Result<bool> {
        if canele_sys::fork::forked() {
            return Err(canele_engine::Error::Forked.into());
        }
        let mut kept = self.kept();
        if kept.ranges.taken(start) != Some(of) {
            return Ok(false);
        }
        kept.freed += kept.ranges.give(start).unwrap_or(0);
        if kept.freed > KEPT {
            kept.freed = 0;
            self.discard_free(&kept.ranges);
        }
        Ok(true)
    }

    /// Returns the region that holds a range, and the offset in it.
    pub fn find(&self, address: usize, len: usize) -> Option<(Arc<Region>, usize)> {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let (start, region) = chunks.range(..=address).next_back()?;
        let offset = address - start;
        (offset <= region.len() && len <= region.len() - offset).then(|| (region.clone(), offset))
    }

    /// Adds a chunk that holds a piece. The arena is not locked while the launcher is informed.
    fn grow(&self, engine: &Engine, bytes: usize, align: usize) -> Result<()> {
        let least = bytes.checked_add(align).and_then(|bytes| bytes.checked_next_multiple_of(PAGE));
        let Some(least) = least else {
            fail!(NoMemory, "size is {bytes}: it exceeds the address space");
        };
        let wanted = self.kept().last_chunk.saturating_mul(2).clamp(FIRST_CHUNK, LAST_CHUNK).max(least);
        let region = match engine.create_region_on_touch(wanted) {
            Err(canele_engine::Error::Memory(_)) if wanted > least => engine.create_region_on_touch(least)?,
            region => region?,
        };
        let (start, len) = (region.address().expose_provenance(), region.len());
        self.chunks.write().unwrap_or_else(PoisonError::into_inner).insert(start, region);
        let mut kept = self.kept();
        kept.last_chunk = len;
        kept.ranges.add(start, len - len % UNIT);
        Ok(())
    }

    /// Returns the pages of free ranges to the system.
    fn discard_free(&self, ranges: &Ranges<PieceUse>) {
        for (start, len) in ranges.free(LEAST_DISCARDED) {
            let (from, end) = (start.next_multiple_of(PAGE), (start + len) / PAGE * PAGE);
            if let Some((region, offset)) = self.find(from, end - from) {
                // If the system refuses, the pages stay real.
                let _ = region.discard(offset, end - from);
            }
        }
    }
}

/// Fails if the host has not enough memory now. Nothing is reserved: the program's pages become real when it
/// touches them.
fn check_account(bytes: usize) -> Result<()> {
    let account = Account::ours().map_err(canele_engine::Error::from)?;
    match account.grant(bytes as u64) {
        Ok(_) => Ok(()),
        Err(spare) => fail!(
            NoMemory,
            "{bytes} bytes cannot be allocated: {spare} bytes of memory are available (free memory, raise the container's memory \
             limit, or ask for less)"
        ),
    }
}
