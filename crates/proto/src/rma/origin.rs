//! The origin side of RMA: the calls of this rank to owners of memory, any number at the same time.
//!
//! Owns the calls, their sequence numbers, and the order in which their requests leave: that of their submission, for each owner. A call
//! that is long leaves in as many requests as it takes, while the requests and answers of this rank that are under way at the owner stay
//! bounded; what is beyond that waits here. Never blocks.
//!
//! ```text
//!   submit ──▶ queue of the owner ──▶ requests ──▶ owner        silent calls end here: their memory is free
//!              answers ──▶ memory of the call ──▶ ended         flush: answered, and all calls before it have ended
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};

use canele_rail::FastPath;
use canele_sys::ids::{Rank, RegionId, Tag};

use super::awaited::{Awaited, Came, answer_to};
use super::call::{Call, Ending, LateAnswer, NewCall, RmaFailure, RmaOutcome};
use super::cutting::{Cutting, Piece};
use super::pending::PendingSends;
use super::windows::Windows;
use super::{ANSWERS, DATA, Form, REQUESTS, Refusal, RmaRequest, SEQUENCE_MASK, WindowAction};
use crate::request::{Buffer, Failure};
use crate::slab::{Key, Slab};
use crate::{Envelope, Proto};

/// Messages to one owner that wait to leave before no further ones are made.
const MOST_SENDS: usize = 64;
/// Answers of one owner that may be to come, and bytes of them.
const MOST_ANSWERS: usize = 1024;
const MOST_ANSWER_BYTES: usize = 1 << 20;

/// The calls of this rank.
#[derive(Default)]
pub struct RmaOrigin {
    next_sequence: u32,
    last_serial: u64,
    calls: Slab<Call>,
    owners: BTreeMap<Rank, Owner>,
    windows: Windows,
    pending: PendingSends,
    /// Calls whose large data is under way.
    moving: Vec<Key>,
    /// The first refusal of each owner that a fence told of that was not waited for.
    refused: HashMap<Rank, (RegionId, Refusal)>,
    /// Of the operations that have ended: after how many answers were looked for.
    looked_at: Option<u64>,
}

/// What is under way at one owner.
#[derive(Default)]
struct Owner {
    /// Calls of which something is still to be submitted.
    queue: VecDeque<Key>,
    awaited: Vec<Awaited>,
    awaited_bytes: usize,
}

impl RmaOrigin {
    /// Submits a call; as much of it leaves as can.
    pub fn submit<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, new: NewCall) -> Key {
        let NewCall { owner, rma_request, elements, element_bytes, data, into, ending } = new;
        proto.rma_requested = true;
        self.last_serial += 1;
        let serial = self.last_serial;
        let cutting = match rma_request {
            RmaRequest::Access(access) => Some(Cutting::new(access.len as usize, element_bytes, elements)),
            _ => None,
        };
        let call = Call {
            owner,
            rma_request,
            cutting,
            data,
            into,
            ending,
            serial,
            is_submitted: false,
            sending: None,
            receiving: None,
            awaited: 0,
            value: 0,
            failure: None,
            has_ended: false,
        };
        let window = call.window();
        let needless =
            matches!(rma_request, RmaRequest::Flush { .. }) && !self.windows.at(window).needs_flush();
        if !is_flush(&rma_request) {
            self.windows.at(window).begin(serial, !rma_request.is_answered());
        }
        let key = self.calls.insert(call);
        if needless {
            self.calls.get_mut(key).into_iter().for_each(|call| call.is_submitted = true);
            self.settle(proto, rail, key);
        } else {
            self.owners.entry(owner).or_default().queue.push_back(key);
            self.advance_owner(proto, rail, owner);
        }
        key
    }

    /// Goes on with everything that can go on; says whether anything did. After each pass.
    pub fn go_on<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        if self.looked_at == Some(proto.ended()) {
            return false;
        }
        self.looked_at = Some(proto.ended());
        self.pending.clear(proto);
        let mut any = self.end_moves(proto, rail);
        let owners: Vec<Rank> = self.owners.keys().copied().collect();
        for owner in owners {
            any |= self.take_answers(proto, rail, owner);
            any |= self.advance_owner(proto, rail, owner);
            if self.owners.get(&owner).is_some_and(|state| state.queue.is_empty() && state.awaited.is_empty())
            {
                self.owners.remove(&owner);
            }
        }
        any
    }

    /// Whether a call has ended, or its outcome was taken.
    pub fn has_ended(&self, key: Key) -> bool {
        self.calls.get(key).is_none_or(|call| call.has_ended)
    }

    /// Takes the outcome of a call that has ended.
    pub fn take(&mut self, key: Key) -> Option<RmaOutcome> {
        self.calls.get(key).filter(|call| call.has_ended)?;
        self.calls.remove(key).map(Call::into_outcome)
    }

    /// Nobody waits any more for a call without memory.
    pub fn leave<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, key: Key, late: LateAnswer) {
        let Some(call) = self.calls.get_mut(key) else { return };
        call.ending = Ending::Left(late);
        if call.has_ended {
            self.finish(proto, rail, key);
        }
    }

    /// What `owner` refused first, as the answer to a fence said that nobody waited for any more. It is told once.
    pub fn take_refusal(&mut self, owner: Rank) -> Option<(RegionId, Refusal)> {
        self.refused.remove(&owner)
    }

    /// The number of the last call.
    pub fn last_serial(&self) -> u64 {
        self.last_serial
    }

    /// Whether a call in an exposure up to this number is under way: its memory is not the caller's yet.
    pub fn is_open(&self, owner: Rank, window: RegionId, up_to: u64) -> bool {
        self.windows.known((owner, window)).is_some_and(|used| used.is_open_before(up_to + 1))
    }

    /// What went wrong first with the counted calls in an exposure, told once.
    pub fn take_failure(&mut self, owner: Rank, window: RegionId) -> Option<RmaFailure> {
        self.windows.known((owner, window))?;
        self.windows.at((owner, window)).take_failure()
    }

    /// Forgets an exposure of an owner in which nothing is under way.
    pub fn forget_window(&mut self, owner: Rank, window: RegionId) {
        self.windows.forget((owner, window));
    }

    /// Calls under way, for tests and whoever wonders where memory went.
    pub fn under_way(&self) -> usize {
        self.pending.len() + self.calls.iter().filter(|(_, call)| !call.has_ended).count()
    }

    /// Submits what can be submitted to an owner; says whether anything was.
    fn advance_owner<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, owner: Rank) -> bool {
        let mut any = false;
        while let Some(state) = self.owners.get_mut(&owner)
            && let Some(key) = state.queue.front().copied()
        {
            if let Some(failure) = proto.why_gone(owner) {
                if let Some(call) = self.calls.get_mut(key) {
                    call.fail(RmaFailure::Owner(failure));
                    call.is_submitted = true;
                }
            } else if state.awaited.len() >= MOST_ANSWERS
                || state.awaited_bytes >= MOST_ANSWER_BYTES
                || self.pending.len_to(owner) >= MOST_SENDS
            {
                return any;
            } else {
                self.submit_next(proto, rail, key);
            }
            any = true;
            if self.calls.get(key).is_none_or(|call| call.is_submitted) {
                self.owners.entry(owner).or_default().queue.pop_front();
                self.settle(proto, rail, key);
            }
        }
        any
    }

    /// A number for an RMA request of this rank, which the caller sends itself and which is not answered.
    pub fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence = (sequence + 1) & SEQUENCE_MASK;
        sequence
    }

    /// Submits the next request of a call.
    fn submit_next<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
        let sequence = self.take_sequence();
        let Some(call) = self.calls.get_mut(key) else { return };
        if let Some(cutting) = &mut call.cutting {
            let RmaRequest::Access(access) = call.rma_request else { return };
            let piece = cutting.next(&access, proto.eager_bytes());
            call.is_submitted = cutting.is_done();
            match piece {
                Some(piece) => self.submit_piece(proto, rail, key, sequence, piece),
                None => {
                    call.is_submitted = true;
                    call.fail(RmaFailure::Refused(access.place.region, Refusal::Broken));
                }
            }
            return;
        }
        call.is_submitted = true;
        let (owner, rma_request) = (call.owner, call.rma_request);
        let form = proto.form(&rma_request);
        if rma_request.is_answered() {
            let beside = match rma_request {
                RmaRequest::Get { len, .. } if form == Form::Whole => len as usize,
                _ => 0,
            };
            self.expect_answer(proto, owner, sequence, key, (0, beside));
        }
        let Some(call) = self.calls.get_mut(key) else { return };
        if form == Form::Apart
            && matches!(rma_request, RmaRequest::Get { .. })
            && let Some(into) = call.into.take()
        {
            // Behind the answer, which comes first.
            call.receiving = Some(proto.submit_recv(ANSWERS, answer_to(owner, sequence), into));
            self.moving.push(key);
        }
        let (head, head_len) = rma_request.head(form);
        let way = (owner, REQUESTS, rma_request.tag(form, sequence));
        let data = call.data.as_ref().filter(|_| form == Form::Whole && rma_request.carries_data());
        let len = head_len + data.map_or(0, |data| data.len());
        self.pending.send_filled(proto, rail, way, len, |slot| {
            slot.write(0, &head[..head_len]);
            if let Some((data, rest)) = data.zip(slot.part(head_len, len - head_len)) {
                data.copy_to(0, rest);
            }
        });
        let Some(call) = self.calls.get_mut(key) else { return };
        if form == Form::Apart
            && rma_request.carries_data()
            && let Some(data) = call.data.take()
        {
            let envelope = Envelope::new(owner, DATA, Tag(sequence));
            call.sending = Some(proto.submit_send(rail, envelope, data));
            self.moving.push(key);
        }
    }

    /// Submits one request of an access to elements.
    fn submit_piece<R: FastPath>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        key: Key,
        sequence: u32,
        piece: Piece,
    ) {
        let Piece { access, layout, at, len } = piece;
        let Some(owner) = self.calls.get(key).map(|call| call.owner) else { return };
        if access.action.reads() {
            self.expect_answer(proto, owner, sequence, key, (at, len));
        }
        let Some(call) = self.calls.get(key) else { return };
        let rma_request = RmaRequest::Access(access);
        let (head, head_len) = rma_request.head(Form::Whole);
        let way = (owner, REQUESTS, rma_request.tag(Form::Whole, sequence));
        // The operands of a comparison lie one behind the other; an operation may need none.
        let data = call.data.as_ref().map(|data| (data, data.len().saturating_sub(at)));
        let data = data.map(|(data, left)| match access.action {
            super::ElementAction::CompareAndSwap => (data, left),
            _ => (data, left.min(len)),
        });
        let data_at = head_len + layout.len();
        let total = data_at + data.map_or(0, |(_, len)| len);
        self.pending.send_filled(proto, rail, way, total, |slot| {
            slot.write(0, &head[..head_len]);
            slot.write(head_len, &layout);
            if let Some(((data, len), true)) = data.map(|data| (data, data.1 > 0))
                && let Some(rest) = slot.part(data_at, len)
            {
                data.copy_to(at, rest);
            }
        });
    }

    fn expect_answer(
        &mut self,
        proto: &mut Proto,
        owner: Rank,
        sequence: u32,
        key: Key,
        (at, len): (usize, usize),
    ) {
        let awaited = Awaited::post(proto, owner, sequence, key, (at, len));
        let state = self.owners.entry(owner).or_default();
        state.awaited_bytes += len;
        state.awaited.push(awaited);
        if let Some(call) = self.calls.get_mut(key) {
            call.awaited += 1;
        }
    }

    /// Takes the answers of an owner that have come; says whether any had.
    fn take_answers<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, owner: Rank) -> bool {
        let Some(state) = self.owners.get_mut(&owner) else { return false };
        let came: Vec<_> = state.awaited.extract_if(.., |awaited| awaited.has_come(proto)).collect();
        state.awaited_bytes -= came.iter().map(|awaited| awaited.len).sum::<usize>();
        for awaited in &came {
            // Before any of them ends: a flush behind a read may have come with it.
            if let Some(call) = self.calls.get_mut(awaited.call) {
                call.awaited -= 1;
            }
        }
        let any = !came.is_empty();
        for awaited in came {
            let (key, at) = (awaited.call, awaited.at);
            let Some(call) = self.calls.get_mut(key) else { continue };
            let answer = awaited.take(proto, call.window());
            self.handle_answer(proto, key, at, answer);
            self.settle(proto, rail, key);
        }
        any
    }

    fn handle_answer(&mut self, proto: &mut Proto, key: Key, at: usize, answer: Came) {
        let Some(call) = self.calls.get_mut(key) else { return };
        match answer {
            Ok((value, data)) => {
                call.value = value;
                if let Some(into) = call.into.as_mut().filter(|_| !data.is_empty()) {
                    into.copy_from_slice(at, &data);
                    proto.traffic.copies += 1;
                }
            }
            Err(failure) => {
                call.fail(failure);
                // Nothing follows a refusal.
                if let Some(request) = call.receiving {
                    proto.cancel_here(request);
                }
            }
        }
        if is_flush(&call.rma_request) {
            let (window, serial) = (call.window(), call.serial);
            self.windows.at(window).flushed(serial);
        }
    }

    /// Takes back large data that has moved; says whether any had.
    fn end_moves<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        let mut ended = Vec::new();
        let Self { moving, calls, .. } = self;
        moving.retain(|key| {
            let Some(call) = calls.get_mut(*key) else { return false };
            if let Some(outcome) = call.sending.and_then(|request| proto.take(request)) {
                call.sending = None;
                if let Buffer::Out(buffer) = outcome.buffer {
                    call.data = Some(buffer);
                }
                outcome.result.err().into_iter().for_each(|failure| call.fail(RmaFailure::Owner(failure)));
            }
            if let Some(outcome) = call.receiving.and_then(|request| proto.take(request)) {
                call.receiving = None;
                let region = call.rma_request.region();
                let mut len = 0;
                if let Buffer::In(buffer) = outcome.buffer {
                    len = buffer.len();
                    call.into = Some(buffer);
                }
                match outcome.result {
                    Ok(status) if status.bytes == len => {}
                    // Refused: the answer says why, which may still be to be taken.
                    Err(Failure::Cancelled) => {}
                    Ok(_) | Err(Failure::Truncated { .. }) => {
                        call.fail(RmaFailure::Refused(region, Refusal::Broken));
                    }
                    Err(failure) => call.fail(RmaFailure::Owner(failure)),
                }
            }
            let is_moving = call.sending.is_some() || call.receiving.is_some();
            if !is_moving {
                ended.push(*key);
            }
            is_moving
        });
        let any = !ended.is_empty();
        ended.into_iter().for_each(|key| self.settle(proto, rail, key));
        any
    }

    /// Ends a call of which nothing is under way any more; a flush waits for all calls before it.
    fn settle<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
        let Some(call) = self.calls.get_mut(key) else { return };
        if !call.is_complete() || call.has_ended {
            return;
        }
        let (window, serial) = (call.window(), call.serial);
        let state = self.windows.at(window);
        if is_flush(&call.rma_request) {
            if state.is_open_before(serial) {
                if !state.flushes.contains(&key) {
                    state.flushes.push(key);
                }
                return;
            }
            state.flushes.retain(|other| *other != key);
            // The owner's word comes first: it is of what was done there.
            let failure = state.take_failure();
            failure.into_iter().for_each(|failure| call.fail(failure));
        } else {
            state.end(serial);
            if let (Ending::Counted, Some(failure)) = (call.ending, &call.failure) {
                state.fail(failure.clone());
            }
        }
        call.has_ended = true;
        proto.ended += 1;
        let flushes = state.flushes.clone();
        self.finish(proto, rail, key);
        flushes.into_iter().filter(|other| *other != key).for_each(|other| self.settle(proto, rail, other));
    }

    /// Forgets a call that has ended unless its outcome is to be taken.
    fn finish<R: FastPath>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
        let Some(late) = self.calls.get(key).and_then(|call| match call.ending {
            Ending::Taken => None,
            Ending::Counted => Some(LateAnswer::Ignore),
            Ending::Left(late) => Some(late),
        }) else {
            return;
        };
        let Some(outcome) = self.calls.remove(key).map(Call::into_outcome) else { return };
        match (outcome.result, late) {
            (Ok(value), LateAnswer::Undo(question)) if value != 0 => {
                let ending = Ending::Left(LateAnswer::Ignore);
                let call = NewCall { ending, ..NewCall::new(outcome.owner, RmaRequest::Ask(question)) };
                self.submit(proto, rail, call);
            }
            (Err(RmaFailure::Refused(region, refusal)), LateAnswer::Keep) => {
                self.refused.entry(outcome.owner).or_insert((region, refusal));
            }
            _ => {}
        }
    }
}

/// Whether it ends when all calls before it in its exposure have ended.
fn is_flush(rma_request: &RmaRequest) -> bool {
    matches!(rma_request, RmaRequest::Flush { .. } | RmaRequest::Window { action: WindowAction::Unlock, .. })
}
