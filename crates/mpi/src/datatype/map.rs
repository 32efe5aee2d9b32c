//! A type map, compiled: where the bytes lie, which numbers they are, and the marks that set its bounds (MPI 5.0, §5.1).
//!
//! Owns the rules of bounds and extents. A map is made of others by copying them at equal distances, moving them and putting
//! them one after the other; all constructors are made of these three.

use canele_mem::layout::Layout;

use super::basic::{Basic, BasicKind};
use super::elements::Elements;

/// A type map.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub layout: Layout,
    pub elements: Elements,
    /// Bounds of all bytes and of the datatypes inside, with their padding.
    padded: (isize, isize),
    /// The lowest mark of a lower bound and the highest of an upper one, set by resizing something inside.
    marks: Option<(isize, isize)>,
    /// What the addresses of all its numbers are multiples of.
    alignment: usize,
}

impl Map {
    pub fn empty() -> Self {
        Self { layout: Layout::block(0), elements: Elements::NONE, padded: (0, 0), marks: None, alignment: 1 }
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
        Self { layout, elements: Elements::Run(basic, 1), padded, marks: None, alignment: basic.alignment() }
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

    /// One after the other; nothing where they exceed an address space.
    pub fn sequence(parts: Vec<Map>) -> Option<Self> {
        let alignment = parts.iter().map(|part| part.alignment).max().unwrap_or(1);
        let widest = |(low, high): (isize, isize), (lower, higher)| (low.min(lower), high.max(higher));
        let padded = parts.iter().map(|part| part.padded).reduce(widest).unwrap_or((0, 0));
        let marks = parts.iter().filter_map(|part| part.marks).reduce(widest);
        let elements = Elements::sequence(parts.iter().map(|part| part.elements.clone()))?;
        let layout = Layout::sequence(parts.into_iter().map(|part| part.layout))?;
        Some(Self { layout, elements, padded, marks, alignment })
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
