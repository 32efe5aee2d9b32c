//! A type map, compiled: where the bytes lie, which numbers they are, and the marks that set its bounds (MPI 5.0, §5.1).
//!
//! Owns the rules of bounds and extents. A map is made of others by copying them at equal distances or at listed places, moving
//! them and putting them one after the other; all constructors are made of these four.

use canele_mem::layout::{Layout, LayoutBuilder};

use super::basic::{Basic, BasicKind};
use super::elements::BasicElements;

/// A type map.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub layout: Layout,
    pub elements: BasicElements,
    /// Bounds of all bytes and of the datatypes inside, with their padding.
    padded: (isize, isize),
    /// The lowest mark of a lower bound and the highest of an upper one, set by resizing something inside.
    marks: Option<(isize, isize)>,
    /// What the addresses of all its numbers are multiples of.
    alignment: usize,
}

impl Map {
    pub fn empty() -> Self {
        Self {
            layout: Layout::block(0),
            elements: BasicElements::NONE,
            padded: (0, 0),
            marks: None,
            alignment: 1,
        }
    }

    pub fn basic(basic: Basic) -> Self {
        let layout = match basic.kind() {
            BasicKind::Pair(value, index) => {
                let at = Basic::index_at(value, index) as isize;
                let index = Layout::block(index.size()).shifted(at);
                let parts = [Some(Layout::block(value.size())), index];
                Layout::sequence(parts.into_iter().flatten()).unwrap_or_else(|| Layout::block(0))
            }
            _ => Layout::block(basic.size()),
        };
        let padded = (layout.bounds().start, layout.bounds().end);
        Self {
            layout,
            elements: BasicElements::Run(basic, 1),
            padded,
            marks: None,
            alignment: basic.alignment(),
        }
    }

    /// Copies, `stride` bytes apart; nothing where they exceed an address space.
    pub fn repeated(&self, count: usize, stride: isize) -> Option<Self> {
        if count == 0 {
            return Some(Self::empty());
        }
        let last = isize::try_from(count - 1).ok()?.checked_mul(stride)?;
        Some(Self {
            layout: self.layout.repeated(count, stride)?,
            elements: self.elements.repeated(count)?,
            ..self.spread(last.min(0), last.max(0))?
        })
    }

    /// Moved by so many bytes; nothing where it leaves an address space.
    pub fn shifted(&self, by: isize) -> Option<Self> {
        Some(Self { layout: self.layout.shifted(by)?, ..self.spread(by, by)? })
    }

    /// The same with all bounds moved; nothing where they leave an address space.
    fn spread(&self, low: isize, high: isize) -> Option<Self> {
        let moved =
            |(lower, higher): (isize, isize)| Some((lower.checked_add(low)?, higher.checked_add(high)?));
        let marks = match self.marks {
            Some(marks) => Some(moved(marks)?),
            None => None,
        };
        Some(Self { padded: moved(self.padded)?, marks, ..self.clone() })
    }

    /// Blocks of elements that lie as `layout` says, which has the extent of the datatype: each has a place and a number of elements.
    /// Nothing where a block is nothing or they exceed an address space.
    pub fn indexed(
        &self,
        layout: &Layout,
        blocks: impl ExactSizeIterator<Item = Option<(isize, usize)>>,
    ) -> Option<Self> {
        let mut all = LayoutBuilder::new(blocks.len());
        all.push_blocks(layout, blocks)?;
        let (layout, span) = all.build()?;
        let Some(span) = span else { return Some(Self::empty()) };
        let elements = self.elements.repeated(span.copies)?;
        Some(Self { layout, elements, ..self.spread(span.lowest, span.highest)? })
    }

    /// One after the other, each so many elements from a place on; nothing where they exceed an address space. The layouts have the
    /// extents of the datatypes.
    pub fn sequence<'a>(
        parts: impl ExactSizeIterator<Item = (&'a Map, &'a Layout, isize, usize)>,
    ) -> Option<Self> {
        let mut layout = LayoutBuilder::new(parts.len());
        let mut elements = Vec::with_capacity(parts.len());
        let (mut padded, mut marks, mut alignment) = (None, None, 1);
        for (map, old, place, count) in parts.filter(|part| part.3 > 0) {
            layout.push(old, place, count)?;
            elements.push(map.elements.repeated(count)?);
            let last = isize::try_from(count - 1).ok()?.checked_mul(old.extent())?.checked_add(place)?;
            let moved = |(low, high): (isize, isize)| {
                Some((low.checked_add(place.min(last))?, high.checked_add(place.max(last))?))
            };
            padded = widest(padded, Some(moved(map.padded)?));
            if let Some(bounds) = map.marks {
                marks = widest(marks, Some(moved(bounds)?));
            }
            alignment = alignment.max(map.alignment);
        }
        let (layout, _) = layout.build()?;
        let elements = BasicElements::sequence(elements)?;
        Some(Self { layout, elements, padded: padded.unwrap_or((0, 0)), marks, alignment })
    }

    /// With these bounds, whatever it had; nothing where they exceed an address space.
    pub fn bounded(self, low: isize, extent: isize) -> Option<Self> {
        Some(Self { marks: Some((low, low.checked_add(extent)?)), ..self })
    }

    /// The lower bound and the extent. Without marks the extent is rounded up so that the numbers of the next element are as
    /// aligned as those of this one.
    ///
    /// That is what the standard says (§5.1.7), but for datatypes made of others: of these it asks for the same as if their
    /// padding were not there, nor what has no bytes. That matters only where they lie at places that do not suit them, or
    /// behind all bytes; MPICH (in structs) and Open MPI (everywhere) count both, and so do we.
    pub fn bounds(&self) -> Option<(isize, isize)> {
        let (low, high) = match self.marks {
            Some((low, high)) => return Some((low, high.checked_sub(low)?)),
            None if self.layout.size() == 0 => (0, 0),
            None => self.padded,
        };
        let extent = high.checked_sub(low)?.unsigned_abs().checked_next_multiple_of(self.alignment)?;
        Some((low, isize::try_from(extent).ok()?))
    }

    /// As a part of others: with its own padding.
    pub fn padded(self) -> Option<Self> {
        let (low, extent) = self.bounds()?;
        Some(Self { padded: (low, low.checked_add(extent)?), ..self })
    }
}

/// What holds both bounds.
fn widest(a: Option<(isize, isize)>, b: Option<(isize, isize)>) -> Option<(isize, isize)> {
    match (a, b) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (one, None) | (None, one) => one,
    }
}
