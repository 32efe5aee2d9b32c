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

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = u8> + Clone {
        (0..MOST_LANES).filter(move |number| self.0 & 1 << number != 0)
    }
}
