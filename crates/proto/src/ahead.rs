//! Messages that run ahead: streamed without being asked for, because waiting for the answer would take as long as they do.
//!
//! ```text
//!   sender                                 receiver
//!   ahead (length, sender's request) ──▶   matched: into the buffer.  Not yet: kept, whole, paid for by credit
//!   more  (sender's request, offset) ──▶   appended there; a receive that comes meanwhile takes what there is, and the rest
//! ```
//! Owns, at the receiver, what is under way and where it goes. Only on links that keep their packets in order: each piece must be
//! the next of its message, or the sender is corrupt.

use canele_rail::{Class, Corrupt, Header, Packet, Rail};
use canele_sys::buffer::InBuffer;
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId, Tag};

use crate::choice::{Protocol, piece_bytes};
use crate::peer::cost;
use crate::request::{Mode, Receive, Send, State, received};
use crate::slab::Key;
use crate::unexpected::Body;
use crate::wire::{Kind, Rts, piece_words, put_words};
use crate::{Proto, Sent};

/// How many times longer than an eager message one may be that runs ahead.
const TIMES_EAGER: usize = 16;

/// What stands for the sender's request in messages that leave at once, all pieces of which follow one another: they need none.
const WHOLE: RequestId = RequestId { index: u32::MAX, generation: u32::MAX };

/// A message that is coming.
pub(crate) struct Ahead {
    from: Rank,
    /// The sender's request.
    request: RequestId,
    len: usize,
    got: usize,
    to: Target,
}

/// Where it goes.
enum Target {
    /// To this receive, if it still waits for it.
    Receive(RequestId),
    /// To what is kept of it until somebody receives it.
    Kept(Key),
    /// Nowhere: it was too long.
    Nothing,
}

impl Ahead {
    /// Whether another peer sends it.
    pub fn is_not_from(&self, peer: Rank) -> bool {
        self.from != peer
    }
}

impl Proto {
    /// Whether a send may run ahead, if there is credit for it and its link keeps packets in order.
    pub(crate) fn may_run_ahead(&self, send: &Send) -> bool {
        let peer = &self.peers[send.to.0 as usize];
        let reached = send.buffer.place().is_some() && peer.one_sided;
        let short_enough = send.buffer.len() <= TIMES_EAGER * self.settings.eager_bytes;
        send.mode != Mode::Synchronous && short_enough && !reached
    }

    /// Sends a message that is too long for one packet straight from `bytes`, if nothing stands in its way and all of it finds
    /// room now.
    #[inline(never)]
    pub(crate) fn try_send_ahead<R: Rail>(
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
        let expects_urgent = peer.backlog.as_ref().is_some_and(|backlog| backlog.expects_urgent());
        if len > TIMES_EAGER * self.settings.eager_bytes || peer.lines.is_some() || expects_urgent {
            return Sent::NotHere;
        }
        let piece = piece_bytes(rail.caps(link), len, self.settings.piece_bytes);
        if !rail.has_room(link, len.div_ceil(piece) + 1, piece) {
            return Sent::NotHere;
        }
        let named = Header { flow: flow.0, tag: tag.0, ..Kind::Ahead.header(Rts::BYTES / 8) };
        let rts = Rts { len: len as u64, request: WHOLE, place: None };
        post(rail, link, named, &rts.to_words(), &[]);
        for (n, part) in bytes.chunks(piece).enumerate() {
            post(rail, link, Kind::More.header(2), &piece_words(WHOLE, (n * piece) as u64), part);
            self.traffic.copies += 1;
        }
        peer.credit -= cost(len);
        self.traffic.sent(Protocol::Streamed, len);
        Sent::Done
    }

    /// A message comes that nobody was asked about.
    pub(crate) fn on_ahead(&mut self, from: Rank, flow: FlowId, tag: Tag, rts: Rts) -> Result<(), Corrupt> {
        // More than its credit nobody sends without asking.
        let paid = (1..=self.grant).contains(&rts.len) && self.peers[from.0 as usize].lines.is_none();
        let Some(len) = usize::try_from(rts.len).ok().filter(|_| paid) else {
            return Err(Corrupt(format!("{from} sends {} bytes without asking", rts.len)));
        };
        let to = match self.flow(flow).and_then(|f| f.matcher.arrive(from, tag)) {
            Some(id) => {
                let Some(State::ExpectMessage { buffer, .. }) = self.leave(id) else { return Ok(()) };
                self.expect_rest(id, from, tag, buffer, (0, len))
            }
            None => {
                self.hold(from, len)?;
                let data = self.spare.take(len);
                let body = Body::Coming { data, got: 0, request: rts.request };
                Target::Kept(self.store(flow, from, tag, body)?)
            }
        };
        if self.gone(from).is_none() {
            self.aheads.push(Ahead { from, request: rts.request, len, got: 0, to });
        }
        Ok(())
    }

    /// A receive that has `got` of `len` bytes waits for the rest, if it has room for them.
    fn expect_rest(
        &mut self,
        id: RequestId,
        from: Rank,
        tag: Tag,
        buffer: InBuffer,
        (got, len): (usize, usize),
    ) -> Target {
        let receive = Receive { from, tag, buffer, len };
        if let Some(failure) = self.why_gone(from) {
            self.end(id, received(receive, Err(failure))); // The rest will never come.
            return Target::Nothing;
        }
        if len > receive.buffer.len() {
            let failure = receive.truncated();
            self.end(id, received(receive, Err(failure)));
            return Target::Nothing;
        }
        self.enter(id, State::ExpectPieces(receive, got));
        Target::Receive(id)
    }

    /// A receive takes what is kept of a message that is still coming.
    pub(crate) fn take_over(
        &mut self,
        id: RequestId,
        (from, tag): (Rank, Tag),
        (data, got, request): (Vec<u8>, usize, RequestId),
        mut buffer: InBuffer,
    ) {
        let len = data.len();
        self.peers[from.0 as usize].held -= cost(len);
        if len <= buffer.len() {
            buffer.copy_from_slice(0, &data[..got]);
            self.traffic.copies += 1;
        }
        self.spare.give(data);
        let to = self.expect_rest(id, from, tag, buffer, (got, len));
        if let Some(at) = self.ahead(from, request) {
            self.aheads[at].to = to;
        }
    }

    fn ahead(&self, from: Rank, request: RequestId) -> Option<usize> {
        self.aheads.iter().position(|ahead| ahead.from == from && ahead.request == request)
    }

    /// The next piece of a message that is coming.
    pub(crate) fn on_more(
        &mut self,
        from: Rank,
        (request, offset): (RequestId, u64),
        packet: &Packet<'_>,
    ) -> Result<(), Corrupt> {
        let n = packet.bulk.len();
        let next = |ahead: &Ahead| ahead.got as u64 == offset && n > 0 && n <= ahead.len - ahead.got;
        let Some(at) = self.ahead(from, request).filter(|at| next(&self.aheads[*at])) else {
            return Err(Corrupt(format!(
                "{from} sent {n} bytes at {offset} of a message that does not come"
            )));
        };
        let ahead = &mut self.aheads[at];
        ahead.got += n;
        let whole = ahead.got == ahead.len;
        let copied = match ahead.to {
            Target::Receive(id) => match self.requests.get_mut(id.into()) {
                Some(State::ExpectPieces(receive, got)) => {
                    receive.buffer.copy_from(offset as usize, packet.bulk);
                    *got += n;
                    true
                }
                _ => false, // It failed meanwhile.
            },
            Target::Kept(key) => match self.unexpected.get_mut(key).map(|kept| &mut kept.body) {
                Some(Body::Coming { data, got, .. }) => {
                    packet.bulk.read(0, &mut data[offset as usize..offset as usize + n]);
                    *got += n;
                    true
                }
                _ => false,
            },
            Target::Nothing => false,
        };
        self.traffic.copies += u64::from(copied);
        if whole {
            self.came(at);
        }
        Ok(())
    }

    /// All of it has come.
    fn came(&mut self, at: usize) {
        let Ahead { from, len, to, .. } = self.aheads.swap_remove(at);
        match to {
            Target::Receive(id) => {
                self.finish_receive(id, Protocol::Streamed);
                self.owe(from, len);
            }
            Target::Nothing => self.owe(from, len),
            // Its credit goes back when it is received.
            Target::Kept(key) => {
                let Some(kept) = self.unexpected.get_mut(key) else { return };
                if let Body::Coming { data, .. } = &mut kept.body {
                    kept.body = Body::Data(std::mem::take(data));
                }
            }
        }
    }
}

/// One packet, for which there is room.
fn post<R: Rail>(rail: &mut R, link: LinkId, header: Header, words: &[u64], bulk: &[u8]) {
    let Ok(slot) = rail.claim(link, bulk.len(), Class::Message) else {
        unreachable!("the rail has said that it has room");
    };
    put_words(slot.inline, words);
    slot.bulk.write(0, bulk);
    rail.commit(link, header);
}
