//! Stretches of memory that transfers under way touch.

use std::collections::BTreeMap;

use super::{MemoryAddress, MemoryKey};

/// Stretches of memory, none of which overlaps another: the end of each, by its memory and start.
pub struct RangeSet<K = MemoryKey>(BTreeMap<(K, u64), u64>);

impl<K> Default for RangeSet<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl RangeSet {
    /// Adds a stretch that overlaps no other.
    pub fn insert(&mut self, place: MemoryAddress, len: u64) {
        self.insert_at(place.key, place.offset, len);
    }

    /// Removes the stretch of `len` bytes that begins at a place.
    pub fn remove(&mut self, place: MemoryAddress, len: u64) {
        if len > 0 {
            self.0.remove(&(place.key, place.offset));
        }
    }

    /// Returns true if one of them overlaps `len` bytes at a place.
    pub fn overlap(&self, place: MemoryAddress, len: u64) -> bool {
        self.overlap_at(place.key, place.offset, len)
    }
}

impl<K: Ord + Copy> RangeSet<K> {
    fn insert_at(&mut self, key: K, offset: u64, len: u64) {
        if len > 0 {
            self.0.insert((key, offset), offset.saturating_add(len));
        }
    }

    /// Checks the last stretch that begins before the end: all before it end before it begins.
    fn overlap_at(&self, key: K, offset: u64, len: u64) -> bool {
        let end = offset.saturating_add(len);
        let before = self.0.range((key, 0)..(key, end)).next_back();
        len > 0 && before.is_some_and(|(_, other_end)| *other_end > offset)
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::RegionId;

    use super::*;
    use crate::compared::{Counted, comparisons};

    #[test]
    fn a_stretch_overlaps_what_it_shares_a_byte_with() {
        let key = MemoryKey::Region(RegionId { index: 1, generation: 2 });
        let at = |offset| MemoryAddress { key, offset };
        let mut ranges = RangeSet::default();
        ranges.insert(at(100), 50);
        ranges.insert(at(150), 0);
        ranges.insert(at(200), 1);
        for (offset, len, overlaps) in [
            (0, 100, false),
            (0, 101, true),
            (99, 2, true),
            (110, 5, true),
            (110, 0, false),
            (149, 1, true),
            (150, 50, false),
            (150, 51, true),
            (201, u64::MAX, false),
            (0, u64::MAX, true),
        ] {
            assert_eq!(ranges.overlap(at(offset), len), overlaps, "{offset} {len}");
        }
        let other = MemoryKey::Region(RegionId { index: 1, generation: 3 });
        assert!(!ranges.overlap(MemoryAddress { key: other, offset: 100 }, 50));
        ranges.remove(at(150), 0);
        ranges.remove(at(100), 50);
        assert!(!ranges.overlap(at(100), 50) && ranges.overlap(at(200), 1));
    }

    #[test]
    fn many_stretches_cost_a_few_comparisons_each() {
        let mut ranges = RangeSet::default();
        let before = comparisons();
        for n in 0..4096 {
            assert!(!ranges.overlap_at(Counted(0), n * 64, 64));
            ranges.insert_at(Counted(0), n * 64, 64);
        }
        assert!(comparisons() - before < 4096 * 100);
    }
}
