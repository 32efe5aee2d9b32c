//! Memory that the library allocates for the program (`MPI_Alloc_mem`; MPI 5.0, §9.2): pieces of regions,
//! which peers can access directly.
//!
//! Messages find such memory by address. Above the eager size they are copied once, directly between both
//! ends.

mod arena;
mod ranges;

use std::sync::Arc;

use canele_engine::{Engine, Region};
use canele_mem::buffer::{InBuffer, OutBuffer, Readable, ReusableMemory};
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::data::{Data, DataMut};
use crate::datatype::Datatype;
use crate::{Result, fail};

use arena::Arena;
pub(crate) use arena::{ArenaPiece, PieceUse};

/// All such memory of the process.
#[derive(Default)]
pub struct Allocated {
    /// Number of pieces of the program, so that a program without any pays nothing.
    count: AtomicUsize,
    arena: Arena,
}

impl Allocated {
    /// Allocates `bytes` bytes at a multiple of `align`, a power of two or 0; returns the address.
    ///
    /// # Errors
    /// Fails if there is not enough memory.
    pub fn allocate(&self, engine: &Engine, bytes: usize, align: usize) -> Result<*mut u8> {
        let piece = self.arena.take(engine, bytes, align, PieceUse::Program)?;
        self.count.fetch_add(1, Relaxed);
        Ok(piece.address())
    }

    /// Frees the memory that was allocated at an address.
    ///
    /// # Errors
    /// Fails if no memory was allocated there.
    pub fn free(&self, address: usize) -> Result<()> {
        if !self.arena.give(address, PieceUse::Program)? {
            fail!(Base, "base is {address:#x}: no memory that MPI_Alloc_mem gave begins there");
        }
        self.count.fetch_sub(1, Relaxed);
        Ok(())
    }

    /// Allocates a piece for a window, which frees it.
    ///
    /// # Errors
    /// Fails if there is not enough memory.
    pub(crate) fn take(&self, engine: &Engine, bytes: usize, align: usize) -> Result<ArenaPiece> {
        self.arena.take(engine, bytes, align, PieceUse::Window)
    }

    /// Frees the piece of a window, which no member of the window accesses any more.
    pub(crate) fn give(&self, piece: &ArenaPiece) {
        // This fails only in a forked child, which has nothing to free.
        let _ = self.arena.give(piece.address().addr(), PieceUse::Window);
    }

    /// Returns true if the program has any such memory. Relaxed: a thread that has an address has seen the
    /// allocation.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Relaxed) != 0
    }

    /// Returns the region that holds a range, and the offset in it.
    pub(crate) fn find(&self, address: usize, len: usize) -> Option<(Arc<Region>, usize)> {
        self.arena.find(address, len)
    }

    /// Lends elements to be sent.
    #[inline]
    pub(crate) fn lend(&self, data: Data<'_>) -> OutBuffer {
        let Data { raw, count, of } = data;
        let found = if self.any() { self.lend_of_region(&raw, count, of, Region::out_buffer) } else { None };
        found.unwrap_or_else(|| of.lend(raw, count))
    }

    /// Lends elements to be filled.
    #[inline(always)]
    pub(crate) fn lend_mut(&self, data: DataMut<'_>) -> InBuffer {
        let DataMut { raw, count, of } = data;
        let found = if self.any() { self.lend_of_region(&raw, count, of, Region::in_buffer) } else { None };
        found.unwrap_or_else(|| of.lend_mut(raw, count))
    }

    /// Lends elements to be received, in memory that is lent again later.
    pub(crate) fn lend_again(&self, memory: &mut ReusableMemory, count: usize, of: &Datatype) -> InBuffer {
        let raw = memory.raw();
        let found = if self.any() { self.lend_of_region(raw, count, of, Region::in_buffer) } else { None };
        found.unwrap_or_else(|| of.lend_again(memory, count))
    }

    /// Lends elements that are contiguous in a region.
    #[inline(never)]
    fn lend_of_region<B>(
        &self,
        raw: &impl Readable,
        count: usize,
        of: &Datatype,
        lend: impl FnOnce(&Arc<Region>, usize, usize) -> Option<B>,
    ) -> Option<B> {
        let len = of.size().saturating_mul(count);
        let (region, offset) = self.find(raw.address().addr(), len).filter(|_| of.is_contiguous())?;
        lend(&region, offset, len)
    }
}
