//! Requests of users: sends, receives, cancels, small puts and fences.

use canele_mem::buffer::{InBuffer, OutBuffer, StridedMemory};
use canele_rail::{CopyingEnds, FullRail};
use canele_sys::device::{MemoryKind, MemoryKinds};
use canele_sys::ids::{FlowId, LinkId, Rank, RequestId};

use crate::backlog::{ORDINARY, RailPolicy, Waiting};
use crate::choice::{self, Begin, Variant};
use crate::matching::Want;
use crate::observed::{Leaving, MessageEvent};
use crate::peer::Reply;
use crate::request::{Buffer, Cancel, Failure, Mode, Outcome, Receive, Send, State, received, sent};
use crate::unexpected::{Body, KeptPayload};
use crate::{Envelope, Proto};

/// The names of routes in errors: of messages to this rank itself, to a peer without a link yet, and from any
/// peer.
const TO_SELF: &str = "a message of a rank to itself";
const UNOPENED: &str = "a link that is to be opened";
const RECEIVE: &str = "a receive";

/// Returns the failure if no message can be received into this memory. The processor of this rank has to
/// write it.
#[inline]
pub(crate) fn why_not_received(buffer: &InBuffer) -> Option<Failure> {
    Failure::of_memory(buffer.memory(), MemoryKinds::all(), RECEIVE)
}

/// Returns the ends that copy a message fastest from memory to memory; `None` if packets carry it. The
/// receiver copies a multi-fragment eager message alone only if it is known to ask for it
/// ([`Mode::Expected`]).
pub(crate) fn ends_that_copy<R: FullRail>(
    rail: &mut R,
    link: LinkId,
    (begin, mode): (Begin, Mode),
    len: usize,
) -> Option<CopyingEnds> {
    match begin {
        Begin::Whole => None,
        Begin::EagerMulti if mode != Mode::Expected => {
            rail.prefers_both_ends(link, len).then_some(CopyingEnds::Both)
        }
        Begin::EagerMulti | Begin::Announced => rail.prefers_peer_copy(link, len),
    }
}

/// Returns true if both ends copy `len` bytes in this memory of one of them faster than one.
pub(crate) fn prefers_both_ends_for<R: FullRail>(
    rail: &mut R,
    link: LinkId,
    memory: StridedMemory,
    len: usize,
) -> bool {
    let bytes = match memory.has_gaps() {
        true => choice::bytes_without_gaps(len, memory.block_bytes as usize),
        false => Some(len),
    };
    bytes.is_some_and(|bytes| rail.prefers_both_ends(link, bytes))
}

impl Proto {
    /// Sends a message: the part that finds room leaves now, the rest in later passes.
    pub fn submit_send<R: FullRail>(
        &mut self,
        rail: &mut R,
        envelope: Envelope,
        buffer: OutBuffer,
    ) -> RequestId {
        let Envelope { to, flow, tag, mode, .. } = envelope;
        let (level, policy) = self.standing(flow);
        if let Some(failure) = self.why_revoked(flow).or_else(|| self.why_not_sent(rail, to, &buffer)) {
            let send =
                Send { to, flow, tag, mode, number: 0, level, asked_back: false, fetched: false, buffer };
            return self.requests.add(sent(send, Err(failure)));
        }
        let fetched = self.offer_peer_copy(rail, envelope, &buffer);
        let mut send = Send { to, flow, tag, mode, number: 0, level, asked_back: false, fetched, buffer };
        if to == self.me {
            self.observe_submission(&mut send, Some(Variant::ToSelf));
            return self.send_to_self(send);
        }
        if let Some(failure) = self.why_gone(to) {
            return self.requests.add(sent(send, Err(failure)));
        }
        self.observe_submission(&mut send, None);
        let peer = &self.peers[to.0 as usize];
        // If other messages wait for room already, the next pass finds out when there is some.
        let waits = peer.listed && peer.has_messages();
        let id = self.wait_for_room(send, policy);
        self.list(to);
        if !waits {
            self.transmit_to(rail, to);
        }
        id
    }

    /// Returns the failure if a message in this memory cannot go to a peer.
    #[inline]
    fn why_not_sent<R: FullRail>(&self, rail: &R, to: Rank, buffer: &OutBuffer) -> Option<Failure> {
        let memory = buffer.memory();
        if memory == MemoryKind::Host {
            return None;
        }
        // A peer without a link gets one of any of the rails.
        let caps = rail.link(to).map(|link| rail.caps(link));
        let takes = caps.map_or(MemoryKinds::HOST, |caps| caps.memory_kinds);
        let route = if to == self.me { TO_SELF } else { caps.map_or(UNOPENED, |caps| caps.name) };
        Failure::of_memory(memory, takes, route)
    }

    /// Informs the observer, if there is one, of a send, and notes its number.
    fn observe_submission(&mut self, send: &mut Send, variant: Option<Variant>) {
        let Send { to, flow, tag, .. } = *send;
        let bytes = send.buffer.len();
        send.number =
            self.observer.observe_send(|number| Leaving { number, to, flow, tag, bytes, variant, rail: 0 });
    }

    /// Returns true if the receiver is to copy a message from the memory of this process, alone or while this
    /// rank writes. The offer is noted here: the rail counts it before it is asked about the next message,
    /// also if this one waits.
    fn offer_peer_copy<R: FullRail>(&self, rail: &mut R, envelope: Envelope, buffer: &OutBuffer) -> bool {
        let Envelope { to, mode, .. } = envelope;
        let memory = buffer.strided().filter(|_| buffer.place().is_none());
        let (Some(link), Some(memory)) = (rail.link(to), memory) else { return false };
        let begin = self.peers[to.0 as usize].begin(self.max_bulk, buffer.len(), mode);
        if memory.has_gaps() {
            return begin != Begin::Whole && prefers_both_ends_for(rail, link, memory, buffer.len());
        }
        let ends = ends_that_copy(rail, link, (begin, mode), buffer.len());
        if ends == Some(CopyingEnds::Receiver) {
            rail.note_offer(link);
        }
        ends.is_some()
    }

    /// Adds a send to the backlog.
    fn wait_for_room(&mut self, send: Send, policy: RailPolicy) -> RequestId {
        let Send { to, flow, level, mode, .. } = send;
        let (bytes, region) = (send.buffer.len(), send.fetched || send.buffer.place().is_some());
        let id = self.requests.add(State::Moving);
        let peer = &mut self.peers[to.0 as usize];
        self.outgoing.lend_backlog(peer);
        let key = peer.backlog().join(Waiting { request: id, flow, bytes, mode, region, level, policy });
        peer.backlog_began();
        self.count_waiting(to);
        self.requests.enter(id, State::ExpectRoom(send, key));
        id
    }

    /// Returns the level of the messages of a flow, and the rails that take them.
    pub(crate) fn standing(&mut self, flow: FlowId) -> (u8, RailPolicy) {
        let (level, policy) =
            self.flow(flow).map_or((ORDINARY, RailPolicy::Any), |flow| (flow.level, flow.policy));
        (self.outgoing.level(level), policy)
    }

    /// Counts a message that joins the backlog.
    pub(crate) fn count_waiting(&mut self, to: Rank) {
        self.traffic.waited += 1;
        self.traffic.deepest = self.traffic.deepest.max(self.peers[to.0 as usize].backlog().len() as u64);
    }

    /// Returns why nothing can be sent to a peer any more.
    pub fn why_gone(&self, peer: Rank) -> Option<Failure> {
        self.departures.why_gone(self.me, peer, self.peers[peer.0 as usize].gone())
    }

    fn send_to_self(&mut self, send: Send) -> RequestId {
        let (flow, tag, me, len) = (send.flow, send.tag, self.me, send.buffer.len());
        let small = send.mode == Mode::Standard && len <= self.eager_bytes();
        let id = self.requests.add(State::ExpectSelf(send));
        match self.flow(flow).and_then(|f| f.matcher.arrive(me, tag)) {
            Some(receive) => {
                if let Some(State::ExpectMessage { buffer, .. }) = self.requests.leave(receive) {
                    self.observe(|| MessageEvent::Matched { from: me, flow, tag, bytes: len });
                    self.deliver_own(receive, id, buffer);
                }
            }
            None if small && self.charge_own(len) => self.keep_own(id),
            None => drop(self.store(flow, me, tag, Body::Own(id, len))),
        }
        id
    }

    /// Keeps a small message to this rank itself, so that its send need not wait.
    fn keep_own(&mut self, id: RequestId) {
        let Some(State::ExpectSelf(send)) = self.requests.leave(id) else { return };
        let mut data = self.incoming.take_memory(send.buffer.len());
        send.buffer.copy_to_slice(0, &mut data);
        let (flow, tag) = (send.flow, send.tag);
        self.requests.end(id, sent(send, Ok(())));
        // The flow exists: `send_to_self` has checked it.
        drop(self.store(flow, self.me, tag, Body::Here(KeptPayload::Long(data))));
    }

    /// Delivers a message of this rank to itself to its receive.
    pub(crate) fn deliver_own(&mut self, receive: RequestId, send: RequestId, mut buffer: InBuffer) {
        let send_state = match self.requests.leave(send) {
            Some(State::ExpectSelf(send) | State::ExpectFin(send)) => send,
            other => {
                other.into_iter().for_each(|state| self.requests.enter(send, state));
                let outcome = Outcome { result: Err(Failure::Cancelled), buffer: Buffer::In(buffer) };
                return self.requests.end(receive, State::Done(outcome));
            }
        };
        let len = send_state.buffer.len();
        let fits = len <= buffer.len();
        if fits {
            buffer.copy_from_buffer(&send_state.buffer, len);
        }
        self.traffic.own(len);
        let state = Receive::new(self.me, send_state.tag, buffer, len);
        let result = if fits { Ok(()) } else { Err(state.truncated()) };
        self.requests.end(send, sent(send_state, Ok(())));
        self.requests.end(receive, received(state, result));
    }

    /// Receives a message that `want` accepts: one that is here already, or the next one that comes.
    pub fn submit_recv(&mut self, flow: FlowId, want: Want, buffer: InBuffer) -> RequestId {
        let id = self.requests.add(State::Moving);
        if let Some(failure) = why_not_received(&buffer) {
            let outcome = Outcome { result: Err(failure), buffer: Buffer::In(buffer) };
            self.requests.end(id, State::Done(outcome));
            return id;
        }
        self.discard_stale(flow, want);
        let Some(found) = self.flow(flow).and_then(|f| f.matcher.take(want)) else {
            self.post_receive(id, flow, want, buffer);
            return id;
        };
        self.observe_found(flow, found);
        let key = self.incoming.key_at(found.message).into();
        self.deliver_unexpected(id, key, buffer);
        id
    }

    fn post_receive(&mut self, id: RequestId, flow: FlowId, want: Want, buffer: InBuffer) {
        let failure = self.why_revoked(flow).or_else(|| match want.source {
            Some(source) => self.why_gone(source),
            None if self.acknowledges(flow) => None,
            None => self.unreported_death(flow),
        });
        if let Some(failure) = failure {
            let outcome = Outcome { result: Err(failure), buffer: Buffer::In(buffer) };
            return self.requests.end(id, State::Done(outcome));
        }
        let Some(matcher) = self.flow(flow).map(|f| &mut f.matcher) else { return };
        let posted = matcher.post(want, id);
        self.requests.enter(id, State::ExpectMessage { want, flow, posted, buffer });
    }

    /// Withdraws an operation, if it is not too late. A send that was announced is asked back, for only its
    /// receiver knows whether it has met a receive.
    pub fn cancel(&mut self, id: RequestId) -> Cancel {
        if self.cancel_here(id) {
            return Cancel::Done;
        }
        let Some(State::ExpectCts(send)) = self.requests.get_mut(id) else { return Cancel::TooLate };
        send.asked_back = true;
        let (to, flow, tag) = (send.to, send.flow, send.tag);
        self.answer(to, Reply::Withdraw(id, flow, tag));
        Cancel::Asked
    }

    /// Withdraws an operation that no other rank knows of. It may be a receive without a message, a send
    /// still in the backlog, or a send to this rank itself without a receive.
    pub fn cancel_here(&mut self, id: RequestId) -> bool {
        self.withdraw_here(id, Failure::Cancelled)
    }

    /// Does [`Proto::cancel_here`] with `failure` as the result.
    pub(crate) fn withdraw_here(&mut self, id: RequestId, failure: Failure) -> bool {
        let Some(state) = self.requests.leave(id) else { return false };
        match state {
            State::ExpectMessage { flow, posted, buffer, .. } => {
                if let Some(flow) = self.flow(flow) {
                    flow.matcher.cancel(posted);
                }
                let outcome = Outcome { result: Err(failure), buffer: Buffer::In(buffer) };
                self.requests.end(id, State::Done(outcome));
                true
            }
            State::ExpectSelf(send) => {
                self.observe_withdrawal(&send);
                // Its announcement stays among the unexpected messages until a receive looks there: see
                // `discard_stale`.
                self.requests.end(id, sent(send, Err(failure)));
                true
            }
            State::ExpectRoom(send, key) => {
                self.observe_withdrawal(&send);
                let peer = &mut self.peers[send.to.0 as usize];
                peer.backlog().cancel(key);
                peer.backlog_drained();
                self.requests.end(id, sent(send, Err(failure)));
                true
            }
            other => {
                self.requests.enter(id, other);
                false
            }
        }
    }

    /// Asks a peer to answer once the small puts sent to it so far have been done there.
    pub fn submit_fence<R: FullRail>(&mut self, rail: &mut R, to: Rank, ticket: u64) -> Result<(), Failure> {
        self.reply(rail, to, Reply::Fence(ticket))?;
        self.charge_fence(to);
        Ok(())
    }

    /// Requests that the link to a peer is opened, if it is not open yet.
    pub fn want_link(&mut self, peer: Rank) {
        self.reports.want_link(peer, &mut self.peers[peer.0 as usize]);
    }

    pub(crate) fn reply<R: FullRail>(&mut self, rail: &mut R, to: Rank, reply: Reply) -> Result<(), Failure> {
        if let Some(failure) = self.why_gone(to) {
            return Err(failure);
        }
        self.peers[to.0 as usize].replies.push_back(reply);
        self.list(to);
        self.transmit_to(rail, to);
        Ok(())
    }

    /// Returns the number of answers and puts that wait for room towards a peer; a caller that makes many
    /// waits until they are few.
    pub fn replies_waiting(&self, to: Rank) -> usize {
        self.peers[to.0 as usize].replies.len()
    }
}
