//! Tickets of errands, and answers that come after whoever waited for them has gone.

use std::collections::HashMap;

use canele_sys::buffer::Owned;
use canele_sys::ids::{Rank, RegionId, RequestId, Tag};

use super::{ANSWER, ANSWERS, Answer, Refusal, TICKET};
use crate::Proto;
use crate::matching::Want;
use crate::request::{Buffer, Outcome};

/// Gives numbers to the errands of a rank.
#[derive(Default)]
pub(super) struct Tickets {
    next: u32,
    left: Vec<Left>,
    /// The first refusal of each owner that a fence would have told of which was not waited for.
    refused: HashMap<Rank, (RegionId, Refusal)>,
}

/// What is to be made of an answer that nobody waits for any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// Nothing.
    Ignore,
    /// If it is a value other than 0, this is asked, because that must be undone.
    Undo([u64; 3]),
    /// If something was refused, the next fence tells of it.
    Keep,
}

/// An errand that nobody waits for any more.
struct Left {
    from: Rank,
    request: RequestId,
    bytes: Owned<u8>,
    late: Late,
}

impl Tickets {
    pub fn take(&mut self) -> u32 {
        let ticket = self.next;
        self.next = (ticket + 1) & TICKET;
        ticket
    }

    pub fn leave(&mut self, proto: &mut Proto, from: Rank, ticket: u32, late: Late) {
        let mut bytes = Owned::new(vec![0; ANSWER]);
        let want = Want { source: Some(from), tag: Some(Tag(ticket)) };
        let request = proto.submit_recv(ANSWERS, want, bytes.lend_in());
        self.left.push(Left { from, request, bytes, late });
    }

    /// Late answers that have come: what is to be asked of whom because of them.
    pub fn clear(&mut self, proto: &mut Proto) -> Vec<(Rank, [u64; 3])> {
        let came = self.left.extract_if(.., |left| proto.is_done(left.request)).collect::<Vec<_>>();
        let mut undone = Vec::new();
        for left in came {
            let (from, late) = (left.from, left.late);
            match (left.answer(proto).map(|answer| answer.result), late) {
                (Some(Ok(value)), Late::Undo(question)) if value != 0 => undone.push((from, question)),
                (Some(Err(refusal)), Late::Keep) => drop(self.refused.entry(from).or_insert(refusal)),
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
