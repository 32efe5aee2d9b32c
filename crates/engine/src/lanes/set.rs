//! Which lanes of a rank several operations are on, and which one a new flow is to lie on.

use canele_control::MOST_LANES;

/// On which lane a member wants a new flow, or one on each of several. Unless all members want the same, and can open it, the flow lies on the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedLane {
    /// The next in turn of those flows that were made of one.
    Next,
    /// One of this number; with a number beyond those that a rank may have they are counted from the first again.
    Numbered(u32),
    /// A flow on each that all members can open.
    Each,
}

/// Some of the lanes of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneSet(u16);

impl LaneSet {
    pub(crate) fn add(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    /// The same and that of this number.
    #[must_use]
    pub fn with(mut self, number: u8) -> Self {
        self.add(number);
        self
    }

    pub(crate) fn remove(&mut self, number: u8) {
        self.0 &= !(1 << number);
    }

    pub(crate) fn has(self, number: u8) -> bool {
        self.0 & 1 << number != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> + Clone {
        (0..MOST_LANES).filter(move |number| self.has(*number))
    }
}
