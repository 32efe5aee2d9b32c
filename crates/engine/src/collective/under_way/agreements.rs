//! Agreements on new flows that are under way: those of one flow follow each other.
//!
//! Owns those that have not begun. If all began at once, all would propose one pair of flows, all but one
//! would propose again, and each pass would visit all. Members start the agreements of a flow in one order.
//! So no agreement waits for one that another member has behind it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use canele_collective::{Agreement, CollectiveSpec, MemberLiveness, Pairs, Schedule};
use canele_proto::request::Buffer;
use canele_proto::slab::{Key, Slab};
use canele_sys::ids::{FlowId, Tag};

use super::{Running, UnderWay, note_end};
use crate::collective::Collectives;
use crate::collective::call::CallMode;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::Lane;
use crate::p2p::pending::{Completion, Pending, PendingKind};
use crate::{Error, Failure};

/// For each flow with a running agreement, the agreements that begin after it, in the order of their starts.
#[derive(Default)]
pub(super) struct QueuedAgreements(HashMap<FlowId, VecDeque<(Key, QueuedAgreement)>>);

/// An agreement that begins when the one before it on the same flow has ended.
struct QueuedAgreement {
    name: (FlowId, Tag),
    schedule: Arc<Schedule>,
    is_between: bool,
    liveness: MemberLiveness,
}

impl QueuedAgreement {
    fn begin(self, pairs: &Pairs) -> Result<Running, Error> {
        let Self { name, schedule, is_between, liveness } = self;
        let (agreement, request) = Agreement::begin(name, schedule, is_between, pairs)?;
        let (tag, operation) = (agreement.tag(), "agreement");
        Ok(Running::new(request, liveness, (tag, operation), Some(agreement)))
    }
}

impl Engine {
    /// Starts to agree on a flow that is new on all members of the flow of collectives `parent`, as
    /// [`Engine::create_flow`] does. The [`flows`](crate::Completion::flows) of its end are this number
    /// alone. It counts as one non-blocking collective.
    ///
    /// # Errors
    /// Those of [`Engine::start_collective`]. Its end reports that all flows are in use.
    pub fn start_agreement(&self, parent: FlowId) -> Result<Pending, Error> {
        let (mut core, mut state) = self.begin(parent)?;
        let schedule = self.schedule(
            &core,
            &mut state,
            &CollectiveSpec::Even(Agreement::shape()),
            CallMode::NonBlocking,
        );
        let queued = schedule.map(|schedule| {
            let name = (parent, state.started.draw());
            let (is_between, liveness) = (state.liveness.is_between(), state.liveness.clone());
            QueuedAgreement { name, schedule, is_between, liveness }
        });
        self.give_back(&mut core, parent, state);
        let queued = queued?;
        self.wake_progress_owner(&core);
        let Core { lane, membership, collectives, .. } = &mut *core;
        let agreement = collectives.start_agreement(lane, &membership.splits, parent, queued);
        Ok(Pending::collective(agreement).on_lane(self.lane_number()))
    }

    /// Gives up an agreement whose end was not taken. It goes on, because the other members take part, and
    /// its flows are given back.
    ///
    /// # Errors
    /// `Forked`.
    pub fn abandon_agreement(&self, agreement: Pending) -> Result<(), Error> {
        let PendingKind::Collective(key) = agreement.kind else { return Ok(()) };
        let ended = self.lane_of(agreement).lock()?.collectives.abandon_agreement(key);
        let flows = ended.map_or_else(Vec::new, |ended| ended.flows());
        flows.into_iter().try_for_each(|(lane, flow)| self.numbered_lane(lane).give_pair_back(flow.0 / 2))
    }
}

impl Collectives {
    /// Starts an agreement on the flow `parent`, behind those that are under way there.
    fn start_agreement(
        &mut self,
        lane: &mut Lane,
        splits: &[Failure],
        parent: FlowId,
        agreement: QueuedAgreement,
    ) -> Key {
        let Self { under_way: UnderWay { running, all, queued }, pairs, .. } = self;
        let key = all.insert(None);
        match queued.0.entry(parent) {
            Entry::Occupied(behind) => behind.into_mut().push_back((key, agreement)),
            Entry::Vacant(place) => {
                place.insert(VecDeque::from([(key, agreement)]));
                running.extend(queued.begin_next(parent, all, lane, pairs, splits));
            }
        }
        key
    }
}

impl QueuedAgreements {
    /// Begins the first queued agreement of a flow that does not end at once; earlier ones have ended then.
    /// Forgets the flow if there is none.
    pub(super) fn begin_next(
        &mut self,
        parent: FlowId,
        all: &mut Slab<Option<Completion>>,
        lane: &mut Lane,
        pairs: &mut Pairs,
        splits: &[Failure],
    ) -> Option<(Key, Running)> {
        while let Some((key, next)) = self.0.get_mut(&parent).and_then(VecDeque::pop_front) {
            let completion = match next.begin(pairs) {
                Ok(mut running) => match running.advance(lane, pairs, splits) {
                    None => return Some((key, running)),
                    Some(completion) => completion,
                },
                Err(error) => Completion { result: Err(error), buffer: Buffer::None, output: None },
            };
            note_end(all, pairs, key, completion);
        }
        self.0.remove(&parent);
        None
    }
}

#[cfg(test)]
mod tests {
    use canele_collective::{CollectiveCosts, Seat};

    use super::*;
    use crate::fixture::two_on_one_host;

    const PARENT: FlowId = FlowId(1);

    /// One rank's collectives.
    struct Member {
        lane: Lane,
        collectives: Collectives,
        schedule: Arc<Schedule>,
    }

    impl Member {
        fn two() -> [Self; 2] {
            let mut me = 0;
            two_on_one_host().map(|lane| {
                let seat = Seat {
                    me,
                    ranks: 2,
                    local: 2,
                    oversubscribed: false,
                    shared_buffers: false,
                    costs: CollectiveCosts::default(),
                    levels: None,
                    forced: None,
                };
                me += 1;
                let schedule = Schedule::make(seat, (None, None), &CollectiveSpec::Even(Agreement::shape()));
                let schedule = Arc::new(schedule.expect("a schedule of two ranks"));
                Self { lane, collectives: Collectives::new(false, Default::default(), None), schedule }
            })
        }

        fn start(&mut self, call: u32) -> Key {
            let (name, schedule) = ((PARENT, Tag(call)), self.schedule.clone());
            let queued =
                QueuedAgreement { name, schedule, is_between: false, liveness: MemberLiveness::default() };
            self.collectives.start_agreement(&mut self.lane, &[], PARENT, queued)
        }

        fn pass(&mut self) {
            self.lane.proto.pass(&mut self.lane.rails);
            self.collectives.advance(&mut self.lane, &[]);
            assert!(self.collectives.under_way.running.len() <= 1, "one at a time");
        }
    }

    #[test]
    fn agreements_of_one_flow_follow_each_other_and_each_ends_with_a_flow_of_its_own() {
        const ALL: u32 = 600;
        let [mut a, mut b] = Member::two();
        let keys: Vec<[Key; 2]> = (0..ALL).map(|call| [a.start(call), b.start(call)]).collect();
        while a.collectives.has_any_under_way() || b.collectives.has_any_under_way() {
            a.pass();
            b.pass();
        }
        let flow = |member: &mut Member, key| {
            let ended = member.collectives.take_ended(key).expect("it has ended").flows();
            ended.first().expect("it was agreed on").1
        };
        let mut flows: Vec<FlowId> = Vec::new();
        for [one, other] in keys {
            let agreed = flow(&mut a, one);
            assert_eq!(agreed, flow(&mut b, other));
            flows.push(agreed);
        }
        flows.sort_unstable();
        flows.dedup();
        assert_eq!(flows.len(), ALL as usize);
        assert!(a.collectives.under_way.queued.0.is_empty());
    }

    #[test]
    fn the_flow_of_an_abandoned_agreement_is_given_back() {
        let [mut a, mut b] = Member::two();
        let free = a.collectives.pairs.window(0).expect("a window");
        let keys: Vec<[Key; 2]> = (0..4).map(|call| [a.start(call), b.start(call)]).collect();
        let abandon = |member: &mut Member, key| {
            let ended = member.collectives.abandon_agreement(key);
            let flows = ended.map_or_else(Vec::new, |ended| ended.flows());
            flows.into_iter().for_each(|(_, flow)| member.collectives.pairs.free(flow.0 / 2));
        };
        // One that is running, one that is queued.
        abandon(&mut a, keys[0][0]);
        abandon(&mut a, keys[2][0]);
        while a.collectives.has_any_under_way() || b.collectives.has_any_under_way() {
            a.pass();
            b.pass();
        }
        // One that has ended, and one whose end was taken and that has no flow to give back.
        abandon(&mut a, keys[1][0]);
        let (_, flow) = a.collectives.take_ended(keys[3][0]).expect("it has ended").flows()[0];
        abandon(&mut a, keys[3][0]);
        assert_ne!(a.collectives.pairs.window(0).expect("a window"), free);
        a.collectives.pairs.free(flow.0 / 2);
        assert_eq!(a.collectives.pairs.window(0).expect("a window"), free);
    }
}
