//! What goes out, peer by peer: answers first, then messages in the order of their submission, then pieces of large
//! ones in turn.

use canele_rail::{Busy, Class, Header, MAX_INLINE, Rail};
use canele_sys::ids::{LinkId, Rank, RequestId};

use crate::Proto;
use crate::choice::{Protocol, piece_bytes};
use crate::peer::{Reply, cost};
use crate::request::{Mode, Send, State, sent};
use crate::wire::{Kind, Put, Rts, fin_words, piece_words, put_words};

/// Pieces sent to one peer before the next one has its turn.
const PIECES: usize = 4;

impl Proto {
    /// Sends what waits, as far as there is room. Every peer has its turn.
    pub(crate) fn transmit<R: Rail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        for _ in 0..self.active.len() {
            let Some(peer) = self.active.pop_front() else { break };
            self.peers[peer.0 as usize].listed = false;
            any |= self.transmit_to(rail, peer);
        }
        any
    }

    /// Sends what waits for one peer, and lists it again if something is left.
    pub(crate) fn transmit_to<R: Rail>(&mut self, rail: &mut R, to: Rank) -> bool {
        let peer = &mut self.peers[to.0 as usize];
        let Some(link) = peer.link else {
            if peer.gone.is_none() && !std::mem::replace(&mut peer.wanted, true) {
                self.wanted.push(to);
            }
            return false;
        };
        let mut any = false;
        let room = self.send_replies(rail, link, to, &mut any).is_ok()
            && self.send_backlog(rail, link, to, &mut any).is_ok()
            && self.send_pieces(rail, link, to, &mut any).is_ok();
        let peer = &mut self.peers[to.0 as usize];
        peer.refresh();
        if !room || peer.has_work(self.grant / 2) {
            self.list(to);
        }
        any
    }

    fn send_replies<R: Rail>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        to: Rank,
        any: &mut bool,
    ) -> Result<(), Busy> {
        let peer = &mut self.peers[to.0 as usize];
        while let Some(reply) = peer.replies.front() {
            let slot = rail.claim(link, 0, Class::Control)?;
            let header = match reply {
                Reply::Cts(cts) => {
                    put_words(&slot, &cts.to_words());
                    Kind::Cts.header(5)
                }
                Reply::Fin(request, ending) => {
                    put_words(&slot, &fin_words(*request, *ending));
                    Kind::Fin.header(2)
                }
                Reply::Fence(ticket) => {
                    put_words(&slot, &[*ticket]);
                    Kind::Fence.header(1)
                }
                Reply::Fenced(ticket) => {
                    put_words(&slot, &[*ticket]);
                    Kind::Fenced.header(1)
                }
                Reply::Put(put) => Put::fill(&slot, put.place, put.notice, &put.data[..put.len]),
            };
            rail.commit(link, header);
            peer.replies.pop_front();
            self.traffic.control += 1;
            *any = true;
        }
        if peer.owed >= self.grant / 2 {
            let slot = rail.claim(link, 0, Class::Control)?;
            put_words(&slot, &[std::mem::take(&mut peer.owed)]);
            rail.commit(link, Kind::Credit.header(1));
            self.traffic.control += 1;
            *any = true;
        }
        Ok(())
    }

    fn send_backlog<R: Rail>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        to: Rank,
        any: &mut bool,
    ) -> Result<(), Busy> {
        while let Some(id) = self.peers[to.0 as usize].backlog.front().copied() {
            let Some(State::ExpectRoom(send)) = self.requests.get(id.into()) else {
                self.peers[to.0 as usize].backlog.pop_front();
                continue;
            };
            let len = send.buffer.len();
            let unannounced = send.mode != Mode::Synchronous
                && len <= self.eager_bytes()
                && self.peers[to.0 as usize].credit >= cost(len);
            if unannounced {
                let protocol = send_whole(rail, link, send)?;
                self.peers[to.0 as usize].credit -= cost(len);
                self.traffic.sent(protocol, len);
                self.traffic.copies += u64::from(protocol == Protocol::Eager);
            } else {
                announce(rail, link, send, id)?;
                self.traffic.control += 1;
            }
            self.peers[to.0 as usize].backlog.pop_front();
            *any = true;
            match self.leave(id) {
                Some(State::ExpectRoom(send)) if unannounced => self.end(id, sent(send, Ok(()))),
                Some(State::ExpectRoom(send)) => self.enter(id, State::ExpectCts(send)),
                _ => {}
            }
        }
        Ok(())
    }

    fn send_pieces<R: Rail>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        to: Rank,
        any: &mut bool,
    ) -> Result<(), Busy> {
        for _ in 0..PIECES {
            let Some(id) = self.peers[to.0 as usize].streams.pop_front() else { break };
            let Some(State::Streaming(send, receiver, done)) = self.requests.get_mut(id.into()) else {
                continue;
            };
            let len = send.buffer.len();
            let piece = piece_bytes(&self.caps, len, self.settings.piece_bytes).min(len - *done);
            let slot = match rail.claim(link, piece, Class::Stream) {
                Ok(slot) => slot,
                Err(busy) => {
                    self.peers[to.0 as usize].streams.push_front(id);
                    return Err(busy);
                }
            };
            put_words(&slot, &piece_words(*receiver, *done as u64));
            send.buffer.copy_to(*done, slot.bulk);
            rail.commit(link, Kind::Piece.header(2));
            *done += piece;
            self.traffic.copies += 1;
            *any = true;
            if *done < len {
                self.peers[to.0 as usize].streams.push_back(id);
            } else if let Some(State::Streaming(send, ..)) = self.leave(id) {
                self.traffic.sent(Protocol::Streamed, len);
                self.end(id, sent(send, Ok(())));
            }
        }
        Ok(())
    }
}

/// Sends a message without announcing it.
fn send_whole<R: Rail>(rail: &mut R, link: LinkId, send: &Send) -> Result<Protocol, Busy> {
    let len = send.buffer.len();
    let short = len <= MAX_INLINE;
    let slot = rail.claim(link, if short { 0 } else { len }, Class::Message)?;
    let target = if short { slot.inline.part(0, len).unwrap_or(slot.bulk) } else { slot.bulk };
    send.buffer.copy_to(0, target);
    let kind = if short { Kind::Short } else { Kind::Eager };
    let inline_len = if short { len as u8 } else { 0 };
    rail.commit(link, Header { inline_len, flow: send.flow.0, tag: send.tag.0, ..kind.header(0) });
    Ok(if short { Protocol::Short } else { Protocol::Eager })
}

/// Announces a message.
fn announce<R: Rail>(rail: &mut R, link: LinkId, send: &Send, request: RequestId) -> Result<(), Busy> {
    let slot = rail.claim(link, 0, Class::Message)?;
    let rts = Rts { len: send.buffer.len() as u64, request, place: send.buffer.place() };
    put_words(&slot, &rts.to_words());
    rail.commit(link, Header { flow: send.flow.0, tag: send.tag.0, ..Kind::Rts.header(4) });
    Ok(())
}
