//! Addresses of memory that ranks access.

use canele_sys::ids::{MemoryKey, RegionId};

/// The place of a buffer in a region of this process, by which a peer can reach it directly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RegionAddress {
    /// The region.
    pub region: RegionId,
    /// Bytes from the region's start.
    pub offset: u64,
}

/// A place in memory of a rank that other ranks may access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MemoryAddress {
    /// The key of the memory.
    pub key: MemoryKey,
    /// Bytes from its start; the address, for attached memory.
    pub offset: u64,
}

impl MemoryAddress {
    /// Returns the first byte of memory.
    pub fn start(key: impl Into<MemoryKey>) -> Self {
        Self { key: key.into(), offset: 0 }
    }
}

impl From<RegionAddress> for MemoryAddress {
    fn from(RegionAddress { region, offset }: RegionAddress) -> Self {
        Self { key: region.into(), offset }
    }
}
