//! The verbs that this rank has posted, each with its use.
//!
//! Owns the meaning of the token of a verb. A verb moves a large message between regions, or is the call of
//! an [`RmaOrigin`].
//!
//! [`RmaOrigin`]: crate::rma::RmaOrigin

use std::collections::VecDeque;

use canele_rail::{FullRail, Rma, Verb, VerbCompletion, VerbError};
use canele_sys::ids::{LinkId, RequestId};

use crate::Proto;
use crate::request::State;
use crate::rma::PendingVerb;
use crate::slab::{Key, Slab};

/// The use of a verb.
pub(crate) enum VerbUse {
    /// The verb moves the message of this request.
    Message(RequestId),
    /// The verb is a call to the owner of memory.
    Call(PendingVerb),
}

/// The verbs under way, and the completed verbs of calls.
#[derive(Default)]
pub(crate) struct PostedVerbs {
    posted: Slab<VerbUse>,
    /// Completed verbs of calls that their origin has not taken.
    completed_calls: VecDeque<(PendingVerb, Result<u64, VerbError>)>,
}

impl PostedVerbs {
    /// Posts a verb. Returns false if the link has no room for it now, or is not open.
    pub fn post<R: Rma>(&mut self, rail: &mut R, link: LinkId, verb_use: VerbUse, verb: Verb) -> bool {
        let key = self.posted.insert(verb_use);
        let is_posted = rail.post_verb(link, to_token(key), verb).is_ok();
        if !is_posted {
            self.posted.remove(key);
        }
        is_posted
    }

    /// Returns the number of verbs under way, and of calls whose completion was not taken.
    pub fn len(&self) -> usize {
        self.posted.len() + self.completed_calls.len()
    }

    /// Takes the next completion of a verb that was posted here.
    fn take_completion<R: Rma>(&mut self, rail: &mut R) -> Option<(VerbUse, Result<u64, VerbError>)> {
        while !self.posted.is_empty() {
            let VerbCompletion { token, result, .. } = rail.take_completion()?;
            if let Some(verb_use) = self.posted.remove(from_token(token)) {
                return Some((verb_use, result));
            }
        }
        None
    }
}

impl Proto {
    /// Advances the messages whose verbs have completed, and keeps the results of calls; returns true if a
    /// verb had completed.
    pub(crate) fn handle_completed_verbs<R: FullRail>(&mut self, rail: &mut R) -> bool {
        let mut any = false;
        while let Some((verb_use, result)) = self.verbs.take_completion(rail) {
            any = true;
            match verb_use {
                VerbUse::Call(call) => self.verbs.completed_calls.push_back((call, result)),
                VerbUse::Message(id) => self.handle_moved(id, result.is_ok()),
            }
        }
        any
    }

    /// Takes the next call whose verb has completed, with its result.
    pub(crate) fn take_completed_call<R: FullRail>(
        &mut self,
        rail: &mut R,
    ) -> Option<(PendingVerb, Result<u64, VerbError>)> {
        if self.verbs.completed_calls.is_empty() {
            self.handle_completed_verbs(rail);
        }
        self.verbs.completed_calls.pop_front()
    }

    /// Handles the end of the verb of a request, with success or not. The request may have failed meanwhile.
    fn handle_moved(&mut self, id: RequestId, is_moved: bool) {
        if !matches!(self.requests.get(id), Some(State::Reading(..) | State::Writing(..))) {
            return;
        }
        match is_moved {
            true => {
                self.traffic.copies += 1;
                self.copied(id);
            }
            false => self.send_in_pieces(id),
        }
    }
}

fn to_token(key: Key) -> u64 {
    u64::from(key.index) | u64::from(key.generation) << 32
}

fn from_token(token: u64) -> Key {
    Key { index: token as u32, generation: (token >> 32) as u32 }
}
