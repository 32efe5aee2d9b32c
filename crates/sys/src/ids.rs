//! Identifiers of things inside a job: small `Copy` numbers, one type per kind, so that a tag cannot be
//! passed for a rank.
//!
//! Owns these types and how they are printed. Never checks that an identified thing exists: its holder does.

use core::fmt;

/// A process of the job, counted from zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Rank(pub u32);

/// The label that a sender puts on a message and that a receiver may select by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Tag(pub u32);

/// A flow: a space of messages that match only each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct FlowId(pub u32);

/// A link to one peer over one rail: the number of the rail among those of this rank, and the peer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(u32);

impl LinkId {
    /// The number of bits of the peer's rank.
    const PEER_BITS: u32 = 24;
    /// The number of ranks of a job that can be named.
    pub const MOST_RANKS: u32 = 1 << Self::PEER_BITS;

    /// Returns the link to `peer` over the rail number `rail`.
    #[inline(always)]
    pub const fn new(rail: u8, peer: Rank) -> Self {
        Self((rail as u32) << Self::PEER_BITS | peer.0)
    }

    /// Returns the link to `peer` over shared memory, which is the first rail.
    #[inline(always)]
    pub const fn in_memory(peer: Rank) -> Self {
        Self::new(0, peer)
    }

    /// Returns the number of the rail.
    #[inline(always)]
    pub const fn rail(self) -> u8 {
        (self.0 >> Self::PEER_BITS) as u8
    }

    /// Returns the peer.
    #[inline(always)]
    pub const fn peer(self) -> Rank {
        Rank(self.0 & ((1 << Self::PEER_BITS) - 1))
    }
}

impl fmt::Debug for LinkId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "link to {} over rail {}", self.peer().0, self.rail())
    }
}

/// The identifier of an operation: its slot in a table, and the slot's generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RequestId {
    /// The slot in the table.
    pub index: u32,
    /// Counts the uses of that slot, so that a stale id differs from a live one.
    pub generation: u32,
}

/// The identifier of a registered region of memory: its slot in a table, and the slot's generation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RegionId {
    /// The slot in the table.
    pub index: u32,
    /// Counts the uses of that slot, so that a stale id differs from a live one.
    pub generation: u32,
}

impl RegionId {
    /// Encodes the id as one word of a message.
    pub fn to_word(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// Decodes an id from such a word.
    pub fn from_word(word: u64) -> Self {
        Self { index: word as u32, generation: (word >> 32) as u32 }
    }
}

/// The key under which a rank has exposed memory to others. It is never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExposureKey(pub u64);

impl ExposureKey {
    /// A bit of the low word that is set in keys of exposures and clear in those of regions.
    const MARK: u32 = 1 << 31;

    /// Returns the key of a slot in the table of exposures, for this generation of the slot.
    pub fn new(index: usize, generation: u32) -> Self {
        Self(u64::from(Self::MARK | index as u32) | u64::from(generation) << 32)
    }

    /// Returns the slot in the table and its generation.
    pub fn parts(self) -> Option<(usize, u32)> {
        Some(((self.0 as u32).checked_sub(Self::MARK)? as usize, (self.0 >> 32) as u32))
    }
}

/// The key that names memory of a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MemoryKey {
    /// A region.
    Region(RegionId),
    /// Exposed memory.
    Exposure(ExposureKey),
}

impl MemoryKey {
    /// Encodes the key as one word of a message.
    pub fn to_word(self) -> u64 {
        match self {
            Self::Region(region) => region.to_word(),
            Self::Exposure(key) => key.0,
        }
    }

    /// Decodes a key from such a word.
    pub fn from_word(word: u64) -> Self {
        match word as u32 >= ExposureKey::MARK {
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

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}", self.0)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tag {}", self.0)
    }
}
