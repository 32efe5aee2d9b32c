//! Calls of an origin that the network carries out as verbs.
//!
//! An owner carries out the requests of one origin in their order, and a verb bypasses the owner's library.
//! So a call is a verb only while all requests before it are known to be done. Verbs that touch the same
//! bytes follow each other, and a request leaves once the verbs before it have completed. A request that
//! waits for a lock is done later than others behind it. So a verb goes to an exposure only once a flush has
//! confirmed the requests there. A verb that was not carried out becomes a request. It is always answered, as
//! flushes may wait for it already.

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_rail::{FullRail, Rma, Verb, Verbs};
use canele_sys::ids::{LinkId, Rank};

use super::call::{Call, WORD, WordVerb};
use super::origin::RmaOrigin;
use super::route::{MemoryRoute, route};
use super::windows::WindowUse;
use super::{ElementAccess, MemoryAddress, MemoryKey, PutReport, RmaRequest};
use crate::Proto;
use crate::slab::Key;
use crate::verbs::{PostedVerbs, VerbUse};

/// A verb that is under way.
pub(crate) struct PendingVerb {
    call: Key,
    owner: Rank,
    place: MemoryAddress,
    len: u64,
}

/// The result of an attempt to post a call as a verb.
pub(super) enum Post {
    /// The verb is under way.
    Done,
    /// Another verb or request has to complete first.
    Waits,
    /// The call is to be a request.
    Request,
}

/// Returns the verb of a call, and its place and length.
fn verb_of(call: &Call) -> Option<(Verbs, MemoryAddress, u64)> {
    let is_region = |place: MemoryAddress| matches!(place.key, MemoryKey::Region(_));
    let of_word = match call.word_verb {
        Some(WordVerb::Fetch(..)) => Verbs::FETCH_OP,
        Some(WordVerb::CompareSwap(_)) => Verbs::COMPARE_SWAP,
        None => Verbs::empty(),
    };
    match call.rma_request {
        RmaRequest::Put { place, len, report: PutReport::Answer | PutReport::Flush } => {
            Some((Verbs::PUT, place, len))
        }
        RmaRequest::Get { place, len } => Some((Verbs::GET, place, len)),
        RmaRequest::Add { place, .. } | RmaRequest::Swap { place, .. } => {
            is_region(place).then_some((of_word, place, WORD))
        }
        RmaRequest::Access(ElementAccess { place, .. }) => {
            (!of_word.is_empty()).then_some((of_word, place, WORD))
        }
        _ => None,
    }
}

impl RmaOrigin {
    /// Posts a call as a verb, if it can be one.
    pub(super) fn post_verb<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        owner: Rank,
        key: Key,
    ) -> Post {
        let state = self.owners.entry(owner).or_default();
        let request = if state.verbs > 0 { Post::Waits } else { Post::Request };
        if !rail.has_verbs() {
            return request;
        }
        let Some(call) = self.calls.get_mut(key) else { return request };
        let Some((kind, place, len)) = verb_of(call).filter(|_| !call.by_request) else {
            return request;
        };
        let MemoryRoute::Verb(link) = route(rail, owner, kind) else { return request };
        // Packing fine stretches costs less than listing them for a driver.
        let is_fine = call.data.as_ref().is_some_and(OutBuffer::is_fine)
            || call.into.as_ref().is_some_and(InBuffer::is_fine);
        let is_unconfirmed = self.unconfirmed.contains_key(&owner)
            || matches!(place.key, MemoryKey::Exposure(_))
                && self.windows.known(call.window()).is_some_and(WindowUse::needs_flush);
        if is_fine || !state.awaited.is_empty() || is_unconfirmed {
            return request;
        }
        if state.verb_ranges.overlap(place, len) {
            return Post::Waits;
        }
        match self.post_on(&mut proto.verbs, rail, link, PendingVerb { call: key, owner, place, len }) {
            true => Post::Done,
            // The completion of a verb makes room.
            false => request,
        }
    }

    fn post_on<R: Rma>(
        &mut self,
        verbs: &mut PostedVerbs,
        rail: &mut R,
        link: LinkId,
        posted: PendingVerb,
    ) -> bool {
        let PendingVerb { call, owner, place, len } = posted;
        let Some((call, bytes)) = self.calls.get_mut(call).zip(usize::try_from(len).ok()) else {
            return false;
        };
        let verb = match (call.word_verb, call.rma_request, &mut call.data, &mut call.into) {
            (Some(WordVerb::Fetch(op, operand)), ..) => Verb::FetchOp { at: place, op, operand },
            (Some(WordVerb::CompareSwap([expected, desired])), ..) => {
                Verb::CompareSwap { at: place, expected, desired }
            }
            (_, RmaRequest::Put { .. }, Some(data), _) if data.len() == bytes => {
                Verb::Put { data: data.share(0, bytes), to: place }
            }
            (_, RmaRequest::Get { .. }, _, Some(into)) if into.len() == bytes => {
                Verb::Get { from: place, into: into.share(0, bytes) }
            }
            _ => return false,
        };
        if !verbs.post(rail, link, VerbUse::Call(posted), verb) {
            return false;
        }
        call.awaited += 1;
        call.is_submitted = true;
        let state = self.owners.entry(owner).or_default();
        state.verbs += 1;
        state.verb_ranges.insert(place, len);
        true
    }

    /// Takes the verbs that have completed; returns true if there was one.
    pub(super) fn take_completions<R: FullRail>(&mut self, proto: &mut Proto, rail: &mut R) -> bool {
        let mut any = false;
        while let Some((PendingVerb { call: key, owner, place, len }, result)) =
            proto.take_completed_call(rail)
        {
            any = true;
            let state = self.owners.entry(owner).or_default();
            state.verbs -= 1;
            state.verb_ranges.remove(place, len);
            let Some(call) = self.calls.get_mut(key) else { continue };
            call.awaited -= 1;
            match result {
                Ok(value) => call.keep_value(value),
                Err(_) => {
                    (call.by_request, call.is_submitted) = (true, false);
                    call.make_answered();
                    state.queue.push_front(key);
                }
            }
            self.settle(proto, rail, key);
            self.advance_owner(proto, rail, owner);
        }
        any
    }
}
