//! Transfers that are copied once, piece by piece, by an end that reaches both buffers, or moved by one verb.
//!
//! `both_ends` has the transfers in which both ends copy.

use canele_mem::buffer::RegionAddress;
use canele_mem::chunk_counter::Generation;
use canele_rail::{FullRail, Reach, Verb, Verbs};
use canele_sys::ids::{LinkId, Rank, RequestId};

use crate::Proto;
use crate::both_ends::{copy_back, copy_front, copy_piece_here, piece_of};
use crate::choice::{Protocol, Rendezvous};
use crate::peer::Reply;
use crate::request::{Fallback, Receive, Send, Share, State, sent};
use crate::rma::{MemoryRoute, route};
use crate::submit::prefers_both_ends_for;
use crate::verbs::VerbUse;
use crate::wire::{BufferPlace, Cts, CtsKind, FinStatus};

/// Bytes of one message copied by one end before other messages have their turn.
pub(crate) const ALONE: usize = 256 << 10;

/// Bytes of one message copied by the kernel before other messages have their turn; each such copy costs a
/// system call.
const FETCHED: usize = 1 << 20;

/// The result of one step of a copy.
pub(crate) enum Step {
    /// A piece was copied, and there may be more.
    Copied,
    /// This step had nothing to do.
    Waits,
    /// This end has nothing more to copy.
    Over,
    /// The peer's memory cannot be reached.
    Lost,
    /// One verb moves the whole message.
    Verb(LinkId, Verb),
}

impl Proto {
    /// Puts a request into a state in which this side copies.
    pub(crate) fn copy_later(&mut self, id: RequestId, state: State) {
        // A link to the peer is needed to reach its memory, and perhaps nothing else asks for one.
        if let Some(peer) = state.peer().filter(|peer| self.peers[peer.0 as usize].links().is_empty()) {
            self.list(peer);
        }
        self.requests.enter(id, state);
        self.requests.copy_later(id);
    }

    /// Starts the sender's part of a transfer copied by both ends.
    pub(crate) fn share_as_sender(
        &mut self,
        id: RequestId,
        send: Send,
        receiver: RequestId,
        (far, chunk_counter, generation): (BufferPlace, u8, Generation),
    ) {
        if chunk_counter as usize >= canele_rail::CHUNK_COUNTERS {
            return self.requests.enter(id, State::ExpectFin(send)); // The receiver can do it alone.
        }
        let piece = piece_of(far, send.buffer.len());
        let share = Box::new(Share { far, chunk_counter, generation, piece, fallback: None });
        self.copy_later(id, State::SharingOut(send, share, receiver));
    }

    /// Lets every transfer that is copied here advance by one step.
    pub(crate) fn copy<R: FullRail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        for _ in 0..self.requests.copies() {
            let Some(id) = self.requests.next_copy() else { break };
            let step = match self.requests.get_mut(id) {
                Some(State::ToShare(..)) => self.start_share(rail, id),
                Some(state) => step(rail, state, &mut self.traffic.copies),
                None => continue,
            };
            any |= !matches!(step, Step::Waits);
            match step {
                Step::Copied | Step::Waits => self.requests.copy_later(id),
                Step::Verb(link, verb) => self.post_for(rail, id, link, verb),
                Step::Over => self.copied(id),
                Step::Lost => self.send_in_pieces(id),
            }
        }
        any
    }

    /// Sets up a chunk counter as the receiver and invites the sender. If both ends cannot copy, the receiver
    /// copies alone, or asks for pieces if the message has gaps.
    fn start_share<R: FullRail>(&mut self, rail: &mut R, id: RequestId) -> Step {
        let Some(State::ToShare(receive, far, request)) = self.requests.leave(id) else { return Step::Over };
        let from = receive.from;
        let Some(link) = self.peers[from.0 as usize].first_link() else {
            self.requests.enter(id, State::ToShare(receive, far, request));
            return Step::Waits;
        };
        let near = match far {
            BufferPlace::Region(_) => receive.buffer.place().map(BufferPlace::Region),
            BufferPlace::Process(_) => {
                let memory = receive.buffer.strided();
                let memory = memory.filter(|memory| prefers_both_ends_for(rail, link, *memory, receive.len));
                memory.map(BufferPlace::Process)
            }
        };
        let is_private = matches!(far, BufferPlace::Process(_));
        let has_far_gaps = matches!(far, BufferPlace::Process(memory) if memory.has_gaps());
        let generation = self.requests.next_share();
        let shared =
            near.and_then(|near| Some((near, self.start_chunk_counter(rail, link, from, generation)?)));
        if is_private {
            let rendezvous = match shared {
                Some(_) => Rendezvous::Both,
                None if has_far_gaps => Rendezvous::Stream,
                None => Rendezvous::Read,
            };
            self.tell_rendezvous(from, receive.len, rendezvous);
        }
        let Some((near, chunk_counter)) = shared else {
            if has_far_gaps {
                // A message with gaps is copied by both ends or goes through the ring.
                self.invite(id, from, request, CtsKind::Stream, receive);
                return Step::Copied;
            }
            self.requests.enter(id, State::Reading(receive, far, request, 0));
            return Step::Copied;
        };
        let piece = piece_of(far, receive.len);
        let share = Box::new(Share { far, chunk_counter, generation, piece, fallback: None });
        self.answer(
            from,
            Reply::Cts(Cts { request, receiver: id, how: CtsKind::Share(near, chunk_counter, generation) }),
        );
        self.requests.enter(id, State::SharingIn(receive, share, request));
        Step::Copied
    }

    fn start_chunk_counter<R: FullRail>(
        &mut self,
        rail: &mut R,
        link: LinkId,
        from: Rank,
        generation: Generation,
    ) -> Option<u8> {
        let free = self.peers[from.0 as usize].free_chunk_counter()?;
        rail.chunk_counter(link, true, free as usize)?.start(generation);
        self.peers[from.0 as usize].chunk_counters |= 1 << free;
        Some(free)
    }

    /// Posts the verb that moves the message of a request. If there is no room, tries again later: verbs
    /// under way make room.
    fn post_for<R: FullRail>(&mut self, rail: &mut R, id: RequestId, link: LinkId, verb: Verb) {
        match self.verbs.post(rail, link, VerbUse::Message(id), verb) {
            true => self.requests.hold_for_verb(id),
            false => self.requests.copy_later(id),
        }
    }

    /// Handles the completion of this rank's part of a copy.
    pub(crate) fn copied(&mut self, id: RequestId) {
        match self.requests.leave(id) {
            Some(State::Writing(send, _, receiver, _)) => {
                self.traffic.sent(Protocol::Direct, send.buffer.len());
                self.answer(send.to, Reply::Fin(receiver, FinStatus::Done));
                self.requests.end(id, sent(send, Ok(())));
            }
            Some(State::SharingOut(send, _, receiver)) => {
                // The receiver may sleep since this end took the last piece.
                self.answer(send.to, Reply::Fin(receiver, FinStatus::Done));
                self.requests.enter(id, State::ExpectFin(send));
            }
            Some(State::Reading(receive, far, request, got)) => {
                self.answer(receive.from, Reply::Fin(request, FinStatus::Done));
                self.requests.enter(id, State::Reading(receive, far, request, got));
                self.finish_receive(id, Protocol::Direct);
            }
            Some(State::SharingIn(receive, share, request)) => {
                let from = receive.from;
                self.free_chunk_counter(from, share.chunk_counter);
                let receive = Receive { was_shared: share.fallback.is_some(), ..receive };
                match share.fallback {
                    Some(Fallback::Pieces) => {
                        return self.invite(id, from, request, CtsKind::Stream, receive);
                    }
                    Some(Fallback::ReadAlone) => {
                        return self.copy_later(id, State::Reading(receive, share.far, request, 0));
                    }
                    None => {}
                }
                self.answer(from, Reply::Fin(request, FinStatus::Done));
                self.requests.enter(id, State::SharingIn(receive, share, request));
                self.finish_receive(id, Protocol::Direct);
            }
            Some(other) => self.requests.enter(id, other),
            None => {}
        }
    }

    /// Falls back to pieces, from the first byte, because the peer's memory cannot be reached. For example,
    /// this process has no descriptor left for the region.
    pub(crate) fn send_in_pieces(&mut self, id: RequestId) {
        match self.requests.leave(id) {
            Some(State::Reading(receive, _, request, _)) => {
                self.invite(id, receive.from, request, CtsKind::Stream, receive);
            }
            Some(State::Writing(send, _, receiver, _)) => self.stream(id, send, receiver),
            // The receiver can copy it alone, or asks for pieces.
            Some(State::SharingOut(send, ..)) => self.requests.enter(id, State::ExpectFin(send)),
            Some(other) => self.requests.enter(id, other),
            None => {}
        }
    }

    fn free_chunk_counter(&mut self, peer: Rank, chunk_counter: u8) {
        self.peers[peer.0 as usize].chunk_counters &= !(1 << chunk_counter);
    }
}

/// Copies the next piece of a transfer.
fn step<R: FullRail>(rail: &mut R, state: &mut State, copies: &mut u64) -> Step {
    match state {
        State::Reading(receive, far @ BufferPlace::Process(_), _, done) => {
            let (at, n, len) = (*done, FETCHED.min(receive.len - *done), receive.len);
            let Some(link) = rail.link(receive.from) else { return Step::Waits };
            alone(copy_piece_here(rail, link, receive, *far, (at, n)), done, n, len, copies)
        }
        State::Reading(Receive { from, buffer, len, .. }, BufferPlace::Region(far), _, done) => {
            let (at, n) = (*done, ALONE.min(*len - *done));
            let result = match open_route(rail, *from, Verbs::GET) {
                None => Step::Waits,
                Some(MemoryRoute::Map) => {
                    reach(rail, *from, *far, at, n, |window| buffer.copy_from(at, window))
                }
                Some(MemoryRoute::Verb(link)) if !buffer.is_fine() => {
                    Step::Verb(link, Verb::Get { from: (*far).into(), into: buffer.share(0, *len) })
                }
                Some(MemoryRoute::Verb(_) | MemoryRoute::Request) => Step::Lost,
            };
            alone(result, done, n, *len, copies)
        }
        State::Writing(send, far, _, done) => {
            let (to, len, buffer) = (send.to, send.buffer.len(), &mut send.buffer);
            let (at, n) = (*done, ALONE.min(len - *done));
            let result = match open_route(rail, to, Verbs::PUT) {
                None => Step::Waits,
                Some(MemoryRoute::Map) => reach(rail, to, *far, at, n, |window| buffer.copy_to(at, window)),
                Some(MemoryRoute::Verb(link)) if !buffer.is_fine() => {
                    Step::Verb(link, Verb::Put { data: buffer.share(0, len), to: (*far).into() })
                }
                Some(MemoryRoute::Verb(_) | MemoryRoute::Request) => Step::Lost,
            };
            alone(result, done, n, len, copies)
        }
        State::SharingIn(receive, share, _) => copy_front(rail, receive, share, copies),
        State::SharingOut(send, share, _) => copy_back(rail, send, share, copies),
        _ => Step::Over,
    }
}

/// Returns the access to regions of a peer, once a link to it is open.
fn open_route<R: FullRail>(rail: &R, peer: Rank, verb: Verbs) -> Option<MemoryRoute> {
    rail.link(peer).map(|_| route(rail, peer, verb))
}

/// Calls `copy` with the peer's memory, if it can be reached.
pub(crate) fn reach<R: FullRail>(
    rail: &mut R,
    peer: Rank,
    far: RegionAddress,
    at: usize,
    n: usize,
    copy: impl FnOnce(canele_mem::window::Window<'_>),
) -> Step {
    let Some(link) = rail.link(peer) else { return Step::Waits };
    let Some(offset) = far.offset.checked_add(at as u64) else { return Step::Lost };
    match rail.reach(link, RegionAddress { offset, ..far }, n) {
        Reach::Here(window) => copy(window),
        Reach::Wanted => return Step::Waits,
        Reach::Refused => return Step::Lost,
    }
    Step::Copied
}

/// Counts a step of a copy by one end alone; returns [`Step::Over`] after the last one.
fn alone(result: Step, done: &mut usize, n: usize, len: usize, copies: &mut u64) -> Step {
    if let Step::Copied = result {
        *done += n;
        *copies += 1;
        if *done == len {
            return Step::Over;
        }
    }
    result
}
