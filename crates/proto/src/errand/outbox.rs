//! Messages of the library itself that are on their way out, with the memory they lie in.

use canele_rail::Rail;
use canele_sys::buffer::{OutBuffer, Owned};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::request::{Buffer, Mode};
use crate::{Proto, Sent};

/// Messages that have not left yet.
#[derive(Default)]
pub(super) struct Outbox(Vec<(RequestId, Option<Owned<u8>>)>);

impl Outbox {
    pub fn len(&self) -> usize {
        self.0.len()
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
        self.0.push((request, Some(owned)));
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
        self.0.push((request, None));
    }

    /// Forgets what has left.
    pub fn clear(&mut self, proto: &mut Proto) {
        let left = self.0.extract_if(.., |(request, _)| proto.is_done(*request)).collect::<Vec<_>>();
        for (request, owned) in left {
            let outcome = proto.take(request).expect("it is done");
            if let (Buffer::Out(buffer), Some(mut owned)) = (outcome.buffer, owned) {
                owned.take_back_out(buffer);
            }
        }
    }
}
