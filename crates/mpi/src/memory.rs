//! Memory that the library allocated for the program (`MPI_Alloc_mem`; MPI 5.0, §9.2): pieces of regions, which peers can reach directly.
//!
//! Messages know such memory by its address: above the eager size they are copied once, straight from or to the other end.

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
    /// How many pieces the program has, so that who has none pays nothing.
    count: AtomicUsize,
    arena: Arena,
}

impl Allocated {
    /// Allocates `bytes` from an address that is a multiple of `align`, a power of two or 0; gives the address.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn allocate(&self, engine: &Engine, bytes: usize, align: usize) -> Result<*mut u8> {
        let piece = self.arena.take(engine, bytes, align, PieceUse::Program)?;
        self.count.fetch_add(1, Relaxed);
        Ok(piece.address())
    }

    /// Frees what was allocated at an address.
    ///
    /// # Errors
    /// Nothing was.
    pub fn free(&self, address: usize) -> Result<()> {
        if !self.arena.give(address, PieceUse::Program)? {
            fail!(Base, "base is {address:#x}: no memory that MPI_Alloc_mem gave begins there");
        }
        self.count.fetch_sub(1, Relaxed);
        Ok(())
    }

    /// Takes a piece for a window, which gives it back.
    ///
    /// # Errors
    /// There is not so much memory.
    pub(crate) fn take(&self, engine: &Engine, bytes: usize, align: usize) -> Result<ArenaPiece> {
        self.arena.take(engine, bytes, align, PieceUse::Window)
    }

    /// Gives the piece of a window back, which no member of the window accesses any more.
    pub(crate) fn give(&self, piece: &ArenaPiece) {
        // A forked child has nothing to give.
        let _ = self.arena.give(piece.address().addr(), PieceUse::Window);
    }

    /// Whether the program has any. Relaxed is enough: a thread that has an address has seen the allocation.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Relaxed) != 0
    }

    /// The region that holds a range, and where in it.
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

    /// Lends elements to be filled, which come back to be lent again.
    pub(crate) fn lend_again(&self, memory: &mut ReusableMemory, count: usize, of: &Datatype) -> InBuffer {
        let raw = memory.raw();
        let found = if self.any() { self.lend_of_region(raw, count, of, Region::in_buffer) } else { None };
        found.unwrap_or_else(|| of.lend_again(memory, count))
    }

    /// The same, if the elements lie in one stretch of a region.
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
