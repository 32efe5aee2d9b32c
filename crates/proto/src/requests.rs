//! The requests of this rank, and their states.
//!
//! Owns these states, the turns of those that this rank copies, those whose buffers a rail still holds, and
//! the count of completions. Never decides which state comes next: the file of each kind of packet does.

use std::collections::VecDeque;

use canele_mem::chunk_counter::Generation;
use canele_sys::ids::RequestId;

use crate::request::{Outcome, State, Status};
use crate::slab::Slab;

/// The requests that were not taken yet.
pub(crate) struct Requests {
    states: Slab<State>,
    /// Requests with data to be copied here, in the order of their turns.
    copies: VecDeque<RequestId>,
    /// Requests whose buffers a rail still holds: those that have ended, and those that a verb moves.
    held: Vec<RequestId>,
    /// Counts completed requests, and arrivals that a waiter may look for; waiters re-check when it changes.
    completions: u64,
    /// Counts the transfers that both ends copy.
    shares: u32,
}

impl Requests {
    /// Makes an empty table.
    pub const fn new() -> Self {
        Self { states: Slab::new(), copies: VecDeque::new(), held: Vec::new(), completions: 0, shares: 0 }
    }

    /// Adds a request in its first state.
    #[inline(always)]
    pub fn add(&mut self, state: State) -> RequestId {
        self.states.insert(state).into()
    }

    /// Returns the number of requests that were not taken yet.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns the state of a request, unless its outcome was taken.
    #[inline(always)]
    pub fn get(&self, id: RequestId) -> Option<&State> {
        self.states.get(id.into())
    }

    /// Returns the state of a request to change, unless its outcome was taken.
    #[inline(always)]
    pub fn get_mut(&mut self, id: RequestId) -> Option<&mut State> {
        self.states.get_mut(id.into())
    }

    /// Returns true if a request is in a state that `is_meant` accepts.
    pub fn any(&self, is_meant: impl Fn(&State) -> bool) -> bool {
        self.states.iter().any(|(_, state)| is_meant(state))
    }

    /// Returns the requests in states that `is_meant` accepts.
    pub fn find(&self, is_meant: impl Fn(&State) -> bool) -> Vec<RequestId> {
        self.states.iter().filter(|(_, state)| is_meant(state)).map(|(key, _)| key.into()).collect()
    }

    /// Takes the outcome of a request that has ended; the id is stale afterwards.
    #[inline(always)]
    pub fn take(&mut self, id: RequestId) -> Option<Outcome> {
        let Some(State::Done(_)) = self.get(id) else { return None };
        match self.states.remove(id.into()) {
            Some(State::Done(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Takes the status of a request that has ended well and whose buffer no caller wants back. A request
    /// that has failed stays.
    #[inline(always)]
    pub fn take_status(&mut self, id: RequestId) -> Option<Status> {
        let Some(State::Done(Outcome { result: Ok(status), .. })) = self.get(id) else { return None };
        let status = *status;
        self.states.discard(id.into());
        Some(status)
    }

    /// Takes a request's state out for a moment; [`Requests::end`] or [`Requests::enter`] puts the next one
    /// in.
    #[inline(always)]
    pub fn leave(&mut self, id: RequestId) -> Option<State> {
        Some(std::mem::replace(self.get_mut(id)?, State::Moving))
    }

    /// Lets a request enter its next state.
    #[inline(always)]
    pub fn enter(&mut self, id: RequestId, next: State) {
        if let Some(state) = self.get_mut(id) {
            *state = next;
        }
    }

    /// Ends a request. While a rail holds part of its buffer, no caller gets it, and it does not count as
    /// completed.
    #[inline(always)]
    pub fn end(&mut self, id: RequestId, done: State) {
        match done {
            State::Done(outcome) if outcome.buffer.is_shared() => {
                self.held.push(id);
                self.enter(id, State::Closing(outcome));
            }
            done => {
                self.enter(id, done);
                self.count_completion();
            }
        }
    }

    /// Returns true if a rail holds the buffer of a request.
    #[inline(always)]
    pub fn has_held_buffers(&self) -> bool {
        !self.held.is_empty()
    }

    /// Notes that a verb moves the message of a request, which goes on when the verb has completed.
    pub fn hold_for_verb(&mut self, id: RequestId) {
        self.held.push(id);
    }

    /// Ends the requests whose buffers no rail holds any more; returns true if there was one.
    pub fn close_buffers(&mut self) -> bool {
        let before = self.held.len();
        for id in std::mem::take(&mut self.held) {
            match self.leave(id) {
                Some(State::Closing(outcome)) => self.end(id, State::Done(outcome)),
                Some(moved @ (State::Reading(..) | State::Writing(..))) => {
                    self.enter(id, moved);
                    self.held.push(id);
                }
                Some(other) => self.enter(id, other),
                None => {}
            }
        }
        self.held.len() != before
    }

    /// Returns the count of completions; waiters re-check when it changes.
    #[inline(always)]
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// Makes waiters re-check.
    #[inline(always)]
    pub fn count_completion(&mut self) {
        self.completions += 1;
    }

    /// Returns true if a pass has nothing to copy and no rail holds a buffer.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.held.is_empty() && self.copies.is_empty()
    }

    /// Puts a request behind the others with data to be copied here.
    #[inline(always)]
    pub fn copy_later(&mut self, id: RequestId) {
        self.copies.push_back(id);
    }

    /// Returns the number of requests with data to be copied here.
    #[inline(always)]
    pub fn copies(&self) -> usize {
        self.copies.len()
    }

    /// Takes the request whose turn it is to be copied.
    #[inline(always)]
    pub fn next_copy(&mut self) -> Option<RequestId> {
        self.copies.pop_front()
    }

    /// Returns the generation of the next transfer by both ends; it differs from earlier ones with the same
    /// chunk counter.
    pub fn next_share(&mut self) -> Generation {
        self.shares = self.shares.wrapping_add(1);
        Generation(self.shares)
    }
}

#[cfg(test)]
mod tests {
    use canele_mem::buffer;
    use canele_sys::ids::{Rank, Tag};

    use super::*;
    use crate::request::Buffer;

    fn done(buffer: Buffer) -> State {
        State::Done(Outcome { result: Ok(Status { source: Rank(1), tag: Tag(7), bytes: 4 }), buffer })
    }

    #[test]
    fn an_outcome_is_taken_once_and_its_id_finds_nothing_afterwards() {
        let mut requests = Requests::new();
        let [first, second] = [(); 2].map(|()| requests.add(State::Moving));
        assert!(requests.take(first).is_none() && requests.completions() == 0);
        requests.end(first, done(Buffer::None));
        requests.end(second, done(Buffer::None));
        assert!(requests.take(first).is_some() && requests.take(first).is_none());
        assert!(requests.take_status(second).is_some() && requests.take_status(second).is_none());
        requests.enter(first, State::Moving);
        assert!(requests.leave(first).is_none());
        assert_eq!((requests.completions(), requests.len()), (2, 0));
    }

    #[test]
    fn a_request_completes_once_when_no_rail_holds_its_buffer() {
        let mut requests = Requests::new();
        let mut memory = [0; 4];
        buffer::scope(|scope| {
            let id = requests.add(State::Moving);
            let mut lent = scope.lend_mut(&mut memory);
            let held = lent.share(0, 4);
            requests.end(id, done(Buffer::In(lent)));
            for _ in 0..3 {
                assert!(!requests.is_idle() && !requests.close_buffers(), "the rail holds it");
            }
            assert!(requests.take(id).is_none() && requests.completions() == 0);
            drop(held);
            assert!(requests.close_buffers() && requests.is_idle());
            assert_eq!(requests.completions(), 1, "it has completed once");
            let Some(Outcome { buffer: Buffer::In(buffer), .. }) = requests.take(id) else {
                panic!("it has ended")
            };
            scope.take_back_mut(buffer);
        });
    }

    #[test]
    fn copies_take_turns_and_no_two_shares_in_a_row_are_the_same() {
        let mut requests = Requests::new();
        let [first, second] = [(); 2].map(|()| requests.add(State::Moving));
        [first, second, first].into_iter().for_each(|id| requests.copy_later(id));
        assert_eq!(requests.copies(), 3);
        assert_eq!([(); 4].map(|()| requests.next_copy()), [Some(first), Some(second), Some(first), None]);
        assert_ne!(requests.next_share(), requests.next_share());
    }
}
