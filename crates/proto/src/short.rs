//! The short path: a message that goes straight into a slot, and one that goes straight out of it.
//!
//! No request, no list, no allocation. Whatever does not fit here is left to the general path, untouched.

use canele_rail::{Class, Header, MAX_INLINE, Rail, Slot, Window};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::Proto;
use crate::choice::Protocol;
use crate::peer::cost;
use crate::wire::Kind;

/// What became of a message offered to the short path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It is on its way; its memory may be used again.
    Done,
    /// It needs the general path.
    NotHere,
}

/// What a look for one certain message gave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// It came; so many bytes of it.
    Done(usize),
    /// Nothing has come on that link.
    Nothing,
    /// Something is there that needs the general path.
    NotHere,
}

/// Memory for a message whose length is not known before it comes.
pub trait Room {
    /// Memory of this length, if it can be had.
    fn room(&mut self, len: usize) -> Option<&mut [u8]>;
}

impl Room for [u8] {
    #[inline(always)]
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        self.get_mut(..len)
    }
}

impl Proto {
    /// Sends a message of `len` bytes that `fill` writes, if nothing stands in its way. `fill` is called at most once.
    #[inline(always)]
    pub fn try_send<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        len: usize,
        fill: impl FnOnce(Window<'_>),
    ) -> Sent {
        let Some(peer) = self.peers.get_mut(to.0 as usize) else { return Sent::NotHere };
        let (true, Some(link)) = (peer.open && peer.credit >= cost(len), peer.link) else {
            return Sent::NotHere;
        };
        if len <= MAX_INLINE {
            let Ok(slot) = rail.claim(link, 0, Class::Message) else { return Sent::NotHere };
            fill(within(&slot, len));
            let header = Header {
                kind: Kind::Short as u8,
                inline_len: len as u8,
                flow: flow.0,
                tag: tag.0,
                sequence: 0,
            };
            rail.commit(link, header);
            self.traffic.sent(Protocol::Short, len);
        } else {
            if len > self.settings.eager_bytes || len > self.caps.max_bulk {
                return Sent::NotHere;
            }
            let Ok(slot) = rail.claim(link, len, Class::Message) else { return Sent::NotHere };
            fill(slot.bulk);
            let header =
                Header { kind: Kind::Eager as u8, inline_len: 0, flow: flow.0, tag: tag.0, sequence: 0 };
            rail.commit(link, header);
            self.traffic.sent(Protocol::Eager, len);
            self.traffic.copies += 1;
        }
        peer.credit -= cost(len);
        Sent::Done
    }

    /// Whether a receive on `flow` may look at the rail itself: no other receive and no message waits there.
    #[inline(always)]
    pub fn is_quiet(&self, flow: FlowId) -> bool {
        self.flows.get(flow.0 as usize).is_none_or(|flow| flow.matcher.is_quiet())
    }

    /// The link on which a receive from `peer` may look, if there is one.
    #[inline(always)]
    pub fn link_from(&self, peer: Rank) -> Option<LinkId> {
        self.peers.get(peer.0 as usize)?.link
    }

    /// Takes the next message of a link if it is the one wanted and fits. Only while the flow is quiet.
    #[inline(always)]
    pub fn try_recv<R: Rail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        flow: FlowId,
        tag: Tag,
        into: &mut M,
    ) -> Received {
        let packet = match rail.poll(link) {
            Ok(Some(packet)) => packet,
            Ok(None) => return Received::Nothing,
            Err(_) => return Received::NotHere,
        };
        let header = packet.header;
        if header.flow != flow.0 || header.tag != tag.0 {
            return Received::NotHere;
        }
        let (payload, protocol) = if header.kind == Kind::Short as u8 {
            let Some(payload) = packet.inline.part(0, header.inline_len as usize) else {
                return Received::NotHere;
            };
            (payload, Protocol::Short)
        } else if header.kind == Kind::Eager as u8 {
            (packet.bulk, Protocol::Eager)
        } else {
            return Received::NotHere;
        };
        let len = payload.len();
        let Some(into) = into.room(len) else { return Received::NotHere };
        payload.read(0, into);
        let from = rail.peer(link);
        rail.release(link);
        self.traffic.copies += u64::from(protocol == Protocol::Eager);
        self.traffic.received(protocol, len);
        self.owe(from, len);
        Received::Done(len)
    }

    /// A message of a peer was consumed: its credit goes back, in steps of half the grant.
    #[inline(always)]
    pub(crate) fn owe(&mut self, from: Rank, len: usize) {
        let peer = &mut self.peers[from.0 as usize];
        peer.owed += cost(len);
        if peer.owed >= self.grant / 2 {
            self.list(from);
        }
    }
}

/// The first `len` inline bytes of a slot.
#[inline(always)]
fn within<'a>(slot: &Slot<'a>, len: usize) -> Window<'a> {
    slot.inline.part(0, len).unwrap_or(Window::empty())
}
