//! What members of a collective tell each other when they disagree on its length, so that none waits for a message that never comes.
//!
//! ```text
//!   a member finds another length ──notice──▶ all other members, which look for it where they wait
//! ```
//! A notice is a message of the collective's flow, with a tag that no call has. Owns the notices that have not left yet. Notices of calls
//! that ended well stay with the unexpected messages until another call fails.

use std::collections::VecDeque;

use canele_mem::buffer;
use canele_proto::Proto;
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Outcome};
use canele_proto::rma::PendingSends;
use canele_rail::FullRail;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::calls::Calls;
use crate::team::Team;

/// Bytes of a notice: the rank and both lengths.
const BYTES: usize = 24;
/// Of so many failed calls notices are still taken.
const MOST_FAILED: usize = 64;

/// A member gave another length than a member needs that receives from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{rank} gave {given} bytes in a collective, and another member needs {needed}: all members have to pass equal lengths"
)]
pub struct Disagreement {
    /// The member that gave them.
    pub rank: Rank,
    /// How many bytes it gave.
    pub given: usize,
    /// How many bytes the member needs that found out.
    pub needed: usize,
}

impl Disagreement {
    /// Compares the length that a member gave with the one that is needed.
    #[inline(always)]
    pub(crate) fn check(rank: Rank, given: usize, needed: usize) -> Result<(), Self> {
        if given == needed { Ok(()) } else { Err(Self { rank, given, needed }) }
    }

    fn to_bytes(self) -> [u8; BYTES] {
        let words = [u64::from(self.rank.0), self.given as u64, self.needed as u64];
        let mut bytes = [0; BYTES];
        bytes.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; BYTES]) -> Self {
        let word = |at: usize| u64::from_le_bytes(bytes.as_chunks().0[at]);
        Self { rank: Rank(word(0) as u32), given: word(1) as usize, needed: word(2) as usize }
    }
}

/// The notices that one process sends and receives.
#[derive(Default)]
pub struct DisagreementNotices {
    pending: PendingSends,
    /// The last calls that failed, of which more notices may come.
    failed: VecDeque<(FlowId, Tag)>,
}

impl DisagreementNotices {
    /// Tells all other members of a team, or else all other ranks, on which lengths they disagree in the call of this flow and tag, unless
    /// all know.
    #[cold]
    pub fn tell<R: FullRail>(
        &mut self,
        (proto, rail): (&mut Proto, &mut R),
        (flow, tag): (FlowId, Tag),
        team: Option<&Team>,
        found: Disagreement,
    ) {
        if self.failed.contains(&(flow, tag)) {
            return;
        }
        let me = proto.me();
        let all = || (0..proto.ranks() as u32).map(Rank).collect();
        let members: Vec<Rank> = team.map_or_else(all, |team| team.members().to_vec());
        self.pending.clear(proto);
        for to in members {
            if to != me && proto.gone(to).is_none() {
                self.pending.send(proto, rail, (to, flow, Calls::notice_of(tag)), &found.to_bytes());
            }
        }
        self.note_told((flow, tag));
        self.failed.iter().for_each(|name| while Self::take(proto, *name).is_some() {});
    }

    /// Another member has told all members of this call.
    pub fn note_told(&mut self, name: (FlowId, Tag)) {
        self.failed.push_back(name);
        if self.failed.len() > MOST_FAILED {
            self.failed.pop_front();
        }
    }

    /// Takes a notice of the call of this flow and tag, if one has come.
    #[cold]
    pub fn take(proto: &mut Proto, (flow, tag): (FlowId, Tag)) -> Option<Disagreement> {
        let want = Want { source: None, tag: Some(Calls::notice_of(tag)) };
        let matched = proto.probe_matched(flow, want)?;
        if matched.status.bytes != BYTES {
            proto.discard(matched);
            return None;
        }
        let mut bytes = [0; BYTES];
        let is_whole = buffer::scope(|scope| {
            // A message that fits into a cell ends at once.
            let id = proto.submit_recv_matched(matched, scope.lend_mut(&mut bytes));
            let Some(Outcome { buffer: Buffer::In(buffer), result }) = proto.take(id) else { return false };
            scope.take_back_mut(buffer);
            result.is_ok()
        });
        is_whole.then(|| Disagreement::from_bytes(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_names_the_rank_and_both_lengths() {
        let found = Disagreement { rank: Rank(3), given: 1 << 40, needed: 5 };
        assert_eq!(Disagreement::from_bytes(&found.to_bytes()), found);
        let text = found.to_string();
        assert!(text.starts_with("rank 3 gave 1099511627776 bytes") && text.contains("needs 5"), "{text}");
        assert_eq!(Disagreement::check(Rank(3), 5, 5), Ok(()));
        assert_eq!(Disagreement::check(Rank(3), 1 << 40, 5), Err(found));
    }
}
