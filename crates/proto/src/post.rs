//! Posting a message: its bytes leave at once, or are copied for the next packet, or it needs a request.
//!
//! ```text
//!   link open, credit left ─▶ short │ eager │ multi-fragment eager ─▶ the rail      Done
//!   link busy, short       ─▶ coalesced with others                ─▶ next packet   Posted
//!   anything else          ─▶ untouched: the caller lends it to submit_send         Busy
//! ```
//! No request, no list, no allocation. The numbers of messages, their credit and their protocol are decided
//! here, once.

use canele_mem::window::Window;
use canele_rail::{Class, FullRail, Header, MAX_INLINE, Slot, TryPost};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use crate::choice::{Begin, Protocol, Variant};
use crate::credit::Credit;
use crate::observed::Leaving;
use crate::peer::SendPath;
use crate::peers::{PeerIndex, ShortAddress};
use crate::request::Mode;
use crate::traffic::Traffic;
use crate::wire::Kind;
use crate::{CoalescedSend, Proto};

/// The address, tag and mode of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Envelope {
    /// The receiver.
    pub to: Rank,
    /// The flow.
    pub flow: FlowId,
    /// The tag.
    pub tag: Tag,
    /// The send mode: it decides when the send is complete.
    pub mode: Mode,
    /// True if a message that is posted may leave with a later packet, from a copy.
    pub coalesce: bool,
}

impl Envelope {
    /// Makes the envelope of a message in standard mode, which leaves at once or not at all.
    #[inline(always)]
    pub fn new(to: Rank, flow: FlowId, tag: Tag) -> Self {
        Self { to, flow, tag, mode: Mode::Standard, coalesce: false }
    }

    /// Makes the envelope of a message that its receiver is known to ask for ([`Mode::Expected`]).
    #[inline(always)]
    pub fn expected(to: Rank, flow: FlowId, tag: Tag) -> Self {
        Self { mode: Mode::Expected, ..Self::new(to, flow, tag) }
    }
}

/// The bytes of a message.
pub trait Payload {
    /// Returns their number.
    fn len(&self) -> usize;

    /// Returns true if there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes, if they lie in memory one after the other.
    fn bytes(&self) -> Option<&[u8]>;

    /// Writes the bytes into a window of their length.
    fn fill(self, window: Window<'_>);
}

impl Payload for &[u8] {
    #[inline(always)]
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        Some(self)
    }

    #[inline(always)]
    fn fill(self, window: Window<'_>) {
        window.write(0, self);
    }
}

/// A payload that a function writes in place.
pub struct Filled<F> {
    /// Its length in bytes.
    pub len: usize,
    /// Writes the bytes; called at most once.
    pub fill: F,
}

impl<F: FnOnce(Window<'_>)> Payload for Filled<F> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn bytes(&self) -> Option<&[u8]> {
        None
    }

    #[inline(always)]
    fn fill(self, window: Window<'_>) {
        (self.fill)(window);
    }
}

/// The result of posting a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// The message is on its way; its memory may be used again.
    Done,
    /// The message was copied and leaves with the next packet; its memory may be used again.
    Posted(CoalescedSend),
    /// Nothing was sent and its payload was not read: it needs a request.
    Busy,
}

/// The result of posting a short message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShortSent {
    /// Nothing has changed.
    Left,
    /// The message is on its way.
    Done,
    /// The message is on its way, and the peer sleeps and is to be woken ([`Proto::wake_peer`]).
    ToSleeper,
}

impl Proto {
    /// Returns the place of a peer, and touches it.
    pub fn peer_index(&mut self, peer: Rank) -> PeerIndex {
        self.peers.touched_index(peer)
    }

    /// Wakes a peer after [`ShortSent::ToSleeper`].
    #[cold]
    #[inline(never)]
    pub fn wake_peer<R: FullRail>(&mut self, rail: &mut R, peer: PeerIndex) {
        if let Some(link) = self.peers.at_mut(peer).and_then(|peer| peer.first_link()) {
            rail.wake(link);
        }
    }

    /// Sends a message of at most [`MAX_INLINE`] bytes whose link takes it at once, in few instructions and
    /// without a call.
    #[inline(always)]
    pub fn post_short<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: &ShortAddress,
        tag: Tag,
        bytes: &[u8],
    ) -> ShortSent {
        let len = bytes.len();
        if len > MAX_INLINE {
            return ShortSent::Left;
        }
        let Some(peer) = self.peers.at_mut(to.peer) else { return ShortSent::Left };
        let SendPath::Short(link) = peer.send_path() else { return ShortSent::Left };
        // With less credit than the longest such message costs, the general path decides.
        if !peer.credit.can_pay(MAX_INLINE) {
            return ShortSent::Left;
        }
        let posted = rail.try_post(link, header(Kind::Short, to.flow, tag, len, 0), bytes);
        if posted == TryPost::Left {
            return ShortSent::Left;
        }
        peer.credit.pay(len);
        self.traffic.sent(Protocol::Short, len);
        if posted == TryPost::Posted { ShortSent::Done } else { ShortSent::ToSleeper }
    }

    /// Sends a message with a bulk in one packet, if its link takes it at once; returns true if it has.
    #[inline(always)]
    pub fn post_bulk<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: &ShortAddress,
        tag: Tag,
        bytes: &[u8],
    ) -> bool {
        let len = bytes.len();
        let Some(peer) = self.peers.at_mut(to.peer) else { return false };
        let SendPath::Short(link) = peer.send_path() else { return false };
        if len <= MAX_INLINE || len > peer.path(self.max_bulk).whole_bytes() {
            return false;
        }
        let header = header(Kind::Eager, to.flow, tag, len, 0);
        post_bulk_on(link, (rail, &mut peer.credit, &mut self.traffic), header, bytes)
    }

    /// Sends a message in one packet, or in several if all find room, if it need not wait. A short message is
    /// inlined down to the rail's store.
    #[inline(always)]
    pub fn post<R: FullRail, P: Payload>(&mut self, rail: &mut R, envelope: Envelope, payload: P) -> Sent {
        let Envelope { to, flow, tag, mode, .. } = envelope;
        if let Some(bytes) = payload.bytes()
            && self.post_in_cell(rail, (to, flow, tag), mode, bytes)
        {
            return Sent::Done;
        }
        self.post_otherwise(rail, envelope, payload)
    }

    /// Sends a message that fits into a cell, if its link is open and takes it at once. Returns true if it
    /// has; otherwise the caller goes on with [`Proto::post_otherwise`].
    #[inline(always)]
    pub fn post_in_cell<R: FullRail>(
        &mut self,
        rail: &mut R,
        (to, flow, tag): (Rank, FlowId, Tag),
        mode: Mode,
        bytes: &[u8],
    ) -> bool {
        if mode == Mode::Synchronous || bytes.len() > MAX_INLINE {
            return false;
        }
        let to = ShortAddress { peer: self.peers.index_of(to), flow };
        match self.post_short(rail, &to, tag, bytes) {
            ShortSent::Left => false,
            ShortSent::Done => true,
            ShortSent::ToSleeper => {
                self.wake_peer(rail, to.peer);
                true
            }
        }
    }

    /// Posts a message that does not fit into a cell, is written in place, carries a number, or finds no free
    /// cell.
    #[inline(never)]
    pub fn post_otherwise<R: FullRail, P: Payload>(
        &mut self,
        rail: &mut R,
        envelope: Envelope,
        payload: P,
    ) -> Sent {
        let Envelope { to, flow, tag, mode, .. } = envelope;
        let len = payload.len();
        let Some(peer) = self.peers.known_mut(to) else { return Sent::Busy };
        let begin = peer.begin(self.max_bulk, len, mode);
        if let (Begin::Whole, Some(bytes), SendPath::Short(link)) = (begin, payload.bytes(), peer.send_path())
            && len > MAX_INLINE
        {
            let header = header(Kind::Eager, flow, tag, len, 0);
            let sent = post_bulk_on(link, (rail, &mut peer.credit, &mut self.traffic), header, bytes);
            return if sent { Sent::Done } else { Sent::Busy };
        }
        match (begin, payload.bytes()) {
            (Begin::Whole, _) => self.post_whole(rail, envelope, payload),
            (Begin::EagerMulti, Some(bytes)) => self.post_eager_multi(rail, envelope, bytes),
            _ => Sent::Busy,
        }
    }

    /// Posts a message that goes in one packet but is written in place, carries a number, or has an observer.
    /// A message without room may be coalesced. It has a function of its own so that a message with a bulk
    /// needs a small frame.
    #[inline(never)]
    fn post_whole<R: FullRail, P: Payload>(&mut self, rail: &mut R, envelope: Envelope, payload: P) -> Sent {
        let Envelope { to, flow, tag, coalesce, .. } = envelope;
        let len = payload.len();
        let Some(peer) = self.peers.known_mut(to) else { return Sent::Busy };
        if let Some((peer, link)) = peer.straight_for(len) {
            // A flow that chooses its rail may need another link.
            let may = !peer.is_numbered() || !self.flows.chooses_rail(flow);
            let header = header(kind_of(len).0, flow, tag, len, peer.next_number(flow));
            let bulk = if len <= MAX_INLINE { 0 } else { len };
            if may && let Ok(slot) = rail.claim(link, bulk, Class::Message) {
                let variant = Some(if bulk == 0 { Variant::Short } else { Variant::Eager });
                // Before it leaves: the observer of its receiver may get it at once.
                self.observer.observe_send(|number| Leaving {
                    number,
                    to,
                    flow,
                    tag,
                    bytes: len,
                    variant,
                    rail: link.rail(),
                });
                match payload.bytes() {
                    // The rail reads the sender's memory. The claim has shown that there is room.
                    Some(bytes) if bulk > 0 => {
                        if rail.post_bulk(link, header, bytes).is_err() {
                            return Sent::Busy;
                        }
                    }
                    _ => {
                        payload.fill(if bulk == 0 { within(&slot, len) } else { slot.bulk });
                        rail.commit(link, header);
                    }
                }
                peer.number_sent(flow);
                peer.credit.pay(len);
                self.traffic.sent(kind_of(len).1, len);
                self.traffic.copies += u64::from(bulk > 0);
                return Sent::Done;
            }
        }
        if coalesce { self.coalesce(envelope, payload) } else { Sent::Busy }
    }
}

/// Posts a bulk on a link of a short path, which takes it in few instructions and has no observer; returns
/// true if it left.
#[inline(always)]
fn post_bulk_on<R: FullRail>(
    link: LinkId,
    (rail, credit, traffic): (&mut R, &mut Credit, &mut Traffic),
    header: Header,
    bytes: &[u8],
) -> bool {
    let len = bytes.len();
    let posted = credit.can_pay(len) && rail.post_bulk(link, header, bytes).is_ok();
    if posted {
        credit.pay(len);
        traffic.sent(Protocol::Eager, len);
        traffic.copies += 1;
    }
    posted
}

/// Returns the kind and the protocol of a message of `len` bytes that fits into one packet.
#[inline(always)]
pub(crate) fn kind_of(len: usize) -> (Kind, Protocol) {
    if len <= MAX_INLINE { (Kind::Short, Protocol::Short) } else { (Kind::Eager, Protocol::Eager) }
}

/// Returns the header of a message that fits into one packet.
#[inline(always)]
pub(crate) fn header(kind: Kind, flow: FlowId, tag: Tag, len: usize, sequence: u32) -> Header {
    let inline_len = if kind == Kind::Short { len as u8 } else { 0 };
    Header { kind: kind as u8, inline_len, flow: flow.0, tag: tag.0, sequence }
}

/// Returns the first `len` inline bytes of a slot.
#[inline(always)]
fn within<'a>(slot: &Slot<'a>, len: usize) -> Window<'a> {
    slot.inline.part(0, len).unwrap_or(Window::empty())
}
