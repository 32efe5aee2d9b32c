//! A type map, compiled: where the bytes lie, which numbers they are, and the marks that set its bounds (MPI 5.0, §5.1).
//!
//! Owns the rules of bounds and extents. A map is made of others by copying them at equal distances, moving them and putting
//! them one after the other; all constructors are made of these three.

use canele_sys::layout::Layout;

use super::basic::{Basic, Kind};
use super::elements::Elements;

/// A type map.
#[derive(Clone, Debug)]
pub(super) struct Map {
    pub layout: Layout,
    pub elements: Elements,
    /// Bounds of all bytes with the padding of the datatypes inside, if there are any.
    padded: Option<(isize, isize)>,
    /// The lowest mark of a lower bound and the highest of an upper one, set by resizing something inside.
    marks: Option<(isize, isize)>,
    /// What the addresses of all its numbers are multiples of.
    alignment: usize,
}

impl Map {
    pub fn empty() -> Self {
        Self { layout: Layout::block(0), elements: Elements::NONE, padded: None, marks: None, alignment: 1 }
    }

    pub fn basic(basic: Basic) -> Self {
        let layout = match basic.kind() {
            Kind::Pair(value, index) => {
                let at = Basic::index_at(value, index) as isize;
                let index = Layout::block(index.size()).shifted(at);
                let parts = [Some(Layout::block(value.size())), index];
                Layout::sequence(parts.into_iter().flatten()).unwrap_or_else(|| Layout::block(0))
            }
            _ => Layout::block(basic.size()),
        };
        let padded = Some((layout.bounds().start, layout.bounds().end));
        Self { layout, elements: Elements::Run(basic, 1), padded, marks: None, alignment: basic.alignment() }
    }

    /// Copies, `stride` bytes apart; nothing where they exceed an address space.
    pub fn repeated(&self, count: usize, stride: isize) -> Option<Self> {
        if count == 0 {
            return Some(Self::empty());
        }
        let layout = self.layout.repeated(count, stride)?;
        let last = isize::try_from(count - 1).ok()?.checked_mul(stride)?;
        let (padded, marks) =
            (moved(self.padded, last.min(0), last.max(0))?, moved(self.marks, last.min(0), last.max(0))?);
        Some(Self {
            layout,
            elements: self.elements.repeated(count)?,
            padded,
            marks,
            alignment: self.alignment,
        })
    }

    /// Moved by so many bytes; nothing where it leaves an address space.
    pub fn shifted(&self, by: isize) -> Option<Self> {
        let (padded, marks) = (moved(self.padded, by, by)?, moved(self.marks, by, by)?);
        Some(Self {
            layout: self.layout.shifted(by)?,
            elements: self.elements.clone(),
            padded,
            marks,
            ..*self
        })
    }

    /// One after the other; nothing where they exceed an address space.
    pub fn sequence(parts: Vec<Map>) -> Option<Self> {
        let alignment = parts.iter().map(|part| part.alignment).max().unwrap_or(1);
        let widest = |(low, high): (isize, isize), (lower, higher)| (low.min(lower), high.max(higher));
        let padded = parts.iter().filter_map(|part| part.padded).reduce(widest);
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
    /// That is what the standard says of every datatype (§5.1.7). Of a datatype made of others it asks for the same without
    /// their padding, which matters only where one lies at a place that does not suit it; there MPICH (in structs) and Open MPI
    /// (everywhere) count the padding, and so do we.
    pub fn bounds(&self) -> Option<(isize, isize)> {
        if let Some((low, high)) = self.marks {
            return Some((low, high.checked_sub(low)?));
        }
        let Some((low, high)) = self.padded else { return Some((0, 0)) };
        let extent = high.checked_sub(low)?.unsigned_abs().checked_next_multiple_of(self.alignment)?;
        Some((low, isize::try_from(extent).ok()?))
    }

    /// As a part of others: with its padding, if it has bytes.
    pub fn padded(self) -> Option<Self> {
        let padded = match (self.marks, self.padded) {
            (None, Some(_)) => {
                let (low, extent) = self.bounds()?;
                Some((low, low.checked_add(extent)?))
            }
            _ => self.padded,
        };
        Some(Self { padded, ..self })
    }
}

/// Bounds, if there are any, whose ends are moved; nothing where they leave an address space.
fn moved(bounds: Option<(isize, isize)>, low: isize, high: isize) -> Option<Option<(isize, isize)>> {
    let Some((lower, higher)) = bounds else { return Some(None) };
    Some(Some((lower.checked_add(low)?, higher.checked_add(high)?)))
}
