//! Sets of lanes of a rank, and the choice of the lane of a new flow.

use canele_control::MOST_LANES;

/// The lane that a member wants for a new flow, or all of them. Unless all members want the same, and can
/// open it, the flow lies on the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WantedLane {
    /// The next in turn for flows that are made from one flow.
    Next,
    /// The lane of this number; a number beyond the lanes of a rank counts from the first again.
    Numbered(u32),
    /// Each lane that all members can open, with a flow of its own.
    Each,
}

/// Some of the lanes of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneSet(u16);

impl LaneSet {
    pub(crate) fn add(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    /// Returns this set with the lane of this number.
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

    /// Returns the union of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> + Clone {
        (0..MOST_LANES).filter(move |number| self.has(*number))
    }
}
