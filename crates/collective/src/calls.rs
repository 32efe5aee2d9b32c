//! The numbers of a flow's calls.

use canele_sys::ids::Tag;

/// The number of the last call. The two highest bits never change: they say whose tags these are.
#[derive(Clone, Copy, Default)]
pub struct Calls(u32);

impl Calls {
    /// With the highest, tags are somebody else's; with the other one, of collectives that are started.
    const FIXED: u32 = 3 << 30;
    const STARTED: u32 = 1 << 30;

    /// Those of collectives that are started.
    pub fn started() -> Self {
        Self(Self::STARTED)
    }

    /// The next call's tag.
    #[inline(always)]
    pub fn draw(&mut self) -> Tag {
        self.0 = self.0 & Self::FIXED | self.0.wrapping_add(1) & !Self::FIXED;
        Tag(self.0)
    }

    /// Those whose first has this tag.
    pub fn from(first: Tag) -> Self {
        Self(first.0 & Self::FIXED | first.0.wrapping_sub(1) & !Self::FIXED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bits_of_a_tag_stay() {
        let mut calls = Calls(Calls::STARTED - 1);
        assert_eq!(calls.draw(), Tag(0));
        let mut calls = Calls::from(Tag(u32::MAX));
        assert_eq!([calls.draw(), calls.draw()], [Tag(u32::MAX), Tag(Calls::FIXED)]);
        assert_eq!(Calls::started().draw(), Tag(Calls::STARTED + 1));
    }
}
