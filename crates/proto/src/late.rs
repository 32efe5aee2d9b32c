//! Receives that are posted late: not before something else happens that they might have to do with.
//!
//! Owns their order. As long as nothing else happens, the next message of a link can go straight to the first of them, as to a
//! blocking receive, past the matching and past every list. Whatever else looks at messages or receives has them posted
//! first ([`Proto::post_all`]), so nobody can tell the difference: each keeps its place before all that is submitted later.

use canele_rail::{Glance, Rail};
use canele_sys::buffer::InBuffer;
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::Proto;
use crate::choice::Protocol;
use crate::matching::Want;
use crate::request::{State, Status};
use crate::short::{Received, Room, Wanted, read_bulk};

/// One of them.
pub(crate) struct Late {
    id: RequestId,
    flow: FlowId,
    source: Rank,
    tag: Tag,
    buffer: InBuffer,
}

impl Proto {
    /// Whether a receive of up to `len` bytes from a peer is better posted late: its message comes on one link, in one packet.
    #[inline(always)]
    pub fn may_post_late(&self, source: Rank, len: usize) -> bool {
        let alone = self.peers.known(source).is_some_and(|peer| peer.link.is_some() && peer.lines.is_none());
        alone && len <= self.eager_bytes()
    }

    /// Receives a message of a peer, later.
    #[inline(always)]
    pub fn submit_recv_late(&mut self, flow: FlowId, source: Rank, tag: Tag, buffer: InBuffer) -> RequestId {
        let id = self.requests.insert(State::Unposted).into();
        self.unposted.push_back(Late { id, flow, source, tag, buffer });
        id
    }

    /// Takes the message of a receive straight from its link, if the receive is the next to be posted and the message the next
    /// that comes there. When it is done, the buffer comes back and the id is stale.
    #[inline(always)]
    pub fn receive_late<R: Rail>(&mut self, rail: &mut R, id: RequestId) -> Received<(Status, InBuffer)> {
        let Some(late) = self.unposted.front_mut().filter(|late| late.id == id) else {
            return Received::NotHere;
        };
        let (flow, source, tag, buffer) = (late.flow, late.source, late.tag, &mut late.buffer);
        let quiet = self.flows.get(flow.0 as usize).is_none_or(|flow| flow.matcher.is_quiet());
        let Some(link) = self.peers.known(source).and_then(|peer| peer.link).filter(|_| quiet) else {
            return Received::NotHere;
        };
        let mut wanted = Wanted { flow, tag, into: &mut *buffer, len: 0 };
        let (protocol, bytes) = match rail.glance(link, &mut wanted) {
            Glance::Taken => (Protocol::Short, wanted.len),
            Glance::Nothing => return Received::Nothing,
            Glance::Left => match read_bulk(rail, link, flow, tag, buffer) {
                Some(bytes) => (Protocol::Eager, bytes),
                None => return Received::NotHere,
            },
        };
        let Some(Late { buffer, .. }) = self.unposted.pop_front() else { unreachable!("it was found above") };
        self.requests.discard(id.into());
        self.traffic.received(protocol, bytes);
        self.traffic.copies += u64::from(protocol == Protocol::Eager);
        self.owe(source, bytes);
        Received::Done((Status { source, tag, bytes }, buffer))
    }

    /// Posts the receives that are not posted yet, in their order.
    #[inline(always)]
    pub fn post_all(&mut self) {
        if !self.unposted.is_empty() {
            self.post_late();
        }
    }

    #[inline(never)]
    fn post_late(&mut self) {
        while let Some(Late { id, flow, source, tag, buffer }) = self.unposted.pop_front() {
            self.meet(id, flow, Want { source: Some(source), tag: Some(tag) }, buffer);
        }
    }
}

impl Room for InBuffer {
    #[inline(always)]
    fn fill(&mut self, from: canele_rail::Window<'_>) -> bool {
        let fits = from.len() <= self.len();
        if fits {
            self.copy_from(0, from);
        }
        fits
    }
}
