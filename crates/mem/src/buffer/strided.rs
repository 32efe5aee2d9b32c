//! The place of a buffer in its process, in three numbers that fit into a packet: blocks of one length at
//! equal distances.
//!
//! Owns the description and the computation of stretches. A description may come from another process. So no
//! arithmetic here overflows, and a part has a bounded number of stretches. Never touches memory.

use super::{Form, Lent, Scattered};
use canele_sys::device::MemoryKind;
use canele_sys::process_memory::MOST_STRETCHES;

/// Blocks of memory of a process, of one length and at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StridedMemory {
    /// The start of the first block.
    pub address: u64,
    /// Bytes of each block; 0 if the memory has no gaps.
    pub block_bytes: u32,
    /// Bytes from the start of a block to the start of the next one.
    pub stride_bytes: u32,
}

impl StridedMemory {
    /// Describes memory without gaps.
    pub fn without_gaps(address: u64) -> Self {
        Self { address, block_bytes: 0, stride_bytes: 0 }
    }

    /// Describes blocks with gaps; `None` if the numbers are too large, or the blocks overlap or are empty.
    pub fn with_gaps(address: u64, block_bytes: usize, stride_bytes: isize) -> Option<Self> {
        let (block_bytes, stride_bytes) = (block_bytes.try_into().ok()?, stride_bytes.try_into().ok()?);
        (0 < block_bytes && block_bytes <= stride_bytes).then_some(Self {
            address,
            block_bytes,
            stride_bytes,
        })
    }

    /// Returns true if there are gaps between blocks.
    pub fn has_gaps(&self) -> bool {
        self.block_bytes != 0
    }

    /// Returns the stretches (address, length) of the `len` bytes at `at`. `None` means that they leave the
    /// address space or are too many for one call.
    pub fn stretches(&self, at: usize, len: usize) -> Option<Vec<(u64, usize)>> {
        if !self.has_gaps() {
            let address = self.address.checked_add(at as u64)?;
            address.checked_add(len as u64)?;
            return Some(vec![(address, len)]);
        }
        let (block, stride) = (self.block_bytes as usize, u64::from(self.stride_bytes));
        let end = at.checked_add(len)?;
        if end.div_ceil(block) - at / block > MOST_STRETCHES {
            return None;
        }
        let mut stretches = Vec::with_capacity(end.div_ceil(block) - at / block);
        let mut at = at;
        while at < end {
            let (number, within) = (at / block, at % block);
            let n = (block - within).min(end - at);
            let offset = stride.checked_mul(number as u64)?.checked_add(within as u64)?;
            let address = self.address.checked_add(offset)?;
            address.checked_add(n as u64)?;
            stretches.push((address, n));
            at += n;
        }
        Some(stretches)
    }
}

impl Lent {
    /// Describes its place in this process, if that is host memory with this arrangement.
    pub(super) fn strided(&self) -> Option<StridedMemory> {
        if self.memory() != MemoryKind::Host {
            return None;
        }
        match self.more.as_ref().map_or(&Form::One, |more| &more.form) {
            Form::One => Some(StridedMemory::without_gaps(self.start.as_ptr() as u64)),
            Form::Scattered(scattered) => Scattered::strided(scattered),
            Form::List(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_made_of_the_stretches_of_its_blocks() {
        let memory = StridedMemory::with_gaps(1000, 10, 16).unwrap();
        assert_eq!(memory.stretches(0, 10), Some(vec![(1000, 10)]));
        assert_eq!(memory.stretches(7, 20), Some(vec![(1007, 3), (1016, 10), (1032, 7)]));
        assert_eq!(memory.stretches(30, 0), Some(vec![]));
        assert_eq!(StridedMemory::without_gaps(1000).stretches(7, 20), Some(vec![(1007, 20)]));
    }

    #[test]
    fn descriptions_of_no_memory_have_no_stretches() {
        for memory in [
            StridedMemory::without_gaps(u64::MAX - 5),
            StridedMemory::with_gaps(u64::MAX - 5, 10, 16).unwrap(),
        ] {
            assert!(memory.stretches(0, 5).is_some());
            assert_eq!(memory.stretches(0, 10), None);
            assert_eq!(memory.stretches(usize::MAX - 3, 10), None);
            assert_eq!(memory.stretches(usize::MAX - 3, 2), None);
        }
        let fine = StridedMemory::with_gaps(1000, 1, 2).unwrap();
        assert_eq!(fine.stretches(0, MOST_STRETCHES).map(|all| all.len()), Some(MOST_STRETCHES));
        assert_eq!(fine.stretches(1, MOST_STRETCHES + 1), None, "more than one call copies");
        assert_eq!(fine.stretches(0, usize::MAX), None);
    }

    #[test]
    fn blocks_that_are_empty_overlap_or_go_backwards_are_not_described() {
        for (block, stride) in [(0, 8), (9, 8), (8, -16), (1 << 33, 1 << 34), (8, 1 << 33)] {
            assert_eq!(StridedMemory::with_gaps(1000, block, stride), None, "{block} {stride}");
        }
    }
}
