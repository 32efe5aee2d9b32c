//! What memory of a rank is named by in requests.

use canele_mem::buffer::RegionAddress;
use canele_sys::ids::RegionId;

use super::exposures::{ExposureKey, FIRST};

/// What memory of a rank is named by.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemoryKey {
    /// A region.
    Region(RegionId),
    /// Memory that was exposed.
    Exposure(ExposureKey),
}

/// A place in memory of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryAddress {
    /// Which memory.
    pub key: MemoryKey,
    /// Bytes from its start; the address, where memory is attached.
    pub offset: u64,
}

impl MemoryKey {
    /// As one word of a message. Keys of exposures have a bit that no region has.
    pub fn to_word(self) -> u64 {
        match self {
            Self::Region(region) => region.to_word(),
            Self::Exposure(key) => key.0,
        }
    }

    /// From such a word.
    pub fn from_word(word: u64) -> Self {
        match word as u32 >= FIRST {
            true => Self::Exposure(ExposureKey(word)),
            false => Self::Region(RegionId::from_word(word)),
        }
    }
}

impl From<RegionId> for MemoryKey {
    fn from(region: RegionId) -> Self {
        Self::Region(region)
    }
}

impl From<ExposureKey> for MemoryKey {
    fn from(key: ExposureKey) -> Self {
        Self::Exposure(key)
    }
}

impl From<RegionAddress> for MemoryAddress {
    fn from(RegionAddress { region, offset }: RegionAddress) -> Self {
        Self { key: region.into(), offset }
    }
}
