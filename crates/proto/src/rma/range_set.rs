//! Stretches of regions into which data is being received.

use std::collections::BTreeMap;

use canele_mem::buffer::RegionAddress;
use canele_sys::ids::RegionId;

/// Stretches of regions, none of which overlaps another: the end of each, by its region and start.
pub struct RangeSet<R = RegionId>(BTreeMap<(R, u64), u64>);

impl<R> Default for RangeSet<R> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl RangeSet {
    /// Adds a stretch that overlaps no other.
    pub fn insert(&mut self, place: RegionAddress, len: u64) {
        self.insert_at(place.region, place.offset, len);
    }

    /// Removes the stretch of `len` bytes that begins at a place.
    pub fn remove(&mut self, place: RegionAddress, len: u64) {
        if len > 0 {
            self.0.remove(&(place.region, place.offset));
        }
    }

    /// True if one of them overlaps `len` bytes at a place.
    pub fn overlap(&self, place: RegionAddress, len: u64) -> bool {
        self.overlap_at(place.region, place.offset, len)
    }
}

impl<R: Ord + Copy> RangeSet<R> {
    fn insert_at(&mut self, region: R, offset: u64, len: u64) {
        if len > 0 {
            self.0.insert((region, offset), offset.saturating_add(len));
        }
    }

    /// Only the last stretch that begins before the end can overlap: those before it end before it begins.
    fn overlap_at(&self, region: R, offset: u64, len: u64) -> bool {
        let end = offset.saturating_add(len);
        let before = self.0.range((region, 0)..(region, end)).next_back();
        len > 0 && before.is_some_and(|(_, other_end)| *other_end > offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compared::{Counted, comparisons};

    #[test]
    fn a_stretch_overlaps_what_it_shares_a_byte_with() {
        let region = RegionId { index: 1, generation: 2 };
        let at = |offset| RegionAddress { region, offset };
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
        let other = RegionId { index: 1, generation: 3 };
        assert!(!ranges.overlap(RegionAddress { region: other, offset: 100 }, 50));
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
