//! Agreements on new flows on lanes, during which no rank waits. Members agree on the lanes that all want and
//! have opened, then on a new flow on each of them.
//!
//! Owns the progress of each. Their conjunctions are collectives under way on the lane of the parent. The
//! step after a conjunction takes the lock of the new flow's lane, and no thread holds the locks of two
//! lanes. So a thread without a lock does it, when it looks after lanes and before it sleeps.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, MutexGuard, PoisonError};

use canele_collective::{
    Agreement, CollectiveRequest, CollectiveSpec, MemberLiveness, Next, Schedule, WINDOW,
};
use canele_proto::request::Buffer;
use canele_proto::slab::Key;
use canele_sys::ids::{FlowId, Tag};
use canele_sys::work_list::WorkList;

use crate::collective::call::CallMode;
use crate::engine::Engine;
use crate::lanes::WantedLane;
use crate::p2p::pending::{Completion, Pending};
use crate::{Error, Status};

/// The agreements of a rank, which its first lane keeps.
#[derive(Default)]
pub(crate) struct LaneAgreements {
    /// The first agreement of each parent.
    running: WorkList<LaneAgreement>,
    /// For each parent, the agreements that begin after the running one: see
    /// [`QueuedAgreements`](super::agreements::QueuedAgreements).
    queued: HashMap<Parent, VecDeque<LaneAgreement>>,
}

/// A flow of collectives on the lane of this number.
type Parent = (u8, FlowId);

impl LaneAgreements {
    /// Adds an agreement, behind those of its parent.
    fn add(&mut self, one: LaneAgreement) {
        match self.queued.entry(one.parent) {
            Entry::Occupied(behind) => behind.into_mut().push_back(one),
            Entry::Vacant(place) => {
                place.insert(VecDeque::new());
                self.running.push(one);
            }
        }
    }

    /// Takes the agreement that follows the last one of a parent that has ended.
    fn take_next(&mut self, parent: Parent) -> Option<LaneAgreement> {
        let next = self.queued.get_mut(&parent).and_then(VecDeque::pop_front);
        if next.is_none() {
            self.queued.remove(&parent);
        }
        next
    }
}

/// An agreement that has not ended.
struct LaneAgreement {
    parent: Parent,
    /// The operation that the caller waits for, on the parent's lane.
    operation: Key,
    /// The common part of all its conjunctions.
    call: ConjunctionCall,
    /// The present conjunction; `None` before it begins.
    conjunction: Option<Pending>,
    /// The lanes that this rank offers in the first conjunction.
    offered: u64,
    /// The lane whose turn it is.
    next_lane: u8,
    /// Lanes that were agreed on and have no flow yet.
    lanes: VecDeque<u8>,
    /// The lane whose flow is being agreed on; `None` while members agree on lanes.
    present: Option<(u8, Agreement)>,
    made: Vec<(u8, FlowId)>,
}

#[derive(Clone)]
struct ConjunctionCall {
    name: (FlowId, Tag),
    schedule: Arc<Schedule>,
    liveness: MemberLiveness,
}

impl Engine {
    /// Starts to agree on flows that are new on all members of the flow of collectives `parent`, which may
    /// have lanes. They lie on the lane that all members want, or on each; on the first if one wants none.
    /// The [`flows`](crate::Completion::flows) of its end are their numbers. It counts as one non-blocking
    /// collective.
    ///
    /// # Errors
    /// Those of [`Engine::start_collective`]. Its end reports that all flows are in use.
    pub fn start_agreement_on_lanes(
        self: &Arc<Self>,
        parent: FlowId,
        wanted: Option<WantedLane>,
    ) -> Result<Pending, Error> {
        let (next_lane, offered) = self.offer_lanes(parent, wanted)?;
        let (mut core, mut state) = self.begin(parent)?;
        let spec = CollectiveSpec::Even(Agreement::shape());
        let schedule = self.schedule(&core, &mut state, &spec, CallMode::NonBlocking);
        let call = schedule.map(|schedule| {
            let name = (parent, state.started.draw());
            ConjunctionCall { name, schedule, liveness: state.liveness.clone() }
        });
        self.give_back(&mut core, parent, state);
        let call = call?;
        let operation = core.collectives.add_under_way();
        drop(core);
        let started = LaneAgreement {
            parent: (self.lane_number(), parent),
            operation,
            call,
            conjunction: None,
            offered,
            next_lane,
            lanes: VecDeque::new(),
            present: None,
            made: Vec::new(),
        };
        // Waits look after lanes even if this rank can open no further one.
        self.first().lanes.expect_several();
        self.lane_agreements().add(started);
        self.advance_lane_agreements();
        Ok(Pending::collective(operation).on_lane(self.lane_number()))
    }

    fn lane_agreements(&self) -> MutexGuard<'_, LaneAgreements> {
        self.first().lanes.agreements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Advances the agreements of this rank whose conjunction has ended; returns true if there was one. The
    /// caller holds the lock of no lane.
    #[cold]
    pub(crate) fn advance_lane_agreements(&self) -> bool {
        let mut any = false;
        loop {
            let Some(mut list) = self.lane_agreements().running.begin() else { return any };
            list.retain_mut(|one| {
                loop {
                    let ended = match self.advance_lane_agreement(one) {
                        Ok(Advance::Waiting) => return true,
                        Ok(Advance::Next) => {
                            any = true;
                            return true;
                        }
                        Ok(Advance::Agreed) => Ok(()),
                        Err(error) => Err(error),
                    };
                    any = true;
                    self.end_lane_agreement(one, ended);
                    match self.lane_agreements().take_next(one.parent) {
                        Some(next) => *one = next,
                        None => return false,
                    }
                }
            });
            if !self.lane_agreements().running.finish(list) {
                return any;
            }
        }
    }

    /// Begins an agreement, or advances it as far as possible.
    fn advance_lane_agreement(&self, one: &mut LaneAgreement) -> Result<Advance, Error> {
        let parent = self.numbered_lane(one.parent.0);
        let mut advance = Advance::Waiting;
        loop {
            let ConjunctionCall { name, schedule, liveness } = one.call.clone();
            let request = match one.conjunction {
                None => {
                    let mut words = [0; WINDOW];
                    words[0] = one.offered;
                    Agreement::conjunction_of(name, schedule, words)
                }
                Some(conjunction) => {
                    let Some(ended) = conjunction.take(&mut *parent.lock()?) else { return Ok(advance) };
                    match self.follow_conjunction(one, ended)? {
                        Some(request) => request,
                        None => return Ok(Advance::Agreed),
                    }
                }
            };
            let conjunction = parent.run_on(parent.lock()?, request, (name.1, "agreement", None), liveness);
            (one.conjunction, advance) = (Some(conjunction), Advance::Next);
        }
    }

    /// Returns the conjunction that follows one that has ended, unless it was the last.
    fn follow_conjunction(
        &self,
        one: &mut LaneAgreement,
        ended: Completion,
    ) -> Result<Option<CollectiveRequest>, Error> {
        ended.result?;
        let words = ended.output.as_ref().map_or(&[][..], |output| output.bytes());
        if let Some((number, agreement)) = &mut one.present {
            let lane = self.numbered_lane(*number);
            let next = agreement.next(lane.lock()?.collectives.pairs(), words)?;
            match next {
                Next::Request(request) => {
                    // No member sends on the new flow before all have taken it.
                    if let Some(flow) = agreement.taken_flows().next() {
                        lane.drop_stale(flow)?;
                    }
                    return Ok(Some(*request));
                }
                Next::Agreed(flow) => one.made.push((*number, flow)),
            }
            one.present = None;
        } else {
            let offered_by_all = words.first_chunk().map_or(1, |word| u64::from_ne_bytes(*word));
            one.lanes = self.agreed_lanes(one.next_lane, offered_by_all).into();
        }
        let Some(number) = one.lanes.pop_front() else { return Ok(None) };
        let (name, schedule) = (one.call.name, one.call.schedule.clone());
        let mut core = self.numbered_lane(number).lock()?;
        let (agreement, request) = Agreement::begin(name, schedule, false, core.collectives.pairs())?;
        one.present = Some((number, agreement));
        Ok(Some(request))
    }

    /// Ends the operation that the caller waits for. Flows for which no caller waits are given back.
    fn end_lane_agreement(&self, one: &mut LaneAgreement, result: Result<(), Error>) {
        let parent = self.numbered_lane(one.parent.0);
        let made = std::mem::take(&mut one.made);
        let completion = match result {
            Ok(()) => {
                Completion::of_flows(&made, Status { source: self.rank(), tag: one.call.name.1, bytes: 0 })
            }
            Err(error) => Completion { result: Err(error), buffer: Buffer::None, output: None },
        };
        let has_failed = completion.result.is_err();
        let is_awaited = parent.lock().is_ok_and(|mut core| {
            let is_awaited = core.collectives.end(one.operation, completion);
            core.lane.waiters.wake_all();
            parent.wake_progress_owner(&core);
            is_awaited
        });
        if let Some((number, agreement)) = &mut one.present
            && let Ok(mut core) = self.numbered_lane(*number).lock()
        {
            agreement.give_up(core.collectives.pairs());
        }
        if has_failed || !is_awaited {
            // In a forked child no flow is left to be given back.
            made.iter().for_each(|(lane, flow)| drop(self.numbered_lane(*lane).give_pair_back(flow.0 / 2)));
        }
    }
}

/// The progress of an agreement.
enum Advance {
    /// The conjunction has not ended.
    Waiting,
    /// The next conjunction is under way.
    Next,
    /// All flows are agreed on.
    Agreed,
}
