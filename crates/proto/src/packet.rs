//! Packing: fills packets with answers, messages alone and together, and pieces of large ones; notes those
//! that have left.
//!
//! Never chooses: `transmit.rs` has decided the contents of a packet. A message that finds no room is
//! unchanged.

use canele_mem::buffer::OutBuffer;
use canele_mem::window::Window;
use canele_rail::{Busy, Class, FullRail, Header, MAX_INLINE, Rail};
use canele_sys::ids::{LinkId, Rank, RequestId};

use crate::Proto;
use crate::batch;
use crate::choice::{Protocol, Variant, piece_bytes};
use crate::observed::{Leaving, MessageEvent};
use crate::outgoing::longest_piece;
use crate::peer::{Peer, Reply};
use crate::request::{Send, State, sent};
use crate::strategy::{PacketDraft, Pick};
use crate::wire::{BufferPlace, Kind, Rts, piece_words};

/// The most pieces of one message that follow one another before other messages have their turn.
const RUN: usize = 16;

impl Proto {
    /// Sends the answer that has waited longest.
    pub(crate) fn send_reply<R: Rail>(&mut self, rail: &mut R, to: Rank, link: LinkId) -> Result<(), Busy> {
        let peer = &mut self.peers[to.0 as usize];
        let Some(reply) = peer.replies.front() else { return Err(Busy) };
        let slot = rail.claim(link, 0, Class::Control)?;
        let header = reply.write(slot.inline);
        let header = Header { sequence: reply_number(peer), ..header };
        rail.commit(link, header);
        self.replied(to);
        Ok(())
    }

    /// Notes that the answer that has waited longest was sent.
    fn replied(&mut self, to: Rank) {
        let peer = &mut self.peers[to.0 as usize];
        if let Some(flow) = peer.replies.pop_front().and_then(|reply| reply.sequence()) {
            peer.number_sent(flow);
        }
        self.traffic.control += 1;
    }

    /// Sends a message alone.
    pub(crate) fn send_message<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        pick: Pick,
    ) -> Result<(), Busy> {
        let Some((header, bulk)) = self.message_header(to, pick) else {
            self.peers[to.0 as usize].backlog().discard(pick.key);
            return Ok(());
        };
        let lends = bulk > 0 && rail.caps(link).lends;
        let slot = rail.claim(link, bulk, Class::Message)?;
        // Before it leaves: the observer of its receiver may get it at once.
        self.observe_departure(to, pick, link);
        match self.requests.get_mut(pick.request) {
            // The rail reads the sender's memory. The claim has shown that there is room.
            Some(State::ExpectRoom(send, _)) if lends && !send.buffer.is_fine() => {
                rail.post_share(link, header, || send.buffer.share(0, bulk), bulk)?;
            }
            _ => {
                self.fill(to, pick, slot.inline, slot.bulk);
                rail.commit(link, header);
            }
        }
        self.traffic.copies += u64::from(bulk > 0);
        self.left(to, pick);
        Ok(())
    }

    /// Sends answers and messages in one packet.
    pub(crate) fn send_batch<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        draft: &PacketDraft,
    ) -> Result<(), Busy> {
        let replies = self.peers[to.0 as usize].replies.iter().take(draft.control);
        let control: usize = replies.map(|reply| batch::room(reply.bytes())).sum();
        let total = control + draft.messages.iter().map(|pick| pick.room).sum::<usize>();
        let slot = rail.claim(link, total, Class::Message)?;
        let mut batch = batch::Writer::new(slot.bulk);
        self.load_answers(to, draft.control, &mut batch);
        for pick in &draft.messages {
            self.observe_departure(to, *pick, link);
            let (header, bulk) = self.message_header(to, *pick).expect("what waits is a send");
            let (inline, bulk) = batch.add(header, bulk);
            self.fill(to, *pick, inline, bulk);
            self.left(to, *pick);
        }
        rail.commit(link, Kind::Batch.header(0));
        self.traffic.aggregated += total as u64;
        Ok(())
    }

    /// Puts the answers that have waited longest into a batch.
    pub(crate) fn load_answers(&mut self, to: Rank, count: usize, batch: &mut batch::Writer<'_>) {
        for _ in 0..count {
            let peer = &mut self.peers[to.0 as usize];
            let sequence = reply_number(peer);
            let Some(reply) = peer.replies.front() else { break };
            let mut bytes = [0; MAX_INLINE];
            let header = Header { sequence, ..reply.write(Window::on(&mut bytes)) };
            batch.add(header, 0).0.write(0, &bytes[..reply.bytes()]);
            self.replied(to);
        }
    }

    /// Returns the number of waiting answers that fit into a batch beside `len` bytes, and its length with
    /// them.
    pub(crate) fn answers_beside(&self, to: Rank, len: usize, max_bulk: usize) -> (usize, usize) {
        let most = max_bulk.min(batch::MOST);
        let (mut count, mut total) = (0, len);
        for reply in &self.peers[to.0 as usize].replies {
            let with = total + batch::room(reply.bytes());
            if with > most {
                break;
            }
            (count, total) = (count + 1, with);
        }
        (count, total)
    }

    /// Returns the header of a message that waits, and the length of its bulk.
    fn message_header(&mut self, to: Rank, pick: Pick) -> Option<(Header, usize)> {
        let Some(State::ExpectRoom(send, _)) = self.requests.get(pick.request) else { return None };
        let (flow, tag, len) = (send.flow, send.tag, send.buffer.len());
        let sequence = self.peers[to.0 as usize].next_number(flow);
        let (kind, inline, bulk) = match pick.whole {
            true if len <= MAX_INLINE => (Kind::Short, len, 0),
            true => (Kind::Eager, 0, len),
            false if pick.eager_multi => (Kind::EagerFirst, Rts::BYTES, 0),
            false => (Kind::Rts, Rts::BYTES, 0),
        };
        let header = kind.header(0);
        Some((Header { inline_len: inline as u8, flow: flow.0, tag: tag.0, sequence, ..header }, bulk))
    }

    /// Writes a message, or its announcement.
    fn fill(&self, to: Rank, pick: Pick, inline: Window<'_>, bulk: Window<'_>) {
        let Some(State::ExpectRoom(send, _)) = self.requests.get(pick.request) else { return };
        if pick.whole {
            let short = inline.part(0, send.buffer.len()).filter(|_| bulk.is_empty());
            return send.buffer.copy_to(0, short.unwrap_or(bulk));
        }
        let memory = send.buffer.strided().filter(|_| send.fetched);
        let place = match memory {
            Some(memory) => Some(BufferPlace::Process(memory)),
            None => {
                let place = send.buffer.place().filter(|_| self.peers[to.0 as usize].regions.can_read());
                place.map(BufferPlace::Region)
            }
        };
        let lacks_credit = pick.lacks_credit;
        let rts = Rts { len: send.buffer.len() as u64, request: pick.request, place, lacks_credit };
        inline.write_words(0, &rts.to_words());
    }

    /// Informs the observer that a message that had to wait is put on a rail, or announced.
    pub(crate) fn observe_departure(&mut self, to: Rank, pick: Pick, link: LinkId) {
        let Some(State::ExpectRoom(send, _)) = self.requests.get(pick.request) else { return };
        let (number, flow, tag) = (send.number, send.flow, send.tag);
        let (bytes, rail) = (send.buffer.len(), link.rail());
        let variant = match pick.whole {
            true if bytes <= MAX_INLINE => Some(Variant::Short),
            true => Some(Variant::Eager),
            false => pick.eager_multi.then_some(Variant::EagerMulti),
        };
        self.observe(|| MessageEvent::Departed(Leaving { number, to, flow, tag, bytes, variant, rail }));
    }

    /// Notes that a message has left the backlog, whole or announced.
    fn left(&mut self, to: Rank, pick: Pick) {
        let id = pick.request;
        let Some(State::ExpectRoom(send, key)) = self.requests.leave(id) else { return };
        let (peer, len) = (&mut self.peers[to.0 as usize], send.buffer.len());
        peer.backlog().discard(key);
        peer.number_sent(send.flow);
        if !pick.whole && !pick.eager_multi {
            self.traffic.control += 1;
            return self.requests.enter(id, State::ExpectCts(send));
        }
        peer.credit.pay(len);
        if pick.eager_multi {
            peer.backlog().stream(id, send.level, len);
            return self.requests.enter(id, State::Streaming(send, None, 0));
        }
        let protocol = if len <= MAX_INLINE { Protocol::Short } else { Protocol::Eager };
        self.traffic.sent(protocol, len);
        self.requests.end(id, sent(send, Ok(())));
    }

    /// Sends a piece of a large message. If no other message uses the only link, it also sends the next
    /// pieces, which a strategy would choose.
    pub(crate) fn send_piece<R: FullRail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        (id, level, most): (RequestId, u8, usize),
    ) -> Result<(), Busy> {
        let peer = &mut self.peers[to.0 as usize];
        let alone = !peer.is_numbered() && peer.replies.is_empty() && !peer.has_messages();
        let backlog = peer.backlog();
        let run = if alone && !backlog.has_streams() { RUN } else { 1 };
        let Some(State::Streaming(send, receiver, done)) = self.requests.get_mut(id) else {
            return Ok(()); // It failed meanwhile.
        };
        let (caps, len) = (*rail.caps(link), send.buffer.len());
        let urgent = self.outgoing.expects_urgent(backlog);
        let longest = longest_piece(&caps, rail.speed(link), self.settings.piece_bytes, urgent);
        let lent = caps.lends && !send.buffer.is_fine();
        let piece = match lent {
            true => longest,
            false => piece_bytes(&caps, len, longest.min(self.settings.piece_bytes)),
        };
        let (kind, named) = receiver.map_or((Kind::EagerMore, id), |receiver| (Kind::Piece, receiver));
        let (header, before) = (kind.header(2), *done);
        for _ in 0..run {
            let (at, piece, buffer) = (*done, piece.min(len - *done).min(most), &mut send.buffer);
            let mut beside = [0; 16];
            Window::on(&mut beside).write_words(0, &piece_words(named, at as u64));
            let gone = match lent {
                true => rail.lend(link, header, &beside, || buffer.share(at, piece), piece),
                false => fill_piece(rail, link, header, &beside, (buffer, at, piece)),
            };
            match gone {
                Ok(()) => *done += piece,
                Err(busy) if at == before => {
                    backlog.go_on(id, level, 0);
                    return Err(busy);
                }
                Err(_) => break, // The next call finds that out.
            }
            backlog.carried(true);
            let Send { number, flow, tag, .. } = *send;
            let (variant, rail) = (Some(Variant::Streamed), link.rail());
            let leaving = || Leaving { number, to, flow, tag, bytes: piece, variant, rail };
            self.observer.observe(|| MessageEvent::Departed(leaving()));
            self.traffic.copies += u64::from(!lent);
            if *done == len {
                break;
            }
        }
        let left = *done - before;
        if *done < len {
            backlog.go_on(id, level, left);
        } else {
            backlog.streamed(left);
            if let Some(State::Streaming(send, ..)) = self.requests.leave(id) {
                self.traffic.sent(Protocol::Streamed, len);
                self.requests.end(id, sent(send, Ok(())));
            }
        }
        Ok(())
    }
}

/// Copies a piece into the rail's own room, because the rail does not lend or the piece has many short
/// stretches.
fn fill_piece<R: Rail>(
    rail: &mut R,
    link: LinkId,
    header: Header,
    beside: &[u8],
    (buffer, at, len): (&OutBuffer, usize, usize),
) -> Result<(), Busy> {
    let slot = rail.claim(link, len, Class::Stream)?;
    slot.inline.write(0, beside);
    buffer.copy_to(at, slot.bulk);
    rail.commit(link, header);
    Ok(())
}

/// Returns the number of the answer that has waited longest, if it needs one.
fn reply_number(peer: &mut Peer) -> u32 {
    let sequence = peer.replies.front().and_then(Reply::sequence);
    sequence.map_or(0, |flow| peer.next_number(flow))
}
