//! The content that the memory of each owner must have, as far as it is determined.

use super::operations::{FOLD, apply};

/// The number of words that all ranks add to.
pub const SUMS: usize = 700;
/// The number of bytes that each rank alone puts and gets.
pub const AREA: usize = 30_000;

/// The indices of an owner's words before the sums: fetched, replaced, locked, then one of each origin whose
/// order matters.
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
    /// Words fetched and added to; words replaced; sections done with the lock, and sections begun.
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

    /// Compares this with the owner's memory. If the origin `is_dead`, nothing is compared, for part may
    /// be missing.
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

/// Checks that a word that all ranks count in is within `least` and `most`. The ranks may have counted more
/// before they died.
pub fn check_sum(what: &str, there: u64, least: u64, most: u64) -> Result<(), String> {
    if (least..=most).contains(&there) {
        return Ok(());
    }
    Err(format!("{what}: {there} instead of {least} to {most}"))
}
