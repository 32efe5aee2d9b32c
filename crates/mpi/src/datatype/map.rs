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
    /// The lowest mark of a lower bound and the highest of an upper one, set by resizing something inside.
    marks: Option<(isize, isize)>,
    /// What the addresses of all its numbers are multiples of.
    alignment: usize,
}

impl Map {
    pub fn empty() -> Self {
        Self { layout: Layout::block(0), elements: Elements::NONE, marks: None, alignment: 1 }
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
        Self { layout, elements: Elements::Run(basic, 1), marks: None, alignment: basic.alignment() }
    }

    /// Copies, `stride` bytes apart; nothing where they exceed an address space.
    pub fn repeated(&self, count: usize, stride: isize) -> Option<Self> {
        if count == 0 {
            return Some(Self::empty());
        }
        let layout = self.layout.repeated(count, stride)?;
        let last = isize::try_from(count - 1).ok()?.checked_mul(stride)?;
        let marks = match self.marks {
            Some((low, high)) => Some((low.checked_add(last.min(0))?, high.checked_add(last.max(0))?)),
            None => None,
        };
        Some(Self { layout, elements: self.elements.repeated(count)?, marks, alignment: self.alignment })
    }

    /// Moved by so many bytes; nothing where it leaves an address space.
    pub fn shifted(&self, by: isize) -> Option<Self> {
        let marks = match self.marks {
            Some((low, high)) => Some((low.checked_add(by)?, high.checked_add(by)?)),
            None => None,
        };
        Some(Self { layout: self.layout.shifted(by)?, elements: self.elements.clone(), marks, ..*self })
    }

    /// One after the other; nothing where they exceed an address space.
    pub fn sequence(parts: Vec<Map>) -> Option<Self> {
        let alignment = parts.iter().map(|part| part.alignment).max().unwrap_or(1);
        let marks = parts
            .iter()
            .filter_map(|part| part.marks)
            .reduce(|(low, high), (lower, higher)| (low.min(lower), high.max(higher)));
        let elements = Elements::sequence(parts.iter().map(|part| part.elements.clone()))?;
        let layout = Layout::sequence(parts.into_iter().map(|part| part.layout))?;
        Some(Self { layout, elements, marks, alignment })
    }

    /// With these bounds, whatever it had; nothing where they exceed an address space.
    pub fn bounded(self, low: isize, extent: isize) -> Option<Self> {
        Some(Self { marks: Some((low, low.checked_add(extent)?)), ..self })
    }

    /// The lower bound and the extent. Without marks the extent is rounded up so that the numbers of the next element are as
    /// aligned as those of this one.
    pub fn bounds(&self) -> Option<(isize, isize)> {
        if let Some((low, high)) = self.marks {
            return Some((low, high.checked_sub(low)?));
        }
        let data = self.layout.bounds();
        let extent = (data.end - data.start).unsigned_abs().checked_next_multiple_of(self.alignment)?;
        Some((data.start, isize::try_from(extent).ok()?))
    }
}
