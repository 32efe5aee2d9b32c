//! Which lanes of a rank several operations are on.

use canele_control::MOST_LANES;

/// Some of the lanes of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LaneSet(u16);

impl LaneSet {
    pub(crate) fn add(&mut self, number: u8) {
        self.0 |= 1 << number;
    }

    pub(crate) fn with(mut self, number: u8) -> Self {
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
