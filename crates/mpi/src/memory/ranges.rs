//! The free and the allocated parts of some memory. This module owns only the records of these parts, which
//! peers cannot access.
//!
//! A piece is allocated from the shortest free range that is long enough. It is merged with its free
//! neighbours when it is freed. Both take logarithmic time in the number of pieces.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Granularity of pieces in bytes: a cache line.
pub(super) const UNIT: usize = 64;

/// The records: ranges that begin and end at multiples of [`UNIT`].
#[derive(Debug)]
pub(super) struct Ranges<T> {
    /// The start of each added range. Free parts of two added ranges are never merged, even if they are
    /// adjacent.
    starts: BTreeSet<usize>,
    /// Start and length of the free parts; none has a free neighbour in its range.
    free: BTreeMap<usize, usize>,
    /// Length and start of the free parts.
    by_len: BTreeSet<(usize, usize)>,
    /// Length of each allocated piece, by its start, and the tag of its user.
    taken: HashMap<usize, (usize, T)>,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self {
            starts: BTreeSet::new(),
            free: BTreeMap::new(),
            by_len: BTreeSet::new(),
            taken: HashMap::new(),
        }
    }
}

impl<T: Copy> Ranges<T> {
    /// Adds a range, all of which is free.
    pub(super) fn add(&mut self, start: usize, len: usize) {
        debug_assert!(start.is_multiple_of(UNIT) && len.is_multiple_of(UNIT) && len > 0);
        self.starts.insert(start);
        self.insert_free(start, len);
    }

    /// Allocates `bytes` bytes, at least one, at a multiple of `align`, a power of two; returns the start.
    pub(super) fn take(&mut self, bytes: usize, align: usize, of: T) -> Option<usize> {
        let len = bytes.max(1).checked_next_multiple_of(UNIT)?;
        let most = len.checked_add(align.saturating_sub(UNIT))?;
        // This range has room for any alignment; a shorter one might be aligned by chance.
        let (free, from) = *self.by_len.range((most, 0)..).next()?;
        let start = from.next_multiple_of(align.max(UNIT));
        self.remove_free(from, free);
        if start > from {
            self.insert_free(from, start - from);
        }
        if start + len < from + free {
            self.insert_free(start + len, from + free - start - len);
        }
        self.taken.insert(start, (len, of));
        Some(start)
    }

    /// Returns the tag of the piece that begins at `start`.
    pub(super) fn taken(&self, start: usize) -> Option<T> {
        self.taken.get(&start).map(|(_, of)| *of)
    }

    /// Frees the piece that begins at `start`; returns its length.
    pub(super) fn give(&mut self, start: usize) -> Option<usize> {
        let (len, _) = self.taken.remove(&start)?;
        let (mut from, mut end) = (start, start + len);
        if !self.starts.contains(&start)
            && let Some((before, before_len)) =
                self.free.range(..start).next_back().map(|(at, len)| (*at, *len))
            && before + before_len == start
        {
            self.remove_free(before, before_len);
            from = before;
        }
        if !self.starts.contains(&end)
            && let Some(&behind) = self.free.get(&end)
        {
            self.remove_free(end, behind);
            end += behind;
        }
        self.insert_free(from, end - from);
        Some(len)
    }

    /// Returns start and length of all free parts of at least this length.
    pub(super) fn free(&self, least: usize) -> impl Iterator<Item = (usize, usize)> {
        self.by_len.range((least, 0)..).map(|&(len, start)| (start, len))
    }

    fn insert_free(&mut self, start: usize, len: usize) {
        self.free.insert(start, len);
        self.by_len.insert((len, start));
    }

    fn remove_free(&mut self, start: usize, len: usize) {
        self.free.remove(&start);
        self.by_len.remove(&(len, start));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAGE: usize = 4096;

    #[test]
    fn neighbours_are_joined_but_not_beyond_their_stretch() {
        let mut ranges = Ranges::default();
        ranges.add(PAGE, PAGE);
        ranges.add(2 * PAGE, PAGE);
        let pieces: Vec<usize> = (0..2 * PAGE / UNIT).map(|_| ranges.take(1, 1, ()).unwrap()).collect();
        assert_eq!(ranges.take(1, 1, ()), None);
        for piece in pieces {
            assert_eq!(ranges.give(piece), Some(UNIT));
            assert_eq!(ranges.give(piece), None, "it was given back");
        }
        let mut free: Vec<_> = ranges.free(1).collect();
        free.sort_unstable();
        assert_eq!(free, [(PAGE, PAGE), (2 * PAGE, PAGE)]);
        assert_eq!(ranges.take(PAGE + 1, 1, ()), None);
    }

    #[test]
    fn the_shortest_range_that_is_long_enough_is_taken() {
        let mut ranges = Ranges::default();
        ranges.add(0, 16 * UNIT);
        let pieces: Vec<usize> = [4, 1, 2, 1, 8].map(|n| ranges.take(n * UNIT, 1, ()).unwrap()).into();
        for piece in [0, 2, 4] {
            ranges.give(pieces[piece]);
        }
        assert_eq!(ranges.take(2 * UNIT, 1, ()), Some(pieces[2]));
        assert_eq!(ranges.take(3 * UNIT, 1, ()), Some(pieces[0]));
        assert_eq!(ranges.take(usize::MAX, 1, ()), None);
    }

    proptest! {
        /// Pieces lie apart from each other, inside of a stretch, and where they were asked to; in the end all is free again.
        #[test]
        fn pieces_never_overlap(calls in prop::collection::vec((1usize..3000, 0u32..14, any::<bool>()), 1..200)) {
            let mut ranges = Ranges::default();
            let stretches = [(64 * PAGE, 8 * PAGE), (72 * PAGE, 8 * PAGE), (128 * PAGE, 4 * PAGE)];
            stretches.into_iter().for_each(|(start, len)| ranges.add(start, len));
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (bytes, align, give) in calls {
                if give && !taken.is_empty() {
                    let (start, _) = taken.swap_remove(bytes % taken.len());
                    prop_assert!(ranges.give(start).is_some());
                } else if let Some(start) = ranges.take(bytes, 1 << align, bytes) {
                    prop_assert!(start.is_multiple_of(1 << align));
                    prop_assert_eq!(ranges.taken(start), Some(bytes));
                    let end = start + bytes;
                    prop_assert!(stretches.iter().any(|(from, len)| *from <= start && end <= from + len));
                    prop_assert!(taken.iter().all(|(other, len)| end <= *other || other + len <= start));
                    taken.push((start, bytes));
                }
            }
            for (start, _) in taken {
                ranges.give(start);
            }
            let mut free: Vec<_> = ranges.free(1).collect();
            free.sort_unstable();
            prop_assert_eq!(free, stretches);
        }
    }
}
