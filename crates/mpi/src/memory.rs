//! Memory that the library allocated for the program (`MPI_Alloc_mem`; MPI 5.0, §9.2): regions, which peers can reach directly.
//!
//! Messages know such memory by its address: above the eager size they are copied once, straight from or to the other end.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use canele_engine::{Engine, Region};
use canele_mem::buffer::{InBuffer, OutBuffer, Readable, ReusableMemory};
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::data::{Data, DataMut};
use crate::datatype::Datatype;
use crate::{Result, fail};

/// All such memory of the process, by where it begins.
#[derive(Default)]
pub struct Allocated {
    /// How many there are, so that who has none pays nothing.
    count: AtomicUsize,
    regions: RwLock<BTreeMap<usize, Arc<Region>>>,
}

impl Allocated {
    /// Allocates `bytes`, zeroed; gives the address.
    ///
    /// # Errors
    /// There is not so much memory.
    pub fn allocate(&self, engine: &Engine, bytes: usize) -> Result<*mut u8> {
        let region = engine.create_region(bytes.max(1))?;
        let address = region.address();
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        regions.insert(address.addr(), region);
        self.count.store(regions.len(), Relaxed);
        Ok(address)
    }

    /// Frees what was allocated at an address.
    ///
    /// # Errors
    /// Nothing was.
    pub fn free(&self, engine: &Engine, address: usize) -> Result<()> {
        let mut regions = self.regions.write().unwrap_or_else(PoisonError::into_inner);
        let Some(region) = regions.remove(&address) else {
            fail!(Base, "base is {address:#x}: no memory that MPI_Alloc_mem gave begins there");
        };
        self.count.store(regions.len(), Relaxed);
        drop(regions);
        Ok(engine.drop_region(region.id())?)
    }

    /// Whether there is any. Relaxed is enough: whoever has an address has seen the allocation.
    #[inline(always)]
    pub fn any(&self) -> bool {
        self.count.load(Relaxed) != 0
    }

    /// The region that holds a range, and where in it.
    pub(crate) fn find(&self, address: usize, len: usize) -> Option<(Arc<Region>, usize)> {
        let regions = self.regions.read().unwrap_or_else(PoisonError::into_inner);
        let (start, region) = regions.range(..=address).next_back()?;
        let offset = address - start;
        (offset <= region.len() && len <= region.len() - offset).then(|| (region.clone(), offset))
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
