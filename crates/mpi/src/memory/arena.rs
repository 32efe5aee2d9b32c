//! Memory of the process that peers can reach, in pieces: what `MPI_Alloc_mem` gives, and small windows.
//!
//! ```text
//!   chunks: regions, each twice as long as the one before         ranges: which pieces of them are taken
//!     ├─ real where it was touched ─┤- - - - - - - - - - - - -┤
//! ```
//!
//! Few chunks hold any number of pieces of any length, so that pieces cost no descriptor, no system call and no word to the launcher, and
//! peers map a chunk once. Pages become real when they are touched. Those of free ranges are given back whenever so much was freed.
//!
//! What this module never does: give a chunk back, or touch memory of a piece that was not asked to be zero.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use canele_engine::{Engine, Region};
use canele_sys::memory::Account;

use super::ranges::{Ranges, UNIT};
use crate::{Result, fail};

/// Bytes of the first chunk.
const FIRST_CHUNK: usize = 4 << 20;
/// The longest chunk that no single piece asks for: every peer that reaches a piece maps the whole.
const LAST_CHUNK: usize = 1 << 30;
/// Pages of free ranges may stay real up to so many bytes.
const KEPT: usize = 64 << 20;
/// Free ranges that are shorter keep their pages.
const LEAST_DISCARDED: usize = 64 << 10;
/// Bytes of a page.
const PAGE: usize = 4096;
/// Pieces of the program that are at least so long are asked of the host's account.
const COUNTED: usize = 1 << 20;

/// For what a piece is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PieceUse {
    /// The program asked for it, and gives it back.
    Program,
    /// A window of the library's.
    Window,
}

/// A part of a region of this process.
pub(crate) struct ArenaPiece {
    /// The region.
    pub region: Arc<Region>,
    /// Where in it the piece begins.
    pub offset: usize,
    /// Its bytes.
    pub len: usize,
}

impl ArenaPiece {
    /// Where it begins in this process.
    pub fn address(&self) -> *mut u8 {
        self.region.address().wrapping_add(self.offset)
    }

    /// Makes all of it zero.
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
    /// There is not so much memory.
    pub fn make_real(&self) -> Result<()> {
        let from = self.offset - self.offset % PAGE;
        let end = (self.offset + self.len).next_multiple_of(PAGE);
        Ok(self.region.make_real(from, end - from).map_err(canele_engine::Error::from)?)
    }
}

#[derive(Default)]
struct ArenaPieces {
    ranges: Ranges<PieceUse>,
    /// Bytes that were freed since pages were given back.
    freed: usize,
    /// Bytes of the last chunk.
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

    /// Takes a piece of `bytes`, at least one, that begins at a multiple of `align`, a power of two.
    ///
    /// # Errors
    /// There is not so much memory; this is a forked child.
    pub fn take(&self, engine: &Engine, bytes: usize, align: usize, of: PieceUse) -> Result<ArenaPiece> {
        // A child shares the memory with its parent, and not the account of it.
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

    /// Gives the piece back that begins at an address; says whether there was one for this use.
    ///
    /// # Errors
    /// This is a forked child.
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

    /// The region that holds a range, and where in it.
    pub fn find(&self, address: usize, len: usize) -> Option<(Arc<Region>, usize)> {
        let chunks = self.chunks.read().unwrap_or_else(PoisonError::into_inner);
        let (start, region) = chunks.range(..=address).next_back()?;
        let offset = address - start;
        (offset <= region.len() && len <= region.len() - offset).then(|| (region.clone(), offset))
    }

    /// Adds a chunk that holds a piece. The arena is not locked while the launcher is told of it.
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

    /// Gives the pages of free ranges back to the system.
    fn discard_free(&self, ranges: &Ranges<PieceUse>) {
        for (start, len) in ranges.free(LEAST_DISCARDED) {
            let (from, end) = (start.next_multiple_of(PAGE), (start + len) / PAGE * PAGE);
            if let Some((region, offset)) = self.find(from, end - from) {
                // What the system does not take stays real.
                let _ = region.discard(offset, end - from);
            }
        }
    }
}

/// Refuses what the host has no memory for now. Nothing is reserved: a page is the program's when it touches it.
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
