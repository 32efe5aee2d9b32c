//! Coalesces short messages into the next packet while they wait for it: the sender may reuse their memory at
//! once, and they need no request.
//!
//! ```text
//!   link busy, nothing else waits ─▶ coalesced: part │ part │ part …  ─▶ the next packet, as it is
//! ```
//! This needs messages with numbers, and a strategy that combines all messages in the order of submission, so
//! that it has nothing to decide. Each message takes its number and its credit when it joins (invariant I10):
//! it cannot be announced any more.

use canele_rail::{Busy, Class, FullRail, Header, MAX_INLINE, Rail};
use canele_sys::ids::{LinkId, Rank, Tag};

use crate::backlog::RailPolicy;
use crate::batch;
use crate::choice::Variant;
use crate::observed::Leaving;
use crate::peer::Peer;
use crate::post::{header, kind_of};
use crate::request::{Buffer, Outcome, Status};
use crate::wire::Kind;
use crate::{Envelope, Payload, Proto, Sent};

/// The length of the longest message that is worth a copy.
pub const LONGEST: usize = 1024;

/// The most bytes that are coalesced for one peer: some hundred short messages.
const ROOM: usize = 32 << 10;

/// The coalesced messages for one peer.
#[derive(Default)]
pub struct Coalesced {
    parts: Vec<u8>,
    /// The numbers of messages that have joined, and that have left.
    joined: u64,
    left: u64,
}

impl Coalesced {
    /// Returns true if no message waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the number of waiting messages.
    fn len(&self) -> u64 {
        self.joined - self.left
    }

    fn join(&mut self, header: Header, payload: impl Payload) {
        let len = payload.len();
        self.parts.extend_from_slice(&batch::head(header, if header.inline_len == 0 { len } else { 0 }));
        let at = self.parts.len();
        match payload.bytes() {
            Some(bytes) => self.parts.extend_from_slice(bytes),
            None => {
                self.parts.resize(at + len, 0);
                canele_rail::on_slice(&mut self.parts[at..], |window| payload.fill(window));
            }
        }
        self.joined += 1;
    }
}

/// A message that was coalesced, in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CoalescedSend {
    to: Rank,
    tag: Tag,
    len: u16,
    /// The number of messages that had joined, with this one, in 48 bits.
    number_high: u16,
    number_low: u32,
}

impl CoalescedSend {
    fn new(to: Rank, tag: Tag, len: usize, number: u64) -> Self {
        Self { to, tag, len: len as u16, number_high: (number >> 32) as u16, number_low: number as u32 }
    }

    fn number(self) -> u64 {
        u64::from(self.number_high) << 32 | u64::from(self.number_low)
    }
}

impl Proto {
    /// Copies a message into the next packet, if it may join those that wait for one.
    #[inline]
    pub(crate) fn coalesce(&mut self, envelope: Envelope, payload: impl Payload) -> Sent {
        let Envelope { to, flow, tag, .. } = envelope;
        let len = payload.len();
        let chosen = self.flow(flow).is_none_or(|flow| flow.policy != RailPolicy::Any);
        if chosen
            || !self.outgoing.coalesces()
            || len > LONGEST.min(self.settings.eager_bytes.max(MAX_INLINE))
        {
            return Sent::Busy;
        }
        let most = ROOM.min(self.max_bulk);
        let Some(peer) = self.peers.known_mut(to) else { return Sent::Busy };
        let alone = peer.gone().is_none() && !peer.has_backlog() && peer.credit.can_pay(len);
        let has_room = |coalesced: &Coalesced| coalesced.parts.len() + batch::room(len) <= most;
        let Some(link) = peer.first_link().filter(|_| alone && peer.coalesced().is_some_and(has_room)) else {
            return Sent::Busy;
        };
        let (kind, protocol) = kind_of(len);
        let (rail, variant) = (link.rail(), Some(Variant::Coalesced));
        self.observer.observe_send(|number| Leaving { number, to, flow, tag, bytes: len, variant, rail });
        let header = header(kind, flow, tag, len, peer.take_number(flow));
        let Some(coalesced) = peer.coalesced_mut() else { return Sent::Busy };
        coalesced.join(header, payload);
        let (number, waiting) = (coalesced.joined, coalesced.len());
        peer.credit.pay(len);
        peer.backlog_began();
        self.traffic.sent(protocol, len);
        self.traffic.waited += 1;
        self.traffic.deepest = self.traffic.deepest.max(waiting);
        self.list(to);
        Sent::Posted(CoalescedSend::new(to, tag, len, number))
    }

    /// Sends the coalesced messages for a peer, if there are some and there is room; returns true if a packet
    /// left.
    #[inline]
    pub(crate) fn send_if_coalesced<R: FullRail>(&mut self, rail: &mut R, to: Rank) -> bool {
        let waits = |peer: &Peer| peer.coalesced().is_some_and(|coalesced| !coalesced.is_empty());
        self.peers.known(to).is_some_and(waits) && self.transmit_to(rail, to)
    }

    /// Sends the coalesced messages for a peer, and the answers that wait.
    pub(crate) fn send_coalesced<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
    ) -> Result<bool, Busy> {
        let len = self.peers[to.0 as usize].coalesced().map_or(0, |coalesced| coalesced.parts.len());
        if len == 0 {
            return Ok(false);
        }
        let (control, total) = self.answers_beside(to, len, rail.caps(link).max_bulk);
        let slot = rail.claim(link, total, Class::Message)?;
        let mut batch = batch::Writer::new(slot.bulk);
        self.load_answers(to, control, &mut batch);
        let Some(coalesced) = self.peers[to.0 as usize].coalesced_mut() else { return Ok(false) };
        batch.add_parts(&coalesced.parts);
        let parts = coalesced.len();
        coalesced.parts.clear();
        coalesced.left = coalesced.joined;
        rail.commit(link, Kind::Batch.header(0));
        self.traffic.packets += 1;
        self.traffic.parts += control as u64 + parts;
        self.traffic.aggregated += total as u64;
        self.requests.count_completion();
        Ok(true)
    }

    /// Returns the outcome of a coalesced message, or `None` while it may still wait.
    pub fn take_coalesced(&self, send: CoalescedSend) -> Option<Outcome> {
        let (CoalescedSend { to, tag, len, .. }, number) = (send, send.number());
        let result = match self.peers[to.0 as usize].coalesced() {
            Some(coalesced) if coalesced.left < number => return None,
            None if self.departures.is_discarded(to, number) => Err(self.why_gone(to)?),
            _ => Ok(Status { source: to, tag, bytes: len.into() }),
        };
        Some(Outcome { result, buffer: Buffer::None })
    }

    /// Discards the coalesced messages for a peer that is gone.
    pub(crate) fn discard_coalesced(&mut self, peer: Rank, coalesced: &Coalesced) {
        if !coalesced.is_empty() {
            self.departures.discard(peer, coalesced.left);
        }
    }
}
