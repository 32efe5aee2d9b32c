//! Answers that this rank expects from owners.

use canele_mem::buffer::Owned;
use canele_sys::ids::{Rank, RequestId, Tag};

use super::windows::WindowAt;
use super::{ANSWER, ANSWERS, RmaAnswer, RmaFailure};
use crate::Proto;
use crate::matching::Want;
use crate::request::{Buffer, Failure};
use crate::slab::Key;

/// Returns the envelope of the answer of an owner to a request with this sequence number.
pub(super) fn answer_to(owner: Rank, sequence: u32) -> Want {
    Want { source: Some(owner), tag: Some(Tag(sequence)) }
}

/// An answer that this rank expects.
pub(super) struct Awaited {
    pub call: Key,
    sequence: u32,
    request: RequestId,
    bytes: Owned<u8>,
    /// The place of its data in the memory of the call, and the length of this data.
    pub at: usize,
    pub len: usize,
}

/// An answer that has come: its value and its data.
pub(super) type AnswerResult = Result<(u64, Vec<u8>), RmaFailure>;

impl Awaited {
    /// Posts the receive of an answer, for `len` bytes of data that belong at `at`.
    pub fn post(proto: &mut Proto, owner: Rank, sequence: u32, call: Key, (at, len): (usize, usize)) -> Self {
        let mut bytes = Owned::new(vec![0; ANSWER + len]);
        let request = proto.submit_recv(ANSWERS, answer_to(owner, sequence), bytes.lend_in());
        Self { call, sequence, request, bytes, at, len }
    }

    pub fn has_come(&self, proto: &Proto) -> bool {
        proto.is_done(self.request)
    }

    /// Takes the answer. One that no honest owner sends counts as broken.
    pub fn take(mut self, proto: &mut Proto, (owner, key): WindowAt) -> AnswerResult {
        let broken = RmaFailure::Refused(key, super::Refusal::Broken);
        let outcome = proto.take(self.request).ok_or_else(|| broken.clone())?;
        if let Buffer::In(buffer) = outcome.buffer {
            self.bytes.take_back_in(buffer);
        }
        let status = match outcome.result {
            Ok(status) => status,
            Err(Failure::Truncated { .. }) => return Err(broken),
            Err(failure) => {
                proto.forget_answer(owner, self.sequence);
                return Err(RmaFailure::Failed(failure));
            }
        };
        let mut bytes = self.bytes.into_items();
        let head =
            bytes.first_chunk::<ANSWER>().filter(|_| status.bytes >= ANSWER).ok_or_else(|| broken.clone())?;
        let value = RmaAnswer::read(head).result.map_err(|(key, why)| RmaFailure::Refused(Some(key), why))?;
        // Only a successful answer has data, and all of it.
        if status.bytes != ANSWER + self.len {
            return Err(broken);
        }
        Ok((value, bytes.split_off(ANSWER)))
    }
}
