//! The bytes of a view in their order, as stretches of the file.
//!
//! Owns the walk. The datatype's layout says where the bytes of one tile lie; tiles follow each other at the distance of the filetype's
//! extent, from the displacement on. Positions in the stream count the bytes of the view, without its gaps.

use canele_mem::layout::Layout;

/// Stretches that are looked up together.
const BATCH: usize = 512;

/// Tiles of one layout in a file.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// Where the first tile begins.
    displacement: u64,
    layout: Layout,
    /// Stretches of one tile, at most.
    blocks: usize,
}

/// A stretch of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Where it begins in the file.
    pub offset: u64,
    /// Where it begins in the stream.
    pub at: usize,
    /// Bytes.
    pub len: usize,
}

impl Extent {
    /// Behind its last byte in the file.
    pub fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

impl Tiles {
    /// Tiles whose stretches lie at places that are not negative and do not decrease.
    pub fn new(displacement: u64, layout: Layout) -> Self {
        let mut blocks = 0;
        if layout.is_contiguous() {
            blocks = 1;
        } else {
            layout.stretches(1, 0, layout.size(), |_, _, _| blocks += 1);
        }
        Self { displacement, layout, blocks }
    }

    /// Bytes of one tile.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Whether the stream is one stretch.
    pub fn is_dense(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The mean length of a stretch.
    pub fn mean_len(&self) -> usize {
        if self.is_dense() { usize::MAX } else { self.size() / self.blocks.max(1) }
    }

    /// Whether at least one byte of so many belongs to the stream.
    pub fn density_at_least(&self, one_of: usize) -> bool {
        self.layout.extent().unsigned_abs() <= self.size().saturating_mul(one_of)
    }

    /// Whether all bytes of a range of the stream have places that a file can have.
    pub fn has_places(&self, at: usize, len: usize) -> bool {
        let Some(end) = at.checked_add(len) else { return false };
        if len == 0 || self.size() == 0 {
            return true;
        }
        let tile = (end - 1) / self.size();
        let high = tile as i128 * self.layout.extent() as i128 + self.layout.bounds().end as i128;
        high + i128::from(self.displacement) <= i128::from(i64::MAX)
    }

    /// Where a byte of the stream lies in the file; the place of the next tile where there are none.
    pub fn offset_of(&self, at: usize) -> u64 {
        let size = self.size();
        if size == 0 {
            return self.displacement;
        }
        if self.is_dense() {
            return self.displacement + at as u64;
        }
        let mut found = 0;
        self.layout.stretches(at / size + 1, at, 1, |place, _, _| found = place);
        self.displacement.wrapping_add_signed(found as i64)
    }

    /// Bytes of the stream that lie before a place of the file.
    pub fn bytes_before(&self, offset: u64) -> usize {
        let size = self.size();
        if offset <= self.displacement || size == 0 {
            return 0;
        }
        let within = offset - self.displacement;
        if self.is_dense() {
            return within as usize;
        }
        let extent = self.layout.extent().max(1) as u64;
        let tile = usize::try_from(within / extent).unwrap_or(usize::MAX);
        let low = tile.saturating_sub(1).saturating_mul(size);
        let high = tile.saturating_add(1).saturating_mul(size);
        // The first byte at or behind the place.
        let (mut low, mut high) = (low, high);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset_of(middle) < offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The stretches of a range of the stream, in their order.
    pub fn extents(&self, at: usize, len: usize) -> Extents<'_> {
        Extents { tiles: self, at, end: at + len, batch: Vec::new(), next: 0 }
    }
}

/// An iterator over stretches: neighbours that touch are mostly one.
pub(super) struct Extents<'a> {
    tiles: &'a Tiles,
    /// The first byte of the stream that has not been looked up.
    at: usize,
    end: usize,
    batch: Vec<Extent>,
    next: usize,
}

impl Extents<'_> {
    fn look_up(&mut self) {
        self.batch.clear();
        self.next = 0;
        let (tiles, left) = (self.tiles, self.end - self.at);
        if tiles.size() == 0 || left == 0 {
            return;
        }
        if tiles.is_dense() {
            self.batch.push(Extent { offset: tiles.displacement + self.at as u64, at: self.at, len: left });
            self.at = self.end;
            return;
        }
        let len = tiles.mean_len().max(1).saturating_mul(BATCH).min(left);
        let (start, batch) = (self.at, &mut self.batch);
        tiles.layout.stretches((start + len).div_ceil(tiles.size()), start, len, |place, done, len| {
            let offset = tiles.displacement.wrapping_add_signed(place as i64);
            match batch.last_mut() {
                Some(last) if last.end() == offset => last.len += len,
                _ => batch.push(Extent { offset, at: start + done, len }),
            }
        });
        self.at += len;
    }
}

impl Iterator for Extents<'_> {
    type Item = Extent;

    fn next(&mut self) -> Option<Extent> {
        if self.next == self.batch.len() {
            self.look_up();
        }
        let extent = *self.batch.get(self.next)?;
        self.next += 1;
        Some(extent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gaps and lengths of the stretches of a tile, and how far the next tile is beyond the last.
    fn tile() -> impl Strategy<Value = (Vec<(usize, usize)>, usize)> {
        (prop::collection::vec((0usize..7, 1usize..9), 1..6), 0usize..5)
    }

    fn layout(stretches: &[(usize, usize)], beyond: usize) -> Layout {
        let mut at = 0;
        let parts: Vec<_> = stretches
            .iter()
            .map(|(gap, len)| {
                at += gap;
                let part = Layout::block(*len).shifted(at as isize).unwrap();
                at += len;
                part
            })
            .collect();
        Layout::sequence(parts).unwrap().with_extent((at + beyond) as isize)
    }

    /// The place of each byte of the stream, one by one.
    fn places(stretches: &[(usize, usize)], beyond: usize, displacement: u64, tiles: usize) -> Vec<u64> {
        let extent: usize = stretches.iter().map(|(gap, len)| gap + len).sum::<usize>() + beyond;
        let mut all = Vec::new();
        for tile in 0..tiles {
            let mut at = tile * extent;
            for (gap, len) in stretches {
                at += gap;
                all.extend((at..at + len).map(|place| displacement + place as u64));
                at += len;
            }
        }
        all
    }

    proptest! {
        #[test]
        fn a_view_is_the_places_of_its_bytes(
            (stretches, beyond) in tile(),
            displacement in 0u64..100,
            range in (0usize..60, 0usize..80),
            offset in 0u64..400,
        ) {
            let places = places(&stretches, beyond, displacement, 400);
            let tiles = Tiles::new(displacement, layout(&stretches, beyond));
            let (at, len) = range;
            let mut seen = Vec::new();
            for extent in tiles.extents(at, len) {
                prop_assert_eq!(extent.at, at + seen.len());
                prop_assert!(extent.len > 0);
                seen.extend((extent.offset..extent.end()).collect::<Vec<_>>());
            }
            prop_assert_eq!(&seen[..], &places[at..at + len]);
            prop_assert_eq!(tiles.offset_of(at), places[at]);
            prop_assert_eq!(tiles.bytes_before(offset), places.iter().filter(|place| **place < offset).count());
        }
    }

    #[test]
    fn a_dense_view_is_one_stretch() {
        let tiles = Tiles::new(5, Layout::block(4));
        let all: Vec<_> = tiles.extents(3, 1 << 40).collect();
        assert_eq!(all, [Extent { offset: 8, at: 3, len: 1 << 40 }]);
        assert!(tiles.has_places(0, 1 << 62) && !tiles.has_places(usize::MAX - 3, 4));
    }

    #[test]
    fn a_view_without_bytes_has_no_stretches() {
        let tiles = Tiles::new(5, Layout::block(0));
        assert_eq!((tiles.extents(0, 0).count(), tiles.bytes_before(100), tiles.offset_of(0)), (0, 0, 5));
    }
}
