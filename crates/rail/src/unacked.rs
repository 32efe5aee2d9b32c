//! The unacknowledged packets of a link that was lost: the peer has some of them, and misses the others.
//!
//! ```text
//!   this end                                        the other end
//!   lost ─▶ poll the rest ─▶ close: Unacked         the same
//!        ── generation, expected ──▶                over any other link, in both directions
//!   reconcile(what the other end expected) ─▶ the packets it does not have, to be sent again over other links
//! ```
//! Each end says how far it got only after it has closed its own end, so nothing is counted twice.

use canele_mem::buffer::OutShare;
use canele_sys::ids::LinkId;

use crate::Header;

/// A link carries nothing more.
#[derive(Debug)]
pub struct Lost {
    /// Which.
    pub link: LinkId,
    /// Why, for people.
    pub why: String,
    /// The peer said over it that it has finished: all that it ever sent is here.
    pub finished: bool,
}

/// The bulk of a packet that was kept.
pub enum Bulk {
    /// A copy.
    Copied(Box<[u8]>),
    /// It still lies in the user's memory.
    Lent(OutShare),
}

/// A packet that was sent and may not have arrived.
pub struct UnackedPacket {
    /// Its number on the link. Numbers wrap.
    pub number: u32,
    /// Its header.
    pub header: Header,
    /// What stood beside it.
    pub beside: Box<[u8]>,
    /// Its bulk.
    pub bulk: Bulk,
}

/// The state of a closed link that the two ends need to find out which packets to retransmit.
pub struct Unacked {
    /// Which of the successive connections over the same rail to the same peer it was; the same number at both ends.
    pub generation: u32,
    /// The number of the packet that this end expected next.
    pub expected: u32,
    /// What the other end has not acknowledged, oldest first, numbers without gaps.
    pub kept: std::collections::VecDeque<UnackedPacket>,
}

impl Unacked {
    /// Drops the packets that the other end has: all before number `expected`.
    ///
    /// # Errors
    /// It cannot expect that number: nothing is dropped. The numbers that are possible.
    pub fn reconcile(&mut self, expected: u32) -> Result<(), (u32, u32)> {
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

    fn unacked(first: u32, packets: u32) -> Unacked {
        let kept = (0..packets).map(|n| UnackedPacket {
            number: first.wrapping_add(n),
            header: Header::default(),
            beside: Box::default(),
            bulk: Bulk::Copied(Box::default()),
        });
        Unacked { generation: 0, expected: 0, kept: kept.collect() }
    }

    #[test]
    fn what_the_other_end_has_is_dropped_also_across_the_wrap() {
        for (expected, left) in [(u32::MAX - 1, 4), (u32::MAX, 3), (0, 2), (2, 0)] {
            let mut unacked = unacked(u32::MAX - 1, 4);
            unacked.reconcile(expected).unwrap();
            assert_eq!(unacked.kept.len(), left);
            assert!(unacked.kept.front().is_none_or(|kept| kept.number == expected));
        }
    }

    #[test]
    fn a_number_that_cannot_be_changes_nothing() {
        let mut unacked = unacked(10, 3);
        assert_eq!(unacked.reconcile(14), Err((10, 13)));
        assert_eq!(unacked.reconcile(9), Err((10, 13)));
        assert_eq!(unacked.kept.len(), 3);
    }
}
