//! The content that the memory of each owner must have, as far as it is determined.

use super::operations::{FOLD, apply};

/// The number of words that all ranks add to.
pub const SUMS: usize = 700;
/// The number of bytes that each rank alone puts and gets.
pub const AREA: usize = 30_000;

/// The index of the word that ranks fetch and add to. The next constants are the indices of three more words:
/// one that ranks replace, one that the lock protects, and the first whose order matters. There is one of the
/// last kind for each origin.
pub const FETCHED: usize = 0;
pub const REPLACED: usize = 1;
pub const LOCKED: usize = 2;
pub const ORDERED: usize = 3;

/// Returns the place where the sums of an owner begin, in bytes.
pub fn sums_at(ranks: usize) -> usize {
    8 * (ORDERED + ranks)
}

/// Returns the place where the area of an origin begins, in bytes.
pub fn area_at(ranks: usize, origin: usize) -> usize {
    sums_at(ranks) + 8 * SUMS + origin * AREA
}

/// The accesses of one origin to one owner.
#[derive(Clone)]
pub struct Done {
    pub area: Vec<u8>,
    pub sums: Vec<u64>,
    pub ordered: u64,
    /// The number of times that the origin fetched a word and added to it. The next fields are the fetched
    /// values, the successful replaces, the sections done and begun with the lock, and all replaces.
    pub fetches: u64,
    pub fetched: Vec<u64>,
    pub replaced: u64,
    pub sections: u64,
    pub sections_begun: u64,
    pub replaces: u64,
}

impl Default for Done {
    fn default() -> Self {
        Self {
            area: vec![0; AREA],
            sums: vec![0; SUMS],
            ordered: 0,
            fetches: 0,
            fetched: Vec::new(),
            replaced: 0,
            sections: 0,
            sections_begun: 0,
            replaces: 0,
        }
    }
}

impl Done {
    pub fn fold(&mut self, n: u64) {
        self.ordered = apply(FOLD, self.ordered, n);
    }

    /// Compares the accesses of this origin with the owner's memory. If the origin `is_dead`, nothing is
    /// compared, because some accesses may be missing.
    pub fn check_own(&self, ordered: u64, area: &[u8], is_dead: bool) -> Result<(), String> {
        if is_dead {
            return Ok(());
        }
        if ordered != self.ordered {
            return Err(format!("accumulates in another order: {ordered:#x} instead of {:#x}", self.ordered));
        }
        match area.iter().zip(&self.area).position(|(there, own)| there != own) {
            Some(at) => {
                Err(format!("byte {at} of what was put is {} instead of {}", area[at], self.area[at]))
            }
            None => Ok(()),
        }
    }
}

/// Checks that a word that all ranks add to is between `least` and `most`. The two differ if ranks died,
/// since they may have added more than is known.
pub fn check_sum(what: &str, there: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&there) {
        return Ok(());
    }
    Err(format!("{what}: {there} instead of {least} to {most}"))
}
