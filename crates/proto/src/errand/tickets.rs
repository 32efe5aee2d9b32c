//! Tickets of errands, and answers that come after whoever waited for them has gone.

use canele_sys::buffer::Owned;
use canele_sys::ids::{Rank, RequestId, Tag};

use super::{ANSWER, ANSWERS, Answer, TICKET};
use crate::Proto;
use crate::matching::Want;
use crate::request::{Buffer, Outcome};

/// Gives numbers to the errands of a rank.
#[derive(Default)]
pub(super) struct Tickets {
    next: u32,
    late: Vec<Late>,
}

/// An answer that nobody waits for any more.
struct Late {
    from: Rank,
    request: RequestId,
    bytes: Owned<u8>,
    /// What to ask if it is a value other than 0, because that must be undone.
    undo: Option<[u64; 3]>,
}

impl Tickets {
    pub fn take(&mut self) -> u32 {
        let ticket = self.next;
        self.next = (ticket + 1) & TICKET;
        ticket
    }

    pub fn leave(&mut self, proto: &mut Proto, from: Rank, ticket: u32, undo: Option<[u64; 3]>) {
        let mut bytes = Owned::new(vec![0; ANSWER]);
        let want = Want { source: Some(from), tag: Some(Tag(ticket)) };
        let request = proto.submit_recv(ANSWERS, want, bytes.lend_in());
        self.late.push(Late { from, request, bytes, undo });
    }

    /// Late answers that have come: what is to be asked of whom because of them.
    pub fn clear(&mut self, proto: &mut Proto) -> Vec<(Rank, [u64; 3])> {
        let came = self.late.extract_if(.., |late| proto.is_done(late.request)).collect::<Vec<_>>();
        came.into_iter().filter_map(|late| late.value(proto)).collect()
    }
}

impl Late {
    fn value(mut self, proto: &mut Proto) -> Option<(Rank, [u64; 3])> {
        let Outcome { result, buffer } = proto.take(self.request)?;
        if let Buffer::In(buffer) = buffer {
            self.bytes.take_back_in(buffer);
        }
        let bytes: [u8; ANSWER] = self.bytes.into_items().try_into().ok()?;
        let is_whole = result.is_ok_and(|status| status.bytes == ANSWER);
        let value = Answer::read(&bytes).result.unwrap_or(0);
        self.undo.filter(|_| is_whole && value != 0).map(|question| (self.from, question))
    }
}
