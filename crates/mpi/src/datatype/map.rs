//! A compiled type map: its bytes, its numbers, and the marks that set its bounds (MPI 5.0, §5.1).
//!
//! This module owns the rules of bounds and extents. A map is made of other maps by repetition, by placement
//! at displacements, by shifting and by concatenation. All constructors use these four operations.

use canele_mem::layout::{Layout, LayoutBuilder};

use super::basic::{Basic, BasicKind};
use super::elements::BasicElements;

/// A type map.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub layout: Layout,
    pub elements: BasicElements,
    /// Bounds of all bytes and of the inner datatypes with their padding.
    padded: (isize, isize),
    /// The lowest mark of a lower bound and the highest of an upper one, set by resized inner datatypes.
    marks: Option<(isize, isize)>,
    /// The alignment of all its numbers, in bytes.
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

    /// Returns copies at a distance of `stride` bytes; none if they exceed the address space.
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

    /// Returns the map shifted by `by` bytes; none if it leaves the address space.
    pub fn shifted(&self, by: isize) -> Option<Self> {
        Some(Self { layout: self.layout.shifted(by)?, ..self.spread(by, by)? })
    }

    /// Returns the map with all bounds moved; none if they leave the address space.
    fn spread(&self, low: isize, high: isize) -> Option<Self> {
        let moved =
            |(lower, higher): (isize, isize)| Some((lower.checked_add(low)?, higher.checked_add(high)?));
        let marks = match self.marks {
            Some(marks) => Some(moved(marks)?),
            None => None,
        };
        Some(Self { padded: moved(self.padded)?, marks, ..self.clone() })
    }

    /// Returns blocks with the places and lengths of `layout`, which has the extent of the datatype. Returns
    /// none if a block is empty or they exceed the address space.
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

    /// Returns the concatenation of parts, each with a displacement and a number of elements; none if they
    /// exceed the address space. The layouts have the extents of the datatypes.
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

    /// Returns the map with these bounds instead of its own; none if they exceed the address space.
    pub fn bounded(self, low: isize, extent: isize) -> Option<Self> {
        Some(Self { marks: Some((low, low.checked_add(extent)?)), ..self })
    }

    /// Returns the lower bound and the extent. Without marks, the extent is rounded up so that the next
    /// element has the same alignment.
    ///
    /// The standard (§5.1.7) defines this rounding. But for derived inner datatypes it ignores their padding,
    /// and inner datatypes without data. The difference matters only for misaligned numbers, or for inner
    /// datatypes behind all bytes. MPICH (in structs) and Open MPI (everywhere) count both, as does Canelé.
    pub fn bounds(&self) -> Option<(isize, isize)> {
        let (low, high) = match self.marks {
            Some((low, high)) => return Some((low, high.checked_sub(low)?)),
            None if self.layout.size() == 0 => (0, 0),
            None => self.padded,
        };
        let extent = high.checked_sub(low)?.unsigned_abs().checked_next_multiple_of(self.alignment)?;
        Some((low, isize::try_from(extent).ok()?))
    }

    /// Returns the map as a part of others: with its own padding.
    pub fn padded(self) -> Option<Self> {
        let (low, extent) = self.bounds()?;
        Some(Self { padded: (low, low.checked_add(extent)?), ..self })
    }
}

/// Returns the bounds that contain both.
fn widest(a: Option<(isize, isize)>, b: Option<(isize, isize)>) -> Option<(isize, isize)> {
    match (a, b) {
        (Some((low, high)), Some((lower, higher))) => Some((low.min(lower), high.max(higher))),
        (one, None) | (None, one) => one,
    }
}
