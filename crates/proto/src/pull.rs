//! Pulls announced messages that only lacked credit. Their receiver asks for them as soon as it has room,
//! before a receive wants them. So a flood beyond the credit costs few packets and no round trip for each
//! message.
//!
//! ```text
//!   rts (no credit left) ──▶ waits ─▶ credit is to be returned: pull ──▶ pulled, many in a packet ──▶ kept
//!                              └──▶ received before that: as any announced message
//! ```
//! Credit for a peer first pays for pulled messages. A message that was pulled is kept under the key that the
//! pull named. A receive that comes before its bytes claims it and waits for them.

use std::collections::VecDeque;

use canele_mem::buffer::InBuffer;
use canele_rail::{Busy, Class, Corrupt, Packet, Rail};
use canele_sys::ids::{LinkId, Rank, RequestId};

use crate::Proto;
use crate::choice::Protocol;
use crate::credit::credit_cost;
use crate::peer::Reply;
use crate::post::kind_of;
use crate::request::{Receive, State, received, sent};
use crate::slab::Key;
use crate::unexpected::Body;
use crate::wire::{FinStatus, Kind, PULLED_INLINE, Pull, PulledPart, Rts};
use crate::{batch, bounds};

/// The least number of entries at which the list of announced messages is searched for received ones.
const SEARCHED_FROM: usize = 64;

/// The messages to be pulled from a peer, and those that it has asked for.
#[derive(Default)]
pub struct Pulls {
    /// The greatest cost of a message for which the peer lacked credit, since the last attempt to widen its
    /// window.
    pub(crate) lacked: u64,
    /// Messages that may be pulled, oldest first. Some of them were received meanwhile.
    announced: VecDeque<Key>,
    /// The length of `announced` at which received messages are removed from it.
    search_at: usize,
    /// Requests of this rank whose messages the peer asks for, with the peer's keys.
    asked: VecDeque<(RequestId, Key)>,
}

impl Pulls {
    /// Returns true if the peer has asked for messages.
    pub fn has_asked(&self) -> bool {
        !self.asked.is_empty()
    }
}

impl Proto {
    /// Notes that a message which is kept as announced may be pulled.
    pub(crate) fn note_announced(&mut self, from: Rank, key: Key, rts: Rts) {
        if !rts.lacks_credit || !(1..=self.longest_pulled() as u64).contains(&rts.len) {
            return;
        }
        let incoming = &self.incoming;
        let pulls = self.peers[from.0 as usize].pulls.get_or_insert_default();
        if pulls.announced.len() >= pulls.search_at.max(SEARCHED_FROM) {
            let waits = |key: &Key| {
                incoming.get(*key).is_some_and(|message| matches!(message.body, Body::Announced(_)))
            };
            pulls.announced.retain(waits);
            pulls.search_at = 2 * pulls.announced.len();
        }
        pulls.announced.push_back(key);
    }

    /// Returns the length of the longest message that fits into a packet of pulled ones.
    fn longest_pulled(&self) -> usize {
        self.max_bulk.min(batch::MOST).saturating_sub(batch::room(PULLED_INLINE))
    }

    /// Widens the window of a peer if it may grow, pulls messages with the credit to be returned, and returns
    /// the rest.
    pub(crate) fn pull_or_return(&mut self, to: Rank) {
        let Self { peers, credit_pool, .. } = self;
        let peer = &mut peers[to.0 as usize];
        let lacked = peer.pulls.as_mut().map_or(0, |pulls| std::mem::take(&mut pulls.lacked));
        // It may have announced a message before it had the credit.
        let credit = &mut peer.credit;
        let overtaken = lacked > 0 && credit.outstanding() >= lacked;
        let added = match lacked {
            0 => credit_pool.widen_by_use(to, credit),
            _ if overtaken => 0,
            cost => credit_pool.widen(to, credit, cost),
        };
        let due = added > 0 || credit.is_return_due();
        credit.grown(added);
        if due || overtaken {
            self.pull(to);
        }
        if due {
            self.return_rest(to);
        }
    }

    /// Returns the rest of a peer's credit to it.
    fn return_rest(&mut self, to: Rank) {
        let Self { peers, credit_pool, .. } = self;
        let peer = &mut peers[to.0 as usize];
        let left = peer.credit.take_return();
        let left = left - credit_pool.narrow(to, &mut peer.credit, left);
        if left > 0 {
            peer.replies.push_back(Reply::Credit(left));
        }
    }

    /// Pulls messages of a peer with the credit to be returned to it, and with more if its window may grow.
    fn pull(&mut self, from: Rank) {
        let Self { peers, incoming, credit_pool, traffic, .. } = self;
        let peer = &mut peers[from.0 as usize];
        let mut pulled = 0;
        let mut pull = Pull::default();
        while let Some(key) = peer.pulls.as_ref().and_then(|pulls| pulls.announced.front().copied()) {
            if let Some(message) = incoming.get_mut(key)
                && let Body::Announced(rts) = message.body
            {
                let (len, credit) = (rts.len as usize, &mut peer.credit);
                if !credit.has_in_hand(len) {
                    let added = credit_pool.widen(from, credit, credit_cost(len));
                    credit.grown(added);
                }
                // A message that costs more than the window waits for its receive.
                if credit.is_wide_enough(len) {
                    if !credit.has_in_hand(len) {
                        break;
                    }
                    credit.charge_in_hand(len);
                    traffic.hold_credit(credit_cost(len));
                    message.body = Body::Pulled(rts);
                    pulled += 1;
                    if let Some(full) = pull.add(rts.request, key) {
                        peer.replies.push_back(Reply::Pull(full));
                    }
                }
            }
            peer.pulls.as_mut().and_then(|pulls| pulls.announced.pop_front());
        }
        if !pull.is_empty() {
            peer.replies.push_back(Reply::Pull(pull));
        }
        // From now on they are charged as kept messages.
        (0..pulled).for_each(|_| self.discharge_announced(from));
    }

    /// Handles a peer's request for announced messages: each at most once, and no more than can be announced
    /// to it.
    pub(crate) fn on_pull(&mut self, from: Rank, pull: Pull) -> Result<(), Corrupt> {
        let asked = &mut self.peers[from.0 as usize].pulls.get_or_insert_default().asked;
        asked.extend(pull.iter());
        if asked.len() > bounds::MOST_ANNOUNCED as usize {
            let n = asked.len();
            return Err(Corrupt(format!("{from} asks for {n} messages and takes none")));
        }
        self.list(from);
        Ok(())
    }

    /// Returns the length of a message that a peer has asked for; `None` if it is no longer available.
    fn asked_len(&self, to: Rank, request: RequestId) -> Option<usize> {
        match self.requests.get(request) {
            Some(State::ExpectCts(send)) if send.to == to => {
                Some(send.buffer.len()).filter(|len| *len <= self.longest_pulled() && !send.asked_back)
            }
            _ => None,
        }
    }

    /// Sends messages that a peer has asked for, as many as fit into one packet, and the answers that wait.
    pub(crate) fn send_pulled<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
    ) -> Result<bool, Busy> {
        let Some(pulls) = self.peers[to.0 as usize].pulls.as_ref().filter(|pulls| pulls.has_asked()) else {
            return Ok(false);
        };
        let caps = rail.caps(link);
        let (max_bulk, most) = (caps.max_bulk, caps.best_packet.min(caps.max_bulk).min(batch::MOST));
        let (mut count, mut len) = (0, 0);
        for (request, _) in &pulls.asked {
            let room = batch::room(PULLED_INLINE + self.asked_len(to, *request).unwrap_or(0));
            if count > 0 && len + room > most {
                break;
            }
            (count, len) = (count + 1, len + room);
        }
        let (control, total) = self.answers_beside(to, len, max_bulk);
        let slot = rail.claim(link, total, Class::Message)?;
        let mut batch = batch::Writer::new(slot.bulk);
        self.load_answers(to, control, &mut batch);
        for _ in 0..count {
            self.load_pulled(to, &mut batch);
        }
        rail.commit(link, Kind::Batch.header(0));
        self.traffic.packets += 1;
        self.traffic.parts += (control + count) as u64;
        self.traffic.aggregated += total as u64;
        Ok(true)
    }

    /// Puts the message that was asked for first into a batch, or a note that it is gone.
    fn load_pulled(&mut self, to: Rank, batch: &mut batch::Writer<'_>) {
        let asked = self.peers[to.0 as usize].pulls.as_mut().and_then(|pulls| pulls.asked.pop_front());
        let Some((request, key)) = asked else { return };
        let len = self.asked_len(to, request);
        let part = PulledPart { key, is_there: len.is_some() };
        let (inline, bulk) = batch.add(part.header(), len.unwrap_or(0));
        inline.write_words(0, &part.to_words());
        if len.is_none() {
            return;
        }
        let Some(State::ExpectCts(send)) = self.requests.leave(request) else { return };
        send.buffer.copy_to(0, bulk);
        let protocol = kind_of(send.buffer.len()).1;
        self.traffic.sent(protocol, send.buffer.len());
        self.traffic.copies += 1;
        self.requests.end(request, sent(send, Ok(())));
    }

    /// Lets a receive claim a message that was pulled and has not come. The receive waits for the bytes, if
    /// it has room for them.
    pub(crate) fn claim_pulled(&mut self, id: RequestId, key: Key, buffer: InBuffer) {
        let Some(message) = self.incoming.get_mut(key) else { return };
        let Body::Pulled(rts) = message.body else { return };
        let (from, tag, len) = (message.from, message.tag, rts.len as usize);
        let receive = Receive::new(from, tag, buffer, len);
        let fits = len <= receive.buffer.len();
        message.body = Body::Claimed(rts, fits.then_some(id));
        if let Some(failure) = self.why_gone(from) {
            self.incoming.take(key); // It was pulled from a peer that died.
            self.discharge(from, len);
            return self.requests.end(id, received(receive, Err(failure)));
        }
        if fits {
            return self.requests.enter(id, State::ExpectPieces(receive, 0));
        }
        let failure = receive.truncated();
        self.requests.end(id, received(receive, Err(failure)));
    }

    /// Handles a pulled message that has come, or the note that it is gone.
    pub(crate) fn on_pulled(
        &mut self,
        from: Rank,
        part: PulledPart,
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        let key = part.key;
        let message = self.incoming.get_mut(key).filter(|message| message.from == from);
        let (rts, claim) = match message.as_ref().map(|message| &message.body) {
            Some(Body::Pulled(rts)) => (*rts, None),
            Some(Body::Claimed(rts, claim)) => (*rts, Some(*claim)),
            _ => return Err(Corrupt(format!("{from} sent a message that was not pulled"))),
        };
        let len = rts.len as usize;
        if part.is_there && packet.bulk.len() != len {
            let n = packet.bulk.len();
            return Err(Corrupt(format!("{from} sent {n} bytes of a message of {len} that was pulled")));
        }
        match (claim, part.is_there) {
            (None, true) => {
                let body = Body::Here(self.incoming.copy_payload(packet.bulk, &mut self.traffic));
                if let Some(message) = self.incoming.get_mut(key) {
                    message.body = body;
                }
                return Ok(()); // Its credit goes back when it is received.
            }
            // It counts as never pulled.
            (None, false) => {
                self.charge_announced(from)?;
                if let Some(message) = self.incoming.get_mut(key) {
                    message.body = Body::Announced(rts);
                }
            }
            (Some(claim), is_there) => {
                self.incoming.take(key);
                match claim {
                    Some(id) if is_there => self.deliver_pulled(id, from, packet),
                    Some(id) => self.receive_unpulled(id, from, rts),
                    None if is_there => {}
                    None => self.answer(from, Reply::Fin(rts.request, FinStatus::Done)),
                }
            }
        }
        self.discharge(from, len);
        self.return_credit(from, len);
        Ok(())
    }

    /// Gives a message to the receive that waits for its bytes.
    fn deliver_pulled(&mut self, id: RequestId, from: Rank, packet: &Packet<'_>) {
        let Some(State::ExpectPieces(receive, 0)) = self.requests.get_mut(id) else {
            return; // It failed meanwhile.
        };
        if receive.from == from && receive.len == packet.bulk.len() {
            receive.buffer.copy_from(0, packet.bulk);
            self.traffic.copies += 1;
            self.finish_receive(id, Protocol::Eager);
        }
    }

    /// Receives a pulled message like any announced one. It has met its receive, so its sender can no longer
    /// withdraw it.
    fn receive_unpulled(&mut self, id: RequestId, from: Rank, rts: Rts) {
        match self.requests.leave(id) {
            Some(State::ExpectPieces(Receive { tag, buffer, .. }, 0)) => {
                self.accept(id, from, tag, rts, buffer)
            }
            other => other.into_iter().for_each(|state| self.requests.enter(id, state)),
        }
    }

    /// Notes that a message in a place was withdrawn; returns true if it was pulled, so that its sender
    /// answers that it is gone.
    pub(crate) fn withdraw_pulled(&mut self, place: u32) -> bool {
        let key = self.incoming.key_at(place);
        let Some(message) = self.incoming.get_mut(key) else { return false };
        let Body::Pulled(rts) = message.body else { return false };
        message.body = Body::Claimed(rts, None);
        true
    }

    /// Drops the messages of a peer that is gone which receives have claimed.
    pub(crate) fn drop_pulls(&mut self, peer: Rank) {
        if self.peers[peer.0 as usize].pulls.take().is_none() {
            return;
        }
        for len in self.incoming.drop_claimed(peer) {
            self.discharge(peer, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;

    #[test]
    fn a_peer_that_asks_and_takes_nothing_is_refused() {
        let settings = Settings { eager_bytes: 2048, piece_bytes: 4096, unexpected_bytes: 64 << 10 };
        let (mut proto, peer) = (Proto::new(Rank(0), 2, settings), Rank(1));
        let (request, key) = (RequestId { index: 0, generation: 0 }, Key { index: 0, generation: 0 });
        let mut pull = Pull::default();
        assert!(pull.add(request, key).is_none());
        proto.on_pull(peer, pull).unwrap();
        let pulls = proto.peers[1].pulls.as_mut().expect("it has asked");
        pulls.asked.resize(bounds::MOST_ANNOUNCED as usize, (request, key));
        let refused = proto.on_pull(peer, pull).unwrap_err();
        assert!(refused.0.contains(&peer.to_string()), "{}", refused.0);
    }
}
