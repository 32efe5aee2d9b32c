//! The bytes of a view, in order, as extents of the file.
//!
//! This module owns the iteration. The layout of the datatype gives the place of each byte of a tile. Tiles
//! begin at the displacement and follow each other at the filetype's extent. Positions in the stream count
//! the bytes of the view, without its gaps.

use std::ops::Range;

use canele_mem::layout::Layout;

/// Number of extents that are looked up together.
const BATCH: usize = 512;

/// Tiles of one layout in a file.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    /// Offset of the first tile in the file.
    displacement: u64,
    layout: Layout,
    /// Largest number of extents of one tile.
    blocks: usize,
    order: TileOrder,
    /// Offset of the first tile's extent, if each tile has one extent and offsets do not decrease.
    lone: Option<u64>,
}

/// The part of the stream within which file offsets increase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TileOrder {
    /// The whole stream.
    Always,
    /// The bytes of one tile: the next tile begins before its end.
    WithinTile,
    /// No part: some file offsets occur twice.
    Never,
}

/// A contiguous range of bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extent {
    /// Offset in the file.
    pub offset: u64,
    /// Offset in the stream.
    pub at: usize,
    /// Length in bytes.
    pub len: usize,
}

impl Extent {
    /// Returns the offset behind the last byte in the file.
    pub fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

impl Tiles {
    /// Makes tiles whose displacements are not negative and do not decrease within a tile.
    pub fn new(displacement: u64, layout: Layout) -> Self {
        if layout.is_contiguous() {
            return Self { displacement, layout, blocks: 1, order: TileOrder::Always, lone: None };
        }
        let (mut blocks, mut end, mut order) = (0, isize::MIN, TileOrder::Always);
        layout.stretches(1, 0, layout.size(), |place, _, len| {
            blocks += 1;
            if place < end {
                order = TileOrder::Never;
            }
            end = place.saturating_add_unsigned(len);
        });
        let next = layout.bounds().start.saturating_add(layout.extent());
        if order == TileOrder::Always && (layout.extent() <= 0 || next < end) {
            order = TileOrder::WithinTile;
        }
        let start = u64::try_from(layout.bounds().start).ok();
        let lone =
            start.filter(|_| blocks == 1 && order == TileOrder::Always).map(|start| displacement + start);
        Self { displacement, layout, blocks, order, lone }
    }

    /// Returns the number of bytes of one tile.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Returns true if the stream is one extent.
    pub fn is_dense(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Returns the mean length of an extent.
    pub fn mean_len(&self) -> usize {
        if self.is_dense() { usize::MAX } else { self.size() / self.blocks.max(1) }
    }

    /// Returns true if at least one byte of every `one_of` bytes belongs to the stream.
    pub fn density_at_least(&self, one_of: usize) -> bool {
        self.span() <= self.size().saturating_mul(one_of)
    }

    /// Returns the mean number of bytes between two extents.
    pub fn mean_gap(&self) -> usize {
        self.span().saturating_sub(self.size()) / self.blocks.max(1)
    }

    /// Returns the distance between two tiles, or the bytes that a tile spans.
    fn span(&self) -> usize {
        match self.order {
            TileOrder::Always => self.layout.extent().unsigned_abs(),
            _ => self.layout.bounds().len(),
        }
    }

    /// Returns true if the file offsets of a range of the stream increase.
    pub fn is_ordered(&self, at: usize, len: usize) -> bool {
        match self.order {
            _ if len == 0 => true,
            TileOrder::Always => true,
            TileOrder::WithinTile => at / self.size() == (at + len - 1) / self.size(),
            TileOrder::Never => false,
        }
    }

    /// Returns the lowest and highest file offset of a range of the stream, or a wider range where offsets
    /// decrease.
    pub fn range(&self, at: usize, len: usize) -> (u64, u64) {
        if len == 0 || self.size() == 0 {
            return (0, 0);
        }
        if self.is_ordered(at, len) {
            return (self.offset_of(at), self.offset_of(at + len - 1) + 1);
        }
        let bounds = self.layout.bounds();
        let place = |tile: usize, within: isize| {
            let place = (tile as isize).wrapping_mul(self.layout.extent()).wrapping_add(within);
            self.displacement.wrapping_add_signed(place as i64)
        };
        let (first, last) = (at / self.size(), (at + len - 1) / self.size());
        let start = place(first, bounds.start).min(place(last, bounds.start));
        (start, place(first, bounds.end).max(place(last, bounds.end)))
    }

    /// Returns true if all bytes of a range of the stream have valid file offsets.
    pub fn has_places(&self, at: usize, len: usize) -> bool {
        let Some(end) = at.checked_add(len) else { return false };
        if len == 0 || self.size() == 0 {
            return true;
        }
        let bounds = self.layout.bounds();
        let is_place = |tile: usize| {
            let start = tile as i128 * self.layout.extent() as i128 + i128::from(self.displacement);
            start + bounds.start as i128 >= 0 && start + bounds.end as i128 <= i128::from(i64::MAX)
        };
        is_place(at / self.size()) && is_place((end - 1) / self.size())
    }

    /// Returns the file offset of a byte of the stream; for an empty tile, the offset of the next tile.
    pub fn offset_of(&self, at: usize) -> u64 {
        let size = self.size();
        if size == 0 {
            return self.displacement;
        }
        if self.is_dense() {
            return self.displacement + at as u64;
        }
        if let Some(lone) = self.lone {
            return lone
                + (at / size) as u64 * self.layout.extent().unsigned_abs() as u64
                + (at % size) as u64;
        }
        let mut found = 0;
        self.layout.stretches(at / size + 1, at, 1, |place, _, _| found = place);
        self.displacement.wrapping_add_signed(found as i64)
    }

    /// Returns the number of bytes of the stream before a file offset. Where offsets decrease, it counts up
    /// to the last tile that begins before it.
    pub fn bytes_before(&self, offset: u64) -> usize {
        let Some(within) = offset.checked_sub(self.displacement).filter(|_| self.size() > 0) else {
            return 0;
        };
        if self.is_dense() {
            return within as usize;
        }
        let within = within.saturating_sub(self.layout.bounds().start.unsigned_abs() as u64);
        let extent = u64::try_from(self.layout.extent()).unwrap_or(0);
        let tile = within.checked_div(extent).map_or(0, |tile| usize::try_from(tile).unwrap_or(usize::MAX));
        let start = tile.saturating_mul(self.size());
        self.search(offset, start..start.saturating_add(self.size()))
    }

    /// Returns the first byte of an ordered range of the stream at or behind a file offset. Returns the end
    /// of the range if no byte lies there.
    pub fn first_from(&self, offset: u64, range: Range<usize>) -> usize {
        match self.order {
            TileOrder::Always => self.bytes_before(offset).clamp(range.start, range.end),
            _ => self.search(offset, range),
        }
    }

    fn search(&self, offset: u64, range: Range<usize>) -> usize {
        let (mut low, mut high) = (range.start, range.end);
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

    /// Calls `each` for the extents of a range of the stream, in order.
    #[inline(always)]
    pub fn each(&self, range: Range<usize>, mut each: impl FnMut(Extent)) {
        let Some(lone) = self.lone else {
            return self.extents(range.start, range.len()).for_each(each);
        };
        let (size, extent) = (self.size(), self.layout.extent().unsigned_abs() as u64);
        let (mut at, mut within) = (range.start, range.start % size);
        let mut tile = lone + (range.start / size) as u64 * extent;
        while at < range.end {
            let len = (size - within).min(range.end - at);
            each(Extent { offset: tile + within as u64, at, len });
            (at, within, tile) = (at + len, 0, tile + extent);
        }
    }

    /// Returns the extents of a range of the stream, in order.
    pub fn extents(&self, at: usize, len: usize) -> Extents<'_> {
        Extents { tiles: self, at, end: at + len, batch: Vec::new(), next: 0 }
    }
}

/// An iterator over extents; adjacent extents are mostly merged.
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
            let mut again = Vec::new();
            tiles.each(at..at + len, |extent| again.extend(extent.offset..extent.end()));
            prop_assert_eq!(seen, again);
            prop_assert_eq!(tiles.offset_of(at), places[at]);
            let before = places.iter().filter(|place| **place < offset).count();
            prop_assert_eq!(tiles.bytes_before(offset), before);
            prop_assert_eq!(tiles.first_from(offset, at..at + len), before.clamp(at, at + len));
        }
    }

    #[test]
    fn a_tile_may_reach_beyond_the_next_one() {
        // 4 bytes at 0 and 4 at 20; the next tile begins at 8.
        let parts = [0, 20].map(|at| Layout::block(4).shifted(at).unwrap());
        let tiles = Tiles::new(100, Layout::sequence(parts).unwrap().with_extent(8));
        assert!(tiles.is_ordered(8, 8) && !tiles.is_ordered(7, 2));
        assert_eq!((tiles.range(8, 8), tiles.range(4, 8)), ((108, 132), (100, 132)));
        assert_eq!(tiles.first_from(120, 8..16), 12);
        assert_eq!(tiles.bytes_before(130), 8 * 3 + 4);
        let offsets: Vec<_> = tiles.extents(4, 8).map(|extent| (extent.offset, extent.at)).collect();
        assert_eq!(offsets, [(120, 4), (108, 8)]);
        let back = Tiles::new(10, Layout::block(4).with_extent(-4));
        assert!(back.has_places(0, 12) && !back.has_places(0, 13) && !back.is_ordered(0, 5));
        assert_eq!(back.range(0, 12), (2, 14));
        let twice =
            Tiles::new(0, Layout::sequence([0, 2].map(|at| Layout::block(4).shifted(at).unwrap())).unwrap());
        assert!(!twice.is_ordered(0, 8));
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
