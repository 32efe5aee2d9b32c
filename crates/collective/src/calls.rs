//! The numbers of a flow's calls.

use canele_sys::ids::Tag;

/// The number of the last call. The two highest bits never change: they say whose tags these are.
#[derive(Clone, Copy, Default)]
pub struct Calls(u32);

impl Calls {
    /// The highest bit marks tags outside of collectives; the other one, those of collectives that are started.
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

    /// The number of the call that has this tag, from 1, and whether it is one of those that are started.
    pub fn number_of(tag: Tag) -> (u32, bool) {
        let (number, started) = (tag.0 & !Self::FIXED, tag.0 & Self::FIXED == Self::STARTED);
        (if started { number } else { number + 1 }, started)
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
        assert_eq!(Calls::number_of(Calls::from(Tag(0)).draw()), (1, false));
        assert_eq!(Calls::number_of(Tag(Calls::STARTED + 6)), (6, true));
    }
}
