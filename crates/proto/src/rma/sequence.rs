//! Sequence numbers of RMA requests, and answers that come after their caller has stopped waiting.

use std::collections::HashMap;

use canele_mem::buffer::Owned;
use canele_sys::ids::{Rank, RegionId, RequestId, Tag};

use super::{ANSWER, ANSWERS, Answer, Refusal, SEQUENCE_MASK};
use crate::Proto;
use crate::matching::Want;
use crate::request::{Buffer, Outcome};

/// Gives numbers to the RMA requests of a rank.
#[derive(Default)]
pub(super) struct SequenceNumbers {
    next: u32,
    left: Vec<Left>,
    /// The first refusal of each owner that a fence would have told of which was not waited for.
    refused: HashMap<Rank, (RegionId, Refusal)>,
}

/// What is to be made of an answer that nobody waits for any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateAnswer {
    /// Nothing.
    Ignore,
    /// If it is a value other than 0, this is asked, because that must be undone.
    Undo([u64; 3]),
    /// If something was refused, the next fence tells of it.
    Keep,
}

/// An RMA request whose caller has stopped waiting.
struct Left {
    from: Rank,
    request: RequestId,
    bytes: Owned<u8>,
    late: LateAnswer,
}

impl SequenceNumbers {
    pub fn take(&mut self) -> u32 {
        let sequence = self.next;
        self.next = (sequence + 1) & SEQUENCE_MASK;
        sequence
    }

    pub fn leave(&mut self, proto: &mut Proto, from: Rank, sequence: u32, late: LateAnswer) {
        let mut bytes = Owned::new(vec![0; ANSWER]);
        let want = Want { source: Some(from), tag: Some(Tag(sequence)) };
        let request = proto.submit_recv(ANSWERS, want, bytes.lend_in());
        self.left.push(Left { from, request, bytes, late });
    }

    /// Takes the late answers that have come, and returns the questions that they make this rank ask, with the rank asked.
    pub fn clear(&mut self, proto: &mut Proto) -> Vec<(Rank, [u64; 3])> {
        let came = self.left.extract_if(.., |left| proto.is_done(left.request)).collect::<Vec<_>>();
        let mut undone = Vec::new();
        for left in came {
            let (from, late) = (left.from, left.late);
            match (left.answer(proto).map(|answer| answer.result), late) {
                (Some(Ok(value)), LateAnswer::Undo(question)) if value != 0 => undone.push((from, question)),
                (Some(Err(refusal)), LateAnswer::Keep) => drop(self.refused.entry(from).or_insert(refusal)),
                _ => {}
            }
        }
        undone
    }

    /// What an owner refused first, as a late answer says.
    pub fn take_refusal(&mut self, owner: Rank) -> Option<(RegionId, Refusal)> {
        self.refused.remove(&owner)
    }
}

impl Left {
    fn answer(mut self, proto: &mut Proto) -> Option<Answer> {
        let Outcome { result, buffer } = proto.take(self.request)?;
        if let Buffer::In(buffer) = buffer {
            self.bytes.take_back_in(buffer);
        }
        let bytes: [u8; ANSWER] = self.bytes.into_items().try_into().ok()?;
        let is_whole = result.is_ok_and(|status| status.bytes == ANSWER);
        is_whole.then(|| Answer::read(&bytes))
    }
}
