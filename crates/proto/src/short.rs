//! The short path: a message that goes straight into a slot, and one that goes straight out of it.
//!
//! No request, no list, no allocation. Whatever does not fit here is left to the general path, untouched.

use canele_rail::{Accept, Class, Glance, Header, MAX_INLINE, Rail, Slot, Window};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::backlog::Lane;
use crate::choice::Protocol;
use crate::peer::cost;
use crate::traffic::Traffic;
use crate::wire::Kind;
use crate::{Flow, Proto};

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
pub enum Received<T = usize> {
    /// It came; by default, so many bytes of it.
    Done(T),
    /// Nothing has come on that link.
    Nothing,
    /// Something is there that needs the general path.
    NotHere,
}

impl<T> Received<T> {
    /// The same with what came made into something else.
    #[inline(always)]
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Received<U> {
        match self {
            Received::Done(done) => Received::Done(make(done)),
            Received::Nothing => Received::Nothing,
            Received::NotHere => Received::NotHere,
        }
    }
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
    /// Sends a message of at most [`MAX_INLINE`] bytes in one cell, if nothing stands in its way.
    #[inline(always)]
    pub fn try_send_short<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        bytes: &[u8],
    ) -> Sent {
        let len = bytes.len();
        let Some((peer, link)) = self.peers.known_mut(to).and_then(|peer| peer.open_for(len)) else {
            return Sent::NotHere;
        };
        if peer.lines.is_some() {
            // It carries a number.
            return self.try_send(rail, to, flow, tag, len, |slot| slot.write(0, bytes));
        }
        let header =
            Header { kind: Kind::Short as u8, inline_len: len as u8, flow: flow.0, tag: tag.0, sequence: 0 };
        let Ok(()) = rail.post(link, header, bytes) else { return Sent::NotHere };
        peer.credit -= cost(len);
        self.traffic.sent(Protocol::Short, len);
        Sent::Done
    }

    /// Sends `bytes`, short or eager, if nothing stands in its way.
    #[inline(always)]
    pub fn try_send_bytes<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        bytes: &[u8],
    ) -> Sent {
        let len = bytes.len();
        if len <= MAX_INLINE {
            return self.try_send_short(rail, to, flow, tag, bytes);
        }
        if len > self.eager_bytes() {
            return self.try_send_ahead(rail, to, flow, tag, bytes);
        }
        let Some((peer, link)) = self.peers.known_mut(to).and_then(|peer| peer.open_for(len)) else {
            return Sent::NotHere;
        };
        if peer.lines.is_some() {
            return self.try_send(rail, to, flow, tag, len, |slot| slot.write(0, bytes));
        }
        let header = Header { kind: Kind::Eager as u8, inline_len: 0, flow: flow.0, tag: tag.0, sequence: 0 };
        let Ok(()) = rail.post_bulk(link, header, bytes) else { return Sent::NotHere };
        peer.credit -= cost(len);
        self.traffic.sent(Protocol::Eager, len);
        self.traffic.copies += 1;
        Sent::Done
    }

    /// Sends a message of `len` bytes that `fill` writes in place, short or eager, if nothing stands in its way. `fill`
    /// is called at most once.
    pub fn try_send<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        len: usize,
        fill: impl FnOnce(Window<'_>),
    ) -> Sent {
        if len > self.eager_bytes().max(MAX_INLINE) {
            return Sent::NotHere;
        }
        let Some((peer, link)) = self.peers.known_mut(to).and_then(|peer| peer.open_for(len)) else {
            return Sent::NotHere;
        };
        let chosen = |flow: &Flow| flow.lane != Lane::Any;
        if peer.lines.is_some() && self.flows.get(flow.0 as usize).is_some_and(chosen) {
            return Sent::NotHere; // Another link may be meant.
        }
        let short = len <= MAX_INLINE;
        let Ok(slot) = rail.claim(link, if short { 0 } else { len }, Class::Message) else {
            return Sent::NotHere;
        };
        fill(if short { within(&slot, len) } else { slot.bulk });
        let (kind, inline_len) = if short { (Kind::Short, len as u8) } else { (Kind::Eager, 0) };
        let sequence = peer.lines.as_mut().map_or(0, |lines| lines.order.next(flow));
        rail.commit(link, Header { kind: kind as u8, inline_len, flow: flow.0, tag: tag.0, sequence });
        if let Some(lines) = &mut peer.lines {
            lines.order.sent(flow);
        }
        peer.credit -= cost(len);
        self.traffic.sent(if short { Protocol::Short } else { Protocol::Eager }, len);
        self.traffic.copies += u64::from(!short);
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
        self.peers.known(peer)?.link
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
        self.try_recv_on(rail, (rail.peer(link), link), flow, tag, into)
    }

    /// The same for the next message of a peer, if there is a link to it.
    #[inline(always)]
    pub fn try_recv_from<R: Rail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        from: Rank,
        flow: FlowId,
        tag: Tag,
        into: &mut M,
    ) -> Received {
        let Some(link) = self.link_from(from) else { return Received::NotHere };
        self.try_recv_on(rail, (from, link), flow, tag, into)
    }

    #[inline(always)]
    fn try_recv_on<R: Rail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        (from, link): (Rank, LinkId),
        flow: FlowId,
        tag: Tag,
        into: &mut M,
    ) -> Received {
        let peer = &mut self.peers[from.0 as usize];
        if peer.lines.is_some() {
            return self.try_recv_numbered(rail, link, flow, tag, into);
        }
        let mut wanted = Wanted { flow, tag, into, came: Came::Short(0) };
        match rail.glance(link, &mut wanted) {
            Glance::Taken => {
                let len = wanted.came.count(&mut self.traffic);
                if peer.owe(len, self.grant) {
                    self.list(from);
                }
                Received::Done(len)
            }
            Glance::Nothing => Received::Nothing,
            Glance::Left => Received::NotHere,
        }
    }

    /// The same where messages carry numbers.
    #[inline(never)]
    fn try_recv_numbered<R: Rail, M: Room + ?Sized>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        flow: FlowId,
        tag: Tag,
        into: &mut M,
    ) -> Received {
        let from = rail.peer(link);
        let Some(lines) = &mut self.peers[from.0 as usize].lines else { return Received::NotHere };
        let (due, link) = (lines.order.due(flow), lines.next_look(link));
        // Whoever looks lets the rail go on, as a pass does: an answer to what comes need not wait for one.
        rail.begin_pass();
        let mut numbered = Numbered { due, wanted: Wanted { flow, tag, into, came: Came::Short(0) } };
        match rail.glance(link, &mut numbered) {
            Glance::Taken => {
                let len = numbered.wanted.came.count(&mut self.traffic);
                self.owe(from, len);
                self.number_came(from, flow);
                Received::Done(len)
            }
            Glance::Nothing => Received::Nothing,
            Glance::Left => Received::NotHere,
        }
    }

    /// A message of a peer was consumed: its credit goes back.
    #[inline(always)]
    pub(crate) fn owe(&mut self, from: Rank, len: usize) {
        if self.peers[from.0 as usize].owe(len, self.grant) {
            self.list(from);
        }
    }
}

/// A message that is looked for.
struct Wanted<'a, M: ?Sized> {
    flow: FlowId,
    tag: Tag,
    into: &'a mut M,
    came: Came,
}

/// What came, and its length.
enum Came {
    Short(usize),
    Eager(usize),
}

impl Came {
    /// Counts it; gives its length.
    #[inline(always)]
    fn count(&self, traffic: &mut Traffic) -> usize {
        match *self {
            Self::Short(len) => {
                traffic.received(Protocol::Short, len);
                len
            }
            Self::Eager(len) => {
                traffic.received(Protocol::Eager, len);
                traffic.copies += 1;
                len
            }
        }
    }
}

impl<M: Room + ?Sized> Accept for Wanted<'_, M> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        let (kind, bytes, came) = match bulk.len() {
            0 => (Kind::Short, inline, Came::Short(inline.len())),
            len => (Kind::Eager, bulk, Came::Eager(len)),
        };
        let wanted = header.kind == kind as u8 && header.flow == self.flow.0 && header.tag == self.tag.0;
        let (true, Some(into)) = (wanted, self.into.room(bytes.len())) else { return false };
        bytes.read(0, into);
        self.came = came;
        true
    }
}

/// The same, if it is the next of its flow.
struct Numbered<'a, M: ?Sized> {
    due: u32,
    wanted: Wanted<'a, M>,
}

impl<M: Room + ?Sized> Accept for Numbered<'_, M> {
    #[inline(always)]
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool {
        header.sequence == self.due && self.wanted.accept(header, inline, bulk)
    }
}

/// The first `len` inline bytes of a slot.
#[inline(always)]
fn within<'a>(slot: &Slot<'a>, len: usize) -> Window<'a> {
    slot.inline.part(0, len).unwrap_or(Window::empty())
}
