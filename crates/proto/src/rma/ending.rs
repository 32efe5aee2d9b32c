//! The ends of calls: answers, large data that has moved, flushes.

use canele_rail::FullRail;
use canele_sys::ids::Rank;

use super::awaited::AnswerResult;
use super::call::{Call, CallEnding, LateAnswer, NewCall, RmaFailure};
use super::origin::{RmaOrigin, is_flush};
use super::{Refusal, RmaRequest};
use crate::Proto;
use crate::request::{Buffer, Failure};
use crate::slab::Key;

impl RmaOrigin {
    /// Takes the answers of an owner that have come; returns true if there was one.
    pub(super) fn take_answers<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, owner: Rank) -> bool {
        let Some(state) = self.owners.get_mut(&owner) else { return false };
        let came: Vec<_> = state.awaited.extract_if(.., |awaited| awaited.has_come(proto)).collect();
        state.awaited_bytes -= came.iter().map(|awaited| awaited.len).sum::<usize>();
        let any = !came.is_empty();
        let mut answered = Vec::with_capacity(came.len());
        for awaited in came {
            let (key, at) = (awaited.call, awaited.at);
            let Some(call) = self.calls.get_mut(key) else { continue };
            call.awaited -= 1;
            // An owner answers in the order of the requests.
            if self.unconfirmed.get(&owner).is_some_and(|last| *last < call.serial) {
                self.unconfirmed.remove(&owner);
            }
            let answer = awaited.take(proto, call.window());
            self.handle_answer(proto, key, at, answer);
            answered.push(key);
        }
        // Calls are settled after all answers are in their memory. A call may have several answers. The
        // answer of a flush may have come together with that of a read before it.
        answered.dedup();
        answered.into_iter().for_each(|key| self.settle(proto, rail, key));
        any
    }

    pub(super) fn handle_answer(&mut self, proto: &mut Proto, key: Key, at: usize, answer: AnswerResult) {
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
                // No data follows a refusal.
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

    /// Takes back large data that has moved; returns true if there was any.
    pub(super) fn end_moves<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        let mut ended = Vec::new();
        let Self { moving, calls, .. } = self;
        moving.retain(|key| {
            let Some(call) = calls.get_mut(*key) else { return false };
            if let Some(outcome) = call.sending.and_then(|request| proto.take(request)) {
                call.sending = None;
                if let Buffer::Out(buffer) = outcome.buffer {
                    call.data = Some(buffer);
                }
                outcome.result.err().into_iter().for_each(|failure| call.fail(RmaFailure::Failed(failure)));
            }
            if let Some(outcome) = call.receiving.and_then(|request| proto.take(request)) {
                call.receiving = None;
                let key = call.rma_request.key();
                let mut len = 0;
                if let Buffer::In(buffer) = outcome.buffer {
                    len = buffer.len();
                    call.into = Some(buffer);
                }
                match outcome.result {
                    Ok(status) if status.bytes == len => {}
                    // The owner refused the call: the answer, which may still be to come, has the reason.
                    Err(Failure::Cancelled) => {}
                    Ok(_) | Err(Failure::Truncated { .. }) => {
                        call.fail(RmaFailure::Refused(key, Refusal::Broken));
                    }
                    Err(failure) => call.fail(RmaFailure::Failed(failure)),
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
    pub(super) fn settle<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
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
            // The owner's answer comes first: it reports what was done there.
            let failure = state.take_failure_before(serial);
            failure.into_iter().for_each(|failure| call.fail(failure));
        } else {
            state.end(serial);
            // The owner answers the calls that the network has refused, but a flush alone reports them.
            let refused =
                call.failure.take_if(|why| call.is_silent && matches!(why, RmaFailure::Refused(..)));
            let is_told = call.is_silent || call.ending == CallEnding::Counted;
            let failure = refused.or_else(|| call.failure.clone().filter(|_| is_told));
            failure.into_iter().for_each(|failure| state.fail(serial, failure));
        }
        call.has_ended = true;
        proto.requests.count_completion();
        let flushes = state.flushes.clone();
        self.windows.forget_unused(window);
        self.finish(proto, rail, key);
        flushes.into_iter().filter(|other| *other != key).for_each(|other| self.settle(proto, rail, other));
    }

    /// Forgets a call that has ended, unless its outcome is to be taken.
    pub(super) fn finish<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, key: Key) {
        let Some(late) = self.calls.get(key).and_then(|call| match call.ending {
            CallEnding::Taken => None,
            CallEnding::Counted => Some(LateAnswer::Ignore),
            CallEnding::Left(late) => Some(late),
        }) else {
            return;
        };
        let Some(outcome) = self.calls.remove(key).map(Call::into_outcome) else { return };
        match (outcome.result, late) {
            (Ok(value), LateAnswer::Undo(question)) if value != 0 => {
                let ending = CallEnding::Left(LateAnswer::Ignore);
                let call = NewCall { ending, ..NewCall::new(outcome.owner, RmaRequest::Ask(question)) };
                self.submit(proto, rail, call);
            }
            (Err(RmaFailure::Refused(key, refusal)), LateAnswer::Keep) => {
                self.refused.entry(outcome.owner).or_insert((key, refusal));
            }
            _ => {}
        }
    }
}
