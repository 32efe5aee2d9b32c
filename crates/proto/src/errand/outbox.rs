//! Messages of the library itself that are on their way out, with the memory they lie in.

use std::collections::HashMap;

use canele_rail::Rail;
use canele_sys::buffer::{OutBuffer, Owned};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::request::{Buffer, Mode};
use crate::{Proto, Sent};

/// Messages that have not left yet.
#[derive(Default)]
pub(super) struct Outbox {
    messages: Vec<Message>,
    /// How many there are to each rank to which there are any.
    counts: HashMap<Rank, usize>,
}

struct Message {
    to: Rank,
    request: RequestId,
    /// Its memory, unless that keeps itself.
    bytes: Option<Owned<u8>>,
}

impl Outbox {
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Messages to one rank.
    pub fn len_to(&self, to: Rank) -> usize {
        self.counts.get(&to).copied().unwrap_or(0)
    }

    fn push(&mut self, to: Rank, request: RequestId, bytes: Option<Owned<u8>>) {
        self.messages.push(Message { to, request, bytes });
        *self.counts.entry(to).or_insert(0) += 1;
    }

    /// Sends a message that is kept here as long as need be. One to a peer that is gone is nobody's.
    pub fn send<R: Rail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        bytes: &[u8],
    ) {
        if proto.try_send_bytes(rail, to, flow, tag, bytes) == Sent::Done {
            return;
        }
        let mut owned = Owned::new(bytes.to_vec());
        let request = proto.submit_send(rail, to, flow, tag, Mode::Standard, owned.lend_out());
        self.push(to, request, Some(owned));
    }

    /// Sends part of a region, which keeps itself.
    pub fn send_region<R: Rail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        part: OutBuffer,
    ) {
        let request = proto.submit_send(rail, to, flow, tag, Mode::Standard, part);
        self.push(to, request, None);
    }

    /// Forgets what has left.
    pub fn clear(&mut self, proto: &mut Proto) {
        let left = self.messages.extract_if(.., |message| proto.is_done(message.request));
        for Message { to, request, bytes } in left.collect::<Vec<_>>() {
            let outcome = proto.take(request).expect("it is done");
            if let (Buffer::Out(buffer), Some(mut bytes)) = (outcome.buffer, bytes) {
                bytes.take_back_out(buffer);
            }
            if let Some(count) = self.counts.get_mut(&to) {
                *count -= 1;
            }
        }
        self.counts.retain(|_, count| *count > 0);
    }
}
