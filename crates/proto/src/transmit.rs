//! What goes out, peer by peer and link by link: a strategy chooses what the next packet of a link carries, here it is
//! filled and sent.

use canele_rail::{Busy, Caps, Class, Header, MAX_INLINE, Rail, Speed};
use canele_sys::ids::{LinkId, Rank, RequestId};

use crate::Proto;
use crate::backlog::Takes;
use crate::choice::{Protocol, piece_bytes, timely_bytes};
use crate::order::PUTS;
use crate::peer::{Peer, Reply, cost};
use crate::request::{State, sent};
use crate::strategy::{Draft, Pick, RailView};
use crate::train;
use crate::wire::{Kind, Rts, piece_words, put_words};

/// Packets sent over one link before others have their turn.
const PACKETS: usize = 64;

/// A link that delivers later than twice the best one, and this, takes no messages that may go another way; where something
/// urgent waits, later than the best one, and this.
const SLACK_NS: u64 = 20_000;

/// Why a link is left: it has no room, or nothing is to be sent over it.
enum Left {
    Busy,
    Idle,
}

impl From<Busy> for Left {
    fn from(_: Busy) -> Self {
        Self::Busy
    }
}

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
        if peer.link.is_none() {
            if peer.gone.is_none() && !std::mem::replace(&mut peer.wanted, true) {
                self.wanted.push(to);
            }
            return false;
        }
        let (mut any, mut busy) = (false, false);
        for guests in [false, true] {
            let (first, links) = first_link(rail, &self.peers[to.0 as usize]);
            for n in 0..links {
                let Some(link) = self.peers[to.0 as usize].link_at((first + n) % links) else { break };
                busy |= matches!(self.use_link(rail, to, link, guests, &mut any), Left::Busy);
            }
            // What prefers a rail that has no room may take another one.
            let guests = self.peers[to.0 as usize].backlog.as_ref().is_some_and(|b| b.has_choosy());
            if !guests {
                break;
            }
        }
        let peer = &mut self.peers[to.0 as usize];
        peer.refresh();
        if busy || peer.has_work(self.grant / 2) {
            self.list(to);
        }
        any
    }

    /// Sends packets over one link until it has no room or nothing is left for it.
    fn use_link<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
        any: &mut bool,
    ) -> Left {
        for _ in 0..PACKETS {
            let peer = &mut self.peers[to.0 as usize];
            if !peer.has_work(self.grant / 2) {
                return Left::Idle;
            }
            if peer.owed >= self.grant / 2 {
                peer.replies.push_back(Reply::Credit(std::mem::take(&mut peer.owed)));
            }
            match self.send_packet(rail, to, link, guests) {
                Ok(()) => *any = true,
                Err(left) => return left,
            }
        }
        Left::Idle
    }

    /// One packet.
    fn send_packet<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        guests: bool,
    ) -> Result<(), Left> {
        if rail.claim(link, 0, Class::Message).is_err() {
            // The cells reserved for control, perhaps.
            return Ok(self.send_reply(rail, to, link)?);
        }
        if self.send_again(rail, link, to)? {
            return Ok(());
        }
        if is_timely(rail, &self.peers[to.0 as usize], link) && self.send_gathered(rail, to, link)? {
            return Ok(());
        }
        let mut draft = std::mem::take(&mut self.draft);
        self.plan(rail, to, link, guests, &mut draft);
        let result = self.send_draft(rail, to, link, &mut draft);
        self.draft = draft;
        result
    }

    /// Lets the strategy choose what goes into the packet.
    fn plan<R: Rail>(&mut self, rail: &R, to: Rank, link: LinkId, guests: bool, draft: &mut Draft) {
        let peer = &mut self.peers[to.0 as usize];
        let caps = rail.caps(link);
        let speed = rail.speed(link);
        self.speeds.clear();
        match &peer.lines {
            Some(lines) => self.speeds.extend(lines.links.iter().map(|link| rail.speed(*link))),
            None => self.speeds.push(speed),
        }
        let soonest_ns = self.speeds.iter().copied().map(delivery_ns).min().unwrap_or(0);
        let backlog = peer.backlog.get_or_insert_default();
        let late_ns = if backlog.is_pressing() { soonest_ns } else { 2 * soonest_ns } + SLACK_NS;
        let takes = match guests {
            _ if peer.lines.is_none() => Takes::All,
            _ if delivery_ns(speed) > late_ns => Takes::Own,
            true => Takes::Guests,
            false => Takes::Open,
        };
        draft.begin(peer.replies.len(), peer.credit, caps.max_bulk);
        let urgent = self.strategy.by_priority() && backlog.expects_urgent();
        let piece = longest_piece(caps, speed, self.settings.piece_bytes, urgent);
        let view = RailView { number: link.rail(), caps, speed, links: &self.speeds, piece, takes };
        self.strategy.next_packet(backlog, &view, draft);
    }

    /// Sends what was chosen; what finds no room goes back to where it was.
    fn send_draft<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        draft: &mut Draft,
    ) -> Result<(), Left> {
        if draft.is_empty() {
            return Err(Left::Idle);
        }
        let result = match (draft.piece, draft.control, &draft.messages[..]) {
            (Some(piece), ..) => return self.send_piece(rail, to, link, piece),
            (None, 1, []) => self.send_reply(rail, to, link),
            (None, 0, [pick]) => self.send_message(rail, to, link, *pick),
            _ => self.send_train(rail, to, link, draft),
        };
        let backlog = self.peers[to.0 as usize].backlog();
        backlog.carried(false);
        if let Err(busy) = result {
            draft.messages.iter().rev().for_each(|pick| backlog.put_back(pick.key));
            return Err(busy.into());
        }
        self.traffic.packets += 1;
        self.traffic.parts += draft.parts() as u64;
        Ok(())
    }

    /// The answer that has waited longest.
    fn send_reply<R: Rail>(&mut self, rail: &mut R, to: Rank, link: LinkId) -> Result<(), Busy> {
        let peer = &mut self.peers[to.0 as usize];
        let Some(reply) = peer.replies.front() else { return Err(Busy) };
        let slot = rail.claim(link, 0, Class::Control)?;
        let header = reply.write(slot.inline);
        let header = Header { sequence: reply_number(peer), ..header };
        rail.commit(link, header);
        self.replied(to);
        Ok(())
    }

    /// The answer that has waited longest was sent.
    fn replied(&mut self, to: Rank) {
        let peer = &mut self.peers[to.0 as usize];
        let numbered = peer.replies.pop_front().is_some_and(|reply| reply.is_numbered());
        if let Some(lines) = peer.lines.as_mut().filter(|_| numbered) {
            lines.order.sent(PUTS);
        }
        self.traffic.control += 1;
    }

    /// A message alone.
    fn send_message<R: Rail>(
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
        let slot = rail.claim(link, bulk, Class::Message)?;
        self.fill(to, pick, slot.inline, slot.bulk);
        rail.commit(link, header);
        self.traffic.copies += u64::from(bulk > 0);
        self.left(to, pick);
        Ok(())
    }

    /// Answers and messages in one packet.
    fn send_train<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        draft: &Draft,
    ) -> Result<(), Busy> {
        let replies = self.peers[to.0 as usize].replies.iter().take(draft.control);
        let control: usize = replies.map(|reply| train::room(reply.bytes())).sum();
        let total = control + draft.messages.iter().map(|pick| pick.room).sum::<usize>();
        let slot = rail.claim(link, total, Class::Message)?;
        let mut train = train::Writer::new(slot.bulk);
        self.load_answers(to, draft.control, &mut train);
        for pick in &draft.messages {
            let (header, bulk) = self.message_header(to, *pick).expect("what waits is a send");
            let (inline, bulk) = train.add(header, bulk);
            self.fill(to, *pick, inline, bulk);
            self.left(to, *pick);
        }
        rail.commit(link, Kind::Train.header(0));
        self.traffic.aggregated += total as u64;
        Ok(())
    }

    /// Puts the answers that have waited longest into a train.
    pub(crate) fn load_answers(&mut self, to: Rank, count: usize, train: &mut train::Writer<'_>) {
        for _ in 0..count {
            let peer = &self.peers[to.0 as usize];
            let Some(reply) = peer.replies.front() else { break };
            let mut bytes = [0; MAX_INLINE];
            let header = reply.write(canele_rail::Window::on(&mut bytes));
            let header = Header { sequence: reply_number(peer), ..header };
            train.add(header, 0).0.write(0, &bytes[..reply.bytes()]);
            self.replied(to);
        }
    }

    /// How many of the answers that wait fit into a train beside `len` bytes, and its length with them.
    pub(crate) fn answers_beside(&self, to: Rank, len: usize, max_bulk: usize) -> (usize, usize) {
        let most = max_bulk.min(train::MOST);
        let (mut count, mut total) = (0, len);
        for reply in &self.peers[to.0 as usize].replies {
            let with = total + train::room(reply.bytes());
            if with > most {
                break;
            }
            (count, total) = (count + 1, with);
        }
        (count, total)
    }

    /// The header of a message that waits, and the length of its bulk.
    fn message_header(&mut self, to: Rank, pick: Pick) -> Option<(Header, usize)> {
        let Some(State::ExpectRoom(send, _)) = self.requests.get(pick.request.into()) else { return None };
        let (flow, tag, len) = (send.flow, send.tag, send.buffer.len());
        let sequence = self.peers[to.0 as usize].lines.as_mut().map_or(0, |lines| lines.order.next(flow));
        let (kind, inline, bulk) = match pick.whole {
            true if len <= MAX_INLINE => (Kind::Short, len, 0),
            true => (Kind::Eager, 0, len),
            false => (Kind::Rts, Rts::BYTES, 0),
        };
        let header = kind.header(0);
        Some((Header { inline_len: inline as u8, flow: flow.0, tag: tag.0, sequence, ..header }, bulk))
    }

    /// Writes a message, or its announcement.
    fn fill(&self, to: Rank, pick: Pick, inline: canele_rail::Window<'_>, bulk: canele_rail::Window<'_>) {
        let Some(State::ExpectRoom(send, _)) = self.requests.get(pick.request.into()) else { return };
        if pick.whole {
            let short = inline.part(0, send.buffer.len()).filter(|_| bulk.is_empty());
            return send.buffer.copy_to(0, short.unwrap_or(bulk));
        }
        let place = send.buffer.place().filter(|_| self.peers[to.0 as usize].one_sided);
        let rts = Rts { len: send.buffer.len() as u64, request: pick.request, place };
        put_words(inline, &rts.to_words());
    }

    /// A message has left the backlog, whole or announced.
    fn left(&mut self, to: Rank, pick: Pick) {
        let id = pick.request;
        let Some(State::ExpectRoom(send, key)) = self.leave(id) else { return };
        let (peer, len) = (&mut self.peers[to.0 as usize], send.buffer.len());
        peer.backlog().discard(key);
        if let Some(lines) = &mut peer.lines {
            lines.order.sent(send.flow);
        }
        if !pick.whole {
            self.traffic.control += 1;
            return self.enter(id, State::ExpectCts(send));
        }
        peer.credit -= cost(len);
        let protocol = if len <= MAX_INLINE { Protocol::Short } else { Protocol::Eager };
        self.traffic.sent(protocol, len);
        self.end(id, sent(send, Ok(())));
    }

    /// A piece of a large message.
    fn send_piece<R: Rail>(
        &mut self,
        rail: &mut R,
        to: Rank,
        link: LinkId,
        (id, level, most): (RequestId, u8, usize),
    ) -> Result<(), Left> {
        let backlog = self.peers[to.0 as usize].backlog();
        let Some(State::Streaming(send, receiver, done)) = self.requests.get_mut(id.into()) else {
            return Ok(()); // It failed meanwhile.
        };
        let (caps, len) = (*rail.caps(link), send.buffer.len());
        let urgent = self.strategy.by_priority() && backlog.expects_urgent();
        let longest = longest_piece(&caps, rail.speed(link), self.settings.piece_bytes, urgent);
        let piece = if caps.lends { longest } else { piece_bytes(&caps, len, longest) };
        let piece = piece.min(len - *done).min(most);
        let mut beside = [0; 16];
        put_words(canele_rail::Window::on(&mut beside), &piece_words(*receiver, *done as u64));
        let (at, buffer) = (*done, &mut send.buffer);
        let header = Kind::Piece.header(2);
        if let Err(busy) = rail.lend(link, header, &beside, || buffer.share(at, piece), piece) {
            backlog.go_on(id, level, 0);
            return Err(busy.into());
        }
        *done += piece;
        backlog.carried(true);
        self.traffic.copies += u64::from(!caps.lends);
        if *done < len {
            backlog.go_on(id, level, piece);
        } else {
            backlog.streamed(piece);
            if let Some(State::Streaming(send, ..)) = self.leave(id) {
                self.traffic.sent(Protocol::Streamed, len);
                self.end(id, sent(send, Ok(())));
            }
        }
        Ok(())
    }
}

/// The number of the answer that has waited longest, if it needs one.
fn reply_number(peer: &Peer) -> u32 {
    match (&peer.lines, peer.replies.front()) {
        (Some(lines), Some(reply)) if reply.is_numbered() => lines.order.next_put(),
        _ => 0,
    }
}

/// The longest piece of a large message that a link takes: what is lent is bounded by time alone, what is copied by
/// `copied` bytes, and by time where something urgent may come.
fn longest_piece(caps: &Caps, speed: Speed, copied: usize, urgent: bool) -> usize {
    let most = if caps.lends { caps.max_bulk } else { caps.max_bulk.min(copied) };
    if caps.lends || urgent { timely_bytes(speed, most, urgent) } else { most }
}

/// Which of the links to a peer is asked first, and how many there are: something small that waits takes the one that delivers it
/// first.
fn first_link<R: Rail>(rail: &R, peer: &Peer) -> (usize, usize) {
    let Some(lines) = &peer.lines else { return (0, usize::from(peer.link.is_some())) };
    let links = lines.links.len();
    let first = match links > 1 && (peer.has_messages() || lines.wait()) {
        true => (0..links).min_by_key(|n| delivery_ns(rail.speed(lines.links[*n]))),
        false => None,
    };
    (first.unwrap_or(0), links)
}

/// Whether something small that was gathered would arrive over a link about as soon as over the best one.
fn is_timely<R: Rail>(rail: &R, peer: &Peer, link: LinkId) -> bool {
    let Some(lines) = peer.lines.as_ref().filter(|lines| lines.links.len() > 1 && lines.wait()) else {
        return true;
    };
    let soonest_ns = lines.links.iter().map(|link| delivery_ns(rail.speed(*link))).min();
    delivery_ns(rail.speed(link)) <= 2 * soonest_ns.unwrap_or(0) + SLACK_NS
}

/// When something small that leaves now arrives: behind what is under way.
fn delivery_ns(speed: Speed) -> u64 {
    let behind_ns = speed.under_way as u64 * 1000 / u64::from(speed.bytes_per_us.max(1));
    u64::from(speed.round_trip_ns / 2) + behind_ns
}
