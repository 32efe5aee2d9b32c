//! The origin side of RMA: the calls of this rank to owners of memory, any number at the same time.
//!
//! Owns the calls, their sequence numbers, and the order in which their requests leave: that of their
//! submission, for each owner. A long call leaves in as many requests as it takes. The requests and answers
//! of this rank under way at an owner stay bounded; further ones wait here. Never blocks.
//!
//! ```text
//!   submit ──▶ queue of the owner ──▶ requests ──▶ owner   silent calls end here: their memory is free
//!              answers ──▶ memory of the call ──▶ ended    flush: answered; all calls before it have ended
//! ```

use std::collections::{BTreeMap, HashMap, VecDeque};

use canele_rail::FullRail;
use canele_sys::ids::Rank;

use super::awaited::Awaited;
use super::call::{Call, CallEnding, LateAnswer, NewCall, RmaFailure, RmaOutcome};
use super::cutting::Cutting;
use super::pending::PendingSends;
use super::range_set::RangeSet;
use super::windows::Windows;
use super::{ExposureKey, MemoryKey, Refusal, RmaRequest, SEQUENCE_MASK, WindowAction};
use crate::Proto;
use crate::slab::{Key, Slab};

/// The calls of this rank.
#[derive(Default)]
pub struct RmaOrigin {
    pub(super) next_sequence: u32,
    pub(super) last_serial: u64,
    pub(super) calls: Slab<Call>,
    pub(super) owners: BTreeMap<Rank, Owner>,
    pub(super) windows: Windows,
    pub(super) pending: PendingSends,
    /// Calls whose large data is under way.
    pub(super) moving: Vec<Key>,
    /// The first refusal of each owner that a fence without a waiter reported.
    pub(super) refused: HashMap<Rank, (Option<MemoryKey>, Refusal)>,
    /// For owners with verbs, the last call that no answer has confirmed.
    pub(super) unconfirmed: HashMap<Rank, u64>,
    /// The count of completions at the last look for answers.
    pub(super) looked_at: Option<u64>,
}

/// The state of one owner.
#[derive(Default)]
pub(super) struct Owner {
    /// Calls with requests still to be submitted.
    pub queue: VecDeque<Key>,
    pub awaited: Vec<Awaited>,
    pub awaited_bytes: usize,
    /// The number of verbs under way, and the memory that they touch.
    pub verbs: u32,
    pub verb_ranges: RangeSet,
}

impl Owner {
    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty() && self.verbs == 0
    }
}

impl RmaOrigin {
    /// Submits a call; as much of it leaves as can.
    pub fn submit<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, new: NewCall) -> Key {
        let word_verb = if rail.has_verbs() { new.word_verb() } else { None };
        let NewCall { owner, rma_request, elements, element_bytes, data, into, ending, .. } = new;
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
            word_verb,
            data,
            into,
            ending,
            serial,
            is_submitted: false,
            sending: None,
            receiving: None,
            awaited: 0,
            value: 0,
            by_request: false,
            is_silent: !rma_request.is_answered(),
            failure: None,
            has_ended: false,
        };
        let used = self.windows.at(call.window());
        // Calls before a flush that are still to be submitted may need it.
        let needless = matches!(rma_request, RmaRequest::Flush { .. })
            && !used.needs_flush()
            && !used.is_open_before(serial);
        if !is_flush(&rma_request) {
            used.begin(serial);
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

    /// Advances all calls; returns true if anything moved. Call it after each pass.
    pub fn go_on<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        let mut any = self.take_completions(proto, rail);
        if self.looked_at == Some(proto.completions()) {
            return any;
        }
        self.looked_at = Some(proto.completions());
        self.pending.clear(proto);
        any |= self.end_moves(proto, rail);
        let owners: Vec<Rank> = self.owners.keys().copied().collect();
        for owner in owners {
            any |= self.take_answers(proto, rail, owner);
            any |= self.advance_owner(proto, rail, owner);
            if self.owners.get(&owner).is_some_and(Owner::is_idle) {
                self.owners.remove(&owner);
            }
        }
        any
    }

    /// Returns true if a call has ended, or its outcome was taken.
    pub fn has_ended(&self, key: Key) -> bool {
        self.calls.get(key).is_none_or(|call| call.has_ended)
    }

    /// Takes the outcome of a call that has ended.
    pub fn take(&mut self, key: Key) -> Option<RmaOutcome> {
        self.calls.get(key).filter(|call| call.has_ended)?;
        self.calls.remove(key).map(Call::into_outcome)
    }

    /// Leaves a call without memory, for which the caller no longer waits.
    pub fn leave<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R, key: Key, late: LateAnswer) {
        let Some(call) = self.calls.get_mut(key) else { return };
        call.ending = CallEnding::Left(late);
        if call.has_ended {
            self.finish(proto, rail, key);
        }
    }

    /// Takes the first refusal of `owner` that a fence without a waiter reported. Each is reported once.
    pub fn take_refusal(&mut self, owner: Rank) -> Option<(Option<MemoryKey>, Refusal)> {
        self.refused.remove(&owner)
    }

    /// Returns the number of the last call.
    pub fn last_serial(&self) -> u64 {
        self.last_serial
    }

    /// Returns true if a call in an exposure up to this number is under way: the caller may not use its
    /// memory yet.
    pub fn is_open(&self, owner: Rank, window: ExposureKey, up_to: u64) -> bool {
        self.windows.known((owner, Some(window.into()))).is_some_and(|used| used.is_open_before(up_to + 1))
    }

    /// Takes the first failure of the counted calls in an exposure.
    pub fn take_failure(&mut self, owner: Rank, window: ExposureKey) -> Option<RmaFailure> {
        let window = (owner, Some(window.into()));
        self.windows.known(window)?;
        self.windows.at(window).take_failure_before(u64::MAX)
    }

    /// Forgets an exposure of an owner in which nothing is under way.
    pub fn forget_window(&mut self, owner: Rank, window: ExposureKey) {
        self.windows.forget((owner, Some(window.into())));
    }

    /// Returns the number of calls under way, for tests and for the search for memory leaks.
    pub fn under_way(&self) -> usize {
        self.pending.len() + self.calls.iter().filter(|(_, call)| !call.has_ended).count()
    }

    /// Returns a number for an RMA request that the caller sends itself and that is not answered.
    pub fn take_sequence(&mut self) -> u32 {
        let sequence = self.next_sequence;
        self.next_sequence = (sequence + 1) & SEQUENCE_MASK;
        sequence
    }
}

/// Returns true for a request that ends when all calls before it in its exposure have ended.
pub(super) fn is_flush(rma_request: &RmaRequest) -> bool {
    matches!(rma_request, RmaRequest::Flush { .. } | RmaRequest::Window { action: WindowAction::Unlock, .. })
}
