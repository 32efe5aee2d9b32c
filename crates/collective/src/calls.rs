//! The numbers of a flow's calls.

use canele_sys::ids::Tag;

/// The number of the last call. The two highest bits never change: they tell the kinds of tags apart.
#[derive(Clone, Copy, Default)]
pub struct Calls(u32);

impl Calls {
    /// The fixed bits. The highest one marks tags outside of collectives; the other one, those of collectives
    /// that are only started.
    const FIXED: u32 = 3 << 30;
    const STARTED: u32 = 1 << 30;

    /// Returns the numbers of collectives that are started.
    pub fn started() -> Self {
        Self(Self::STARTED)
    }

    /// Returns the next call's tag.
    #[inline(always)]
    pub fn draw(&mut self) -> Tag {
        self.0 = self.0 & Self::FIXED | self.0.wrapping_add(1) & !Self::FIXED;
        Tag(self.0)
    }

    /// Returns the number of the call with this tag, from 1, and true if it was only started.
    pub fn number_of(tag: Tag) -> (u32, bool) {
        let (number, started) = (tag.0 & !Self::FIXED, tag.0 & Self::FIXED == Self::STARTED);
        (if started { number } else { number + 1 }, started)
    }

    /// Returns the numbers whose first call has this tag.
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
