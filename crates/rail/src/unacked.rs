//! The unacknowledged packets of a lost link, some of which the peer has received.
//!
//! ```text
//!   this end                                        the other end
//!   lost ─▶ poll the rest ─▶ close: Unacked         likewise
//!        ── generation, expected ──▶                over any other link, in both directions
//!   reconcile(what the other end expected) ─▶ the packets it does not have, to be sent again over other links
//! ```
//! Each end reports its progress only after it has closed its own end, so no packet is counted twice.

use canele_mem::buffer::OutShare;
use canele_sys::ids::LinkId;

use crate::Header;

/// A link that has ended.
#[derive(Debug)]
pub struct Lost {
    /// The link.
    pub link: LinkId,
    /// The reason, for people.
    pub why: String,
    /// True if the peer reported that it has finished: all its packets are here.
    pub finished: bool,
}

/// The bulk of a packet that was kept.
pub enum Bulk {
    /// A copy.
    Copied(Box<[u8]>),
    /// The user's memory, where the bulk still lies.
    Lent(OutShare),
}

/// A packet that was sent and may not have arrived.
pub struct UnackedPacket {
    /// Its number on the link. Numbers wrap.
    pub number: u32,
    /// Its header.
    pub header: Header,
    /// The bytes beside the header.
    pub beside: Box<[u8]>,
    /// Its bulk.
    pub bulk: Bulk,
}

/// The state of a closed link by which the two ends find the packets to retransmit.
pub struct Unacked {
    /// The number of this link among successive ones over one rail to one peer; equal at both ends.
    pub generation: u32,
    /// The number of the packet that this end expected next.
    pub expected: u32,
    /// The unacknowledged packets, oldest first, with consecutive numbers.
    pub kept: std::collections::VecDeque<UnackedPacket>,
}

impl Unacked {
    /// Drops the packets that the other end has: all before number `expected`.
    ///
    /// # Errors
    /// Returns the range of possible numbers if `expected` is not one of them. Then nothing is dropped.
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
