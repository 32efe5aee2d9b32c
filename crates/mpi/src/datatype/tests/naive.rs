//! Type maps as full lists of numbers, the reference for the compact ones.

use std::ops::Range;

use canele_mem::buffer::{RawMut, Readable};

use crate::datatype::{Basic, BasicKind, Distribution, Order};

/// A type map, and the bound markers that resizing left in it.
#[derive(Clone, Debug, Default)]
pub struct Naive {
    pub numbers: Vec<(Basic, isize)>,
    pub marks: Vec<(isize, isize)>,
    /// Bounds of the type maps that this one consists of.
    pub parts: Vec<(isize, isize)>,
}

impl Naive {
    pub fn basic(basic: Basic) -> Self {
        Self { numbers: vec![(basic, 0)], ..Self::default() }
    }

    /// Copies the type map to places, in this order.
    pub fn at(&self, places: impl IntoIterator<Item = isize>) -> Self {
        let mut all = Self::default();
        let (low, extent) = self.bounds();
        for place in places {
            all.parts.push((low + place, low + extent + place));
            all.numbers.extend(self.numbers.iter().map(|(basic, at)| (*basic, at + place)));
            all.marks.extend(self.marks.iter().map(|(low, high)| (low + place, high + place)));
        }
        all
    }

    pub fn and(mut self, more: Self) -> Self {
        self.numbers.extend(more.numbers);
        self.marks.extend(more.marks);
        self.parts.extend(more.parts);
        self
    }

    pub fn resized(&self, low: isize, extent: isize) -> Self {
        Self { marks: vec![(low, low + extent)], ..self.clone() }
    }

    /// Returns elements of an array, chosen by their indexes; `order` says which dimension is the slowest.
    pub fn array(&self, sizes: &[usize], order: Order, chosen: impl Fn(usize, usize) -> bool) -> Self {
        let dimensions: Vec<usize> = match order {
            Order::C => (0..sizes.len()).collect(),
            Order::Fortran => (0..sizes.len()).rev().collect(),
        };
        let mut places = vec![0];
        for i in dimensions {
            let next = |place: &isize| {
                let place = *place * sizes[i] as isize;
                (0..sizes[i])
                    .filter(|index| chosen(i, *index))
                    .map(|index| place + index as isize)
                    .collect::<Vec<_>>()
            };
            places = places.iter().flat_map(next).collect();
        }
        let extent = self.bounds().1;
        let all = extent * sizes.iter().product::<usize>() as isize;
        self.at(places.into_iter().map(|place| place * extent)).resized(0, all)
    }

    /// Returns the places of the bytes, in packed order.
    pub fn bytes(&self) -> Vec<isize> {
        let block = |at: isize, len: usize| at..at + len as isize;
        let one = |(basic, at): &(Basic, isize)| match basic.kind() {
            BasicKind::Pair(value, index) => {
                let index_at = at + value.size().next_multiple_of(index.size()) as isize;
                block(*at, value.size()).chain(block(index_at, index.size()))
            }
            _ => block(*at, basic.size()).chain(0..0),
        };
        self.numbers.iter().flat_map(one).collect()
    }

    /// Returns the sizes of the numbers; a pair counts as two.
    pub fn sizes(&self) -> Vec<usize> {
        let one = |(basic, _): &(Basic, isize)| match basic.kind() {
            BasicKind::Pair(value, index) => vec![value.size(), index.size()],
            _ => vec![basic.size()],
        };
        self.numbers.iter().flat_map(one).collect()
    }

    pub fn true_bounds(&self) -> (isize, isize) {
        let bytes = self.bytes();
        let low = bytes.iter().min().copied().unwrap_or(0);
        (low, bytes.iter().max().map_or(0, |high| high + 1 - low))
    }

    /// Returns the lower bound and the extent.
    pub fn bounds(&self) -> (isize, isize) {
        if !self.marks.is_empty() {
            let low = self.marks.iter().map(|mark| mark.0).min().unwrap();
            return (low, self.marks.iter().map(|mark| mark.1).max().unwrap() - low);
        }
        if self.numbers.is_empty() {
            return (0, 0);
        }
        let (low, extent) = self.true_bounds();
        let high = self.parts.iter().map(|part| part.1).fold(low + extent, isize::max);
        let low = self.parts.iter().map(|part| part.0).fold(low, isize::min);
        let mut extent = high - low;
        let alignment = self.numbers.iter().map(|(basic, _)| basic.alignment()).max().unwrap_or(1);
        while extent % alignment as isize != 0 {
            extent += 1;
        }
        (low, extent)
    }

    /// Returns the places of the bytes of `count` elements, in packed order.
    pub fn of(&self, count: usize) -> Vec<isize> {
        let extent = self.bounds().1;
        self.at((0..count as isize).map(|i| i * extent)).bytes()
    }
}

/// Returns true if an index belongs to the process at a place along a dimension.
pub fn owns(
    index: usize,
    size: usize,
    how: Distribution,
    block: Option<i64>,
    processes: usize,
    place: usize,
) -> bool {
    match how {
        Distribution::None => true,
        Distribution::Block => {
            index / block.map_or(size.div_ceil(processes), |block| block as usize) == place
        }
        Distribution::Cyclic => index / block.unwrap_or(1) as usize % processes == place,
    }
}

/// Makes memory for a range of places and the place 0, filled with bytes that differ.
pub fn memory(span: Range<isize>, seed: usize) -> RawMut {
    let (before, behind) = (span.start.min(0).unsigned_abs(), span.end.max(0).unsigned_abs());
    let bytes: Vec<u8> = (0..before + behind).map(|i| (seed + i * 7 + i / 251) as u8).collect();
    RawMut::of(bytes.leak(), before)
}

/// Reads the bytes at places.
pub fn read(raw: &impl Readable, places: &[isize]) -> Vec<u8> {
    places.iter().map(|at| raw.bytes(*at, 1)[0]).collect()
}
