//! Multi-fragment eager messages: several packets without a handshake, where waiting for the answer takes as
//! long as they do.
//!
//! ```text
//!   sender                                 receiver
//!   first (length, sender's request,
//!          a piece or none)          ──▶   matched: into the buffer.  Not yet: kept, paid for by credit
//!   more  (sender's request, offset) ──▶   appended; a receive that comes meanwhile takes this and the rest
//! ```
//! Owns, at the receiver, the messages under way and their targets. They exist only on links that keep
//! packets in order: a piece that is not the next of its message proves that the sender is corrupt.

use std::collections::BTreeMap;

use canele_mem::buffer::InBuffer;
use canele_rail::{Class, Corrupt, FullRail, Header, Packet, Rail};
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

use crate::choice::{Begin, Protocol, Variant, piece_bytes};
use crate::observed::{Leaving, MessageEvent};
use crate::request::{Receive, State, received};
use crate::slab::Key;
use crate::submit::ends_that_copy;
use crate::unexpected::Body;
use crate::wire::{Kind, Rts, piece_words};
use crate::{Envelope, Proto, ProtoEvent, Sent};

/// The request number in messages whose packets all leave at once, one after the other: they need no request.
const WHOLE: RequestId = RequestId { index: u32::MAX, generation: u32::MAX };

/// The multi-fragment eager messages of which packets are still to come, by their senders and those senders'
/// requests.
pub(crate) struct EagerMultis<P = Rank> {
    /// The one that began last. Most are complete before the next one begins.
    newest: Option<((P, RequestId), EagerMulti)>,
    others: BTreeMap<(P, RequestId), EagerMulti>,
}

/// A multi-fragment eager message of which packets are still to come.
struct EagerMulti {
    len: usize,
    got: usize,
    to: Target,
}

/// The place into which the bytes of a message go.
enum Target {
    /// The buffer of this receive, if it still waits for the message.
    Receive(RequestId),
    /// The unexpected message that keeps them until a receive takes it.
    Unexpected(Key),
    /// Nowhere: the message was too long.
    Nothing,
}

impl<P> Default for EagerMultis<P> {
    fn default() -> Self {
        Self { newest: None, others: BTreeMap::new() }
    }
}

impl<P: Ord + Copy> EagerMultis<P> {
    fn insert(&mut self, from: P, request: RequestId, message: EagerMulti) {
        if let Some((key, before)) = self.newest.replace(((from, request), message)) {
            self.others.insert(key, before);
        }
    }

    fn get_mut(&mut self, from: P, request: RequestId) -> Option<&mut EagerMulti> {
        match &mut self.newest {
            Some((key, message)) if *key == (from, request) => Some(message),
            _ => self.others.get_mut(&(from, request)),
        }
    }

    fn remove(&mut self, from: P, request: RequestId) -> Option<EagerMulti> {
        match self.newest.take_if(|(key, _)| *key == (from, request)) {
            Some((_, message)) => Some(message),
            None => self.others.remove(&(from, request)),
        }
    }

    /// Forgets the messages of a peer.
    pub fn remove_of(&mut self, peer: P) {
        self.newest.take_if(|((from, _), _)| *from == peer);
        let least = RequestId { index: 0, generation: 0 };
        let of_peer = (peer, least)..=(peer, WHOLE);
        while let Some((key, _)) = self.others.range(of_peer.clone()).next() {
            let key = *key;
            self.others.remove(&key);
        }
    }
}

impl Proto {
    /// Sends a message that is too long for one packet straight from `bytes`, if it need not wait and all of
    /// it finds room now.
    #[inline(never)]
    pub(crate) fn post_eager_multi<R: FullRail>(
        &mut self,
        rail: &mut R,
        envelope: Envelope,
        bytes: &[u8],
    ) -> Sent {
        let Envelope { to, flow, tag, mode, .. } = envelope;
        let len = bytes.len();
        let Some((peer, link)) = self.peers.known_mut(to).and_then(|peer| peer.straight_for(len)) else {
            return Sent::Busy;
        };
        let expects_urgent = peer.backlog.as_ref().is_some_and(|backlog| backlog.expects_urgent());
        if expects_urgent || ends_that_copy(rail, link, (Begin::EagerMulti, mode), len).is_some() {
            return Sent::Busy;
        }
        let piece = piece_bytes(rail.caps(link), len, self.settings.piece_bytes);
        if !rail.has_room(link, len.div_ceil(piece), piece) {
            return Sent::Busy;
        }
        self.observer.observe_send(|number| Leaving {
            number,
            to,
            flow,
            tag,
            bytes: len,
            variant: Some(Variant::EagerMulti),
            rail: link.rail(),
        });
        let named = Header { flow: flow.0, tag: tag.0, ..Kind::EagerFirst.header(Rts::BYTES / 8) };
        let rts = Rts { len: len as u64, request: WHOLE, place: None, lacks_credit: false };
        for (n, part) in bytes.chunks(piece).enumerate() {
            match n {
                0 => send_packet(rail, link, named, &rts.to_words(), part),
                _ => {
                    let words = piece_words(WHOLE, (n * piece) as u64);
                    send_packet(rail, link, Kind::EagerMore.header(2), &words, part);
                }
            }
            self.traffic.copies += 1;
        }
        peer.credit.pay(len);
        self.traffic.sent(Protocol::Streamed, len);
        let (bytes, variant) = (len as u64, Variant::EagerMulti);
        self.tell(|| ProtoEvent::ProtocolChosen { peer: to, bytes, variant, is_sender: true });
        Sent::Done
    }

    /// Handles the first packet of a message that was not announced. It has the first piece, or no payload.
    pub(crate) fn on_eager_first(
        &mut self,
        (from, flow, tag): (Rank, FlowId, Tag),
        rts: Rts,
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        // A peer sends no more than its credit without asking.
        let peer = &self.peers[from.0 as usize];
        let paid = peer.credit.covers(rts.len) && !peer.is_numbered();
        let Some(len) = usize::try_from(rts.len).ok().filter(|_| paid) else {
            return Err(Corrupt(format!("{from} sends {} bytes without asking", rts.len)));
        };
        if self.eager_multis.get_mut(from, rts.request).is_some() {
            return Err(Corrupt(format!("{from} sends a message twice at a time")));
        }
        let to = match self.flow(flow).and_then(|f| f.matcher.arrive(from, tag)) {
            Some(id) => {
                let Some(State::ExpectMessage { buffer, .. }) = self.requests.leave(id) else {
                    return Ok(());
                };
                self.observe(|| MessageEvent::Matched { from, flow, tag, bytes: len });
                self.expect_rest(id, from, tag, buffer, (0, len))
            }
            None => {
                self.charge(from, len)?;
                let data = self.incoming.take_memory(len);
                let body = Body::Coming { data, got: 0, request: rts.request };
                Target::Unexpected(self.store(flow, from, tag, body)?)
            }
        };
        if self.gone(from).is_some() {
            return Ok(());
        }
        self.eager_multis.insert(from, rts.request, EagerMulti { len, got: 0, to });
        match packet.bulk.is_empty() {
            true => Ok(()),
            false => self.on_eager_more(from, (rts.request, 0), packet),
        }
    }

    /// Lets a receive that has `got` of `len` bytes wait for the rest, if its buffer has room.
    fn expect_rest(
        &mut self,
        id: RequestId,
        from: Rank,
        tag: Tag,
        buffer: InBuffer,
        (got, len): (usize, usize),
    ) -> Target {
        let receive = Receive::new(from, tag, buffer, len);
        if let Some(failure) = self.why_gone(from) {
            self.requests.end(id, received(receive, Err(failure))); // The rest will never come.
            return Target::Nothing;
        }
        if len > receive.buffer.len() {
            let failure = receive.truncated();
            self.requests.end(id, received(receive, Err(failure)));
            return Target::Nothing;
        }
        self.requests.enter(id, State::ExpectPieces(receive, got));
        Target::Receive(id)
    }

    /// Gives a receive the bytes of a message that is still coming.
    pub(crate) fn take_over(
        &mut self,
        id: RequestId,
        (from, tag): (Rank, Tag),
        (data, got, request): (Vec<u8>, usize, RequestId),
        mut buffer: InBuffer,
    ) {
        let len = data.len();
        self.discharge(from, len);
        if len <= buffer.len() {
            buffer.copy_from_slice(0, &data[..got]);
            self.traffic.copies += 1;
        }
        self.incoming.reclaim_memory(data);
        let to = self.expect_rest(id, from, tag, buffer, (got, len));
        if let Some(message) = self.eager_multis.get_mut(from, request) {
            message.to = to;
        }
    }

    /// Handles the next piece of a message.
    pub(crate) fn on_eager_more(
        &mut self,
        from: Rank,
        (request, offset): (RequestId, u64),
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        let n = packet.bulk.len();
        let next = |message: &&mut EagerMulti| {
            message.got as u64 == offset && n > 0 && n <= message.len - message.got
        };
        let Some(message) = self.eager_multis.get_mut(from, request).filter(next) else {
            return Err(Corrupt(format!(
                "{from} sent {n} bytes at {offset} of a message that does not come"
            )));
        };
        message.got += n;
        let whole = message.got == message.len;
        let copied = match message.to {
            Target::Receive(id) => match self.requests.get_mut(id) {
                Some(State::ExpectPieces(receive, got)) => {
                    receive.buffer.copy_from(offset as usize, packet.bulk);
                    *got += n;
                    true
                }
                _ => false, // It failed meanwhile.
            },
            Target::Unexpected(key) => self.incoming.append(key, offset as usize, packet.bulk),
            Target::Nothing => false,
        };
        self.traffic.copies += u64::from(copied);
        if whole {
            self.finish_eager_multi(from, request);
        }
        Ok(())
    }

    /// Ends a message of which all pieces have come.
    fn finish_eager_multi(&mut self, from: Rank, request: RequestId) {
        let Some(EagerMulti { len, to, .. }) = self.eager_multis.remove(from, request) else { return };
        match to {
            Target::Receive(id) => {
                self.finish_receive(id, Protocol::Streamed);
                self.return_credit(from, len);
            }
            Target::Nothing => self.return_credit(from, len),
            // Its credit goes back when it is received.
            Target::Unexpected(key) => self.incoming.complete(key),
        }
    }
}

/// Sends one packet, for which there is room.
fn send_packet<R: Rail>(rail: &mut R, link: LinkId, header: Header, words: &[u64], bulk: &[u8]) {
    let Ok(slot) = rail.claim(link, bulk.len(), Class::Message) else {
        unreachable!("the rail has said that it has room");
    };
    slot.inline.write_words(0, words);
    slot.bulk.write(0, bulk);
    rail.commit(link, header);
}

#[cfg(test)]
mod tests {
    use canele_mem::window::Window;

    use super::*;
    use crate::Settings;
    use crate::compared::{Counted, comparisons};

    #[test]
    fn pieces_of_many_messages_are_found_by_a_few_comparisons_each() {
        let mut messages = EagerMultis::default();
        let before = comparisons();
        for n in 0..10_000 {
            messages.insert(Counted(n / 10), id(n % 10), EagerMulti { len: 1, got: 0, to: Target::Nothing });
        }
        for n in 0..10_000 {
            assert!(messages.get_mut(Counted(n / 10), id(n % 10)).is_some());
        }
        for peer in 0..1000 {
            messages.remove_of(Counted(peer));
            assert!(messages.get_mut(Counted(peer), id(3)).is_none());
        }
        assert!(messages.newest.is_none() && messages.others.is_empty());
        assert!(comparisons() - before < 10_000 * 400);
    }

    #[test]
    fn a_first_packet_brings_at_most_its_message() {
        for (bulk, fits) in [(0, true), (100, true), (4096, true), (4097, false)] {
            let settings = Settings { eager_bytes: 2048, piece_bytes: 4096, unexpected_bytes: 64 << 10 };
            let mut proto = Proto::new(Rank(0), 2, settings);
            let rts = Rts { len: 4096, request: id(3), place: None, lacks_credit: false };
            let mut bytes = vec![7; bulk];
            let packet = Packet {
                header: Kind::EagerFirst.header(Rts::BYTES / 8),
                inline: Window::empty(),
                bulk: Window::on(&mut bytes),
                direct_bytes: 0,
            };
            let taken = proto.on_eager_first((Rank(1), FlowId(0), Tag(7)), rts, &packet);
            assert_eq!(taken.is_ok(), fits, "{bulk} bytes");
            let left = proto.eager_multis.get_mut(Rank(1), id(3)).map(|message| message.len - message.got);
            assert_eq!(left.filter(|_| fits), (bulk < 4096).then(|| 4096 - bulk), "{bulk} bytes");
        }
    }

    fn id(index: u32) -> RequestId {
        RequestId { index, generation: u32::MAX }
    }
}
