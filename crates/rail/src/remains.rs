//! What is left of a link that was lost: what the peer has of it, and what it may not have.
//!
//! ```text
//!   this end                                        the other end
//!   lost ─▶ poll the rest ─▶ bury: Remains          the same
//!        ── generation, expected ──▶                over any other link, in both directions
//!   settle(what the other end expected) ─▶ the packets it does not have, to be sent again over other links
//! ```
//! Each end says how far it got only after it has closed its own end, so nothing is counted twice.

use canele_sys::buffer::OutShare;
use canele_sys::ids::LinkId;

use crate::Header;

/// A link carries nothing more.
#[derive(Debug)]
pub struct Lost {
    /// Which.
    pub link: LinkId,
    /// Why, for people.
    pub why: String,
}

/// The bulk of a packet that was kept.
pub enum Bulk {
    /// A copy.
    Copied(Box<[u8]>),
    /// It still lies in the user's memory.
    Lent(OutShare),
}

/// A packet that was sent and may not have arrived.
pub struct Kept {
    /// Its number on the link. Numbers wrap.
    pub number: u32,
    /// Its header.
    pub header: Header,
    /// What stood beside it.
    pub beside: Box<[u8]>,
    /// Its bulk.
    pub bulk: Bulk,
}

/// What is left of a link.
pub struct Remains {
    /// Which of the successive connections over the same rail to the same peer it was; the same number at both ends.
    pub generation: u32,
    /// The number of the packet that this end expected next.
    pub expected: u32,
    /// What the other end has not acknowledged, oldest first, numbers without gaps.
    pub kept: std::collections::VecDeque<Kept>,
}

impl Remains {
    /// Drops what the other end has: all before number `expected`.
    ///
    /// # Errors
    /// It cannot expect that number: nothing is dropped. The numbers that are possible.
    pub fn settle(&mut self, expected: u32) -> Result<(), (u32, u32)> {
        let Some(first) = self.kept.front().map(|kept| kept.number) else { return Ok(()) };
        let got = expected.wrapping_sub(first) as usize;
        if got > self.kept.len() {
            return Err((first, first.wrapping_add(self.kept.len() as u32)));
        }
        self.kept.drain(..got);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remains(first: u32, packets: u32) -> Remains {
        let kept = (0..packets).map(|n| Kept {
            number: first.wrapping_add(n),
            header: Header::default(),
            beside: Box::default(),
            bulk: Bulk::Copied(Box::default()),
        });
        Remains { generation: 0, expected: 0, kept: kept.collect() }
    }

    #[test]
    fn what_the_other_end_has_is_dropped_also_across_the_wrap() {
        for (expected, left) in [(u32::MAX - 1, 4), (u32::MAX, 3), (0, 2), (2, 0)] {
            let mut remains = remains(u32::MAX - 1, 4);
            remains.settle(expected).unwrap();
            assert_eq!(remains.kept.len(), left);
            assert!(remains.kept.front().is_none_or(|kept| kept.number == expected));
        }
    }

    #[test]
    fn a_number_that_cannot_be_changes_nothing() {
        let mut remains = remains(10, 3);
        assert_eq!(remains.settle(14), Err((10, 13)));
        assert_eq!(remains.settle(9), Err((10, 13)));
        assert_eq!(remains.kept.len(), 3);
    }
}
