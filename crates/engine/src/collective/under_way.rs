//! Non-blocking collectives: each pass of any thread advances them.
//!
//! Owns the requests of the collectives under way, and their results until these are taken; never waits.

use canele_collective::{
    Agreement, Buffers, CollectiveBuffer, CollectiveProgress, CollectiveRequest, CollectiveSpec,
    MemberLiveness, Next, Pairs, Plan, Reduction,
};
use canele_proto::request::Buffer;
use canele_proto::slab::{Key, Slab};
use canele_sys::ids::{FlowId, Tag};
use canele_trace::Span;

mod agreements;
pub(crate) mod lane_agreements;

use agreements::QueuedAgreements;

use super::Collectives;
use super::call::CallMode;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::p2p::pending::{Completion, Pending};
use crate::{Error, Failure, Status};

/// The non-blocking collectives.
#[derive(Default)]
pub(crate) struct UnderWay {
    /// The collectives that have not ended, in the order of their starts.
    running: Vec<(Key, Running)>,
    /// The result of each, once it has ended.
    all: Slab<Option<Completion>>,
    queued: QueuedAgreements,
}

/// A collective that has not ended.
struct Running {
    request: CollectiveRequest,
    liveness: MemberLiveness,
    tag: Tag,
    /// The name of its operation.
    operation: &'static str,
    /// The agreement that makes further requests, if there is more than one.
    agreement: Option<Agreement>,
    /// True once the present request has been advanced.
    has_begun: bool,
    /// True once it was given up and waits for its memory.
    is_over: bool,
    /// Records its end in a trace when it is dropped.
    #[expect(dead_code, reason = "it is kept for its end")]
    span: Option<Span>,
}

impl Engine {
    /// Starts a collective in memory that lasts until its end; [`Engine::test`] and [`Engine::wait`] complete
    /// it. Several may be under way on a flow. All members start their non-blocking collectives in the same
    /// order; blocking ones between them do not matter.
    ///
    /// # Errors
    /// A root or neighbour does not exist; lists of the wrong length; the job is over. Later failures are
    /// reported at its end.
    pub fn start_collective<'f>(
        &self,
        flow: FlowId,
        spec: impl Into<CollectiveSpec<'f>>,
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Result<Pending, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let spec = spec.into();
        let schedule = self.schedule(&core, &mut state, &spec, CallMode::NonBlocking);
        let (tag, liveness) = match schedule {
            Ok(_) => (state.started.draw(), state.liveness.clone()),
            Err(_) => (Tag(0), MemberLiveness::default()),
        };
        self.give_back(&mut core, flow, state);
        let request = CollectiveRequest::of(schedule?, (flow, tag), reduction, buffers);
        let span = core.trace_started((flow, tag), (spec.operation(), spec.bytes()));
        Ok(self.run_on(core, request, (tag, spec.operation(), span), liveness))
    }

    /// Starts a plan that [`Engine::plan`] made on the same flow, and whose last start has ended.
    ///
    /// # Errors
    /// The job is over. Later failures are reported at its end.
    pub fn start_plan(
        &self,
        flow: FlowId,
        plan: &Plan,
        reduction: Option<Reduction>,
        buffers: impl FnOnce() -> Buffers,
    ) -> Result<Pending, Error> {
        let (mut core, state) = self.begin(flow)?;
        let liveness = state.liveness.clone();
        self.give_back(&mut core, flow, state);
        let request = CollectiveRequest::of(plan.schedule.clone(), (flow, plan.tag), reduction, buffers());
        let span = core.trace_started((flow, plan.tag), (plan.operation, plan.bytes));
        Ok(self.run_on(core, request, (plan.tag, plan.operation, span), liveness))
    }

    /// Lets each pass advance a request until its end.
    fn run_on(
        &self,
        mut core: Locked<'_>,
        request: CollectiveRequest,
        (tag, operation, span): (Tag, &'static str, Option<Span>),
        liveness: MemberLiveness,
    ) -> Pending {
        self.wake_progress_owner(&core);
        let Core { lane, membership, collectives, .. } = &mut *core;
        let running = Running { span, ..Running::new(request, liveness, (tag, operation), None) };
        Pending::collective(collectives.start(lane, &membership.splits, running)).on_lane(self.lane_number())
    }
}

impl Running {
    /// Makes a collective that is still to begin.
    fn new(
        request: CollectiveRequest,
        liveness: MemberLiveness,
        (tag, operation): (Tag, &'static str),
        agreement: Option<Agreement>,
    ) -> Self {
        Self { request, liveness, tag, operation, agreement, has_begun: false, is_over: false, span: None }
    }

    /// Advances it as far as possible; returns its result, once it has ended.
    fn advance(&mut self, lane: &mut Lane, pairs: &mut Pairs, splits: &[Failure]) -> Option<Completion> {
        let result = loop {
            match self.advance_request(lane, splits) {
                Ok(CollectiveProgress::Waiting) => return None,
                Ok(CollectiveProgress::Done) => {}
                Err(error) => break Err(error.into()),
            }
            let Some(agreement) = &mut self.agreement else { break Ok(None) };
            match agreement.next(pairs, self.request.output()) {
                Ok(Next::Request(request)) => {
                    (self.request, self.has_begun) = (*request, false);
                    // No member sends on the new flow before all have taken it: see `Engine::drop_stale`.
                    for flow in agreement.taken_flows() {
                        lane.proto.drop_unexpected(flow);
                    }
                }
                Ok(Next::Agreed(flow)) => break Ok(Some(flow)),
                Err(error) => break Err(Error::from(error)),
            }
        };
        if let (Err(_), Some(agreement)) = (&result, &mut self.agreement) {
            agreement.give_up(pairs);
        }
        let status = Status { source: lane.proto.me(), tag: self.tag, bytes: 0 };
        if let Ok(Some(flow)) = result {
            return Some(Completion::of_flows(&[(lane.number, flow)], status));
        }
        let output = match self.request.take_buffers().output {
            CollectiveBuffer::Own(own) => Some(own),
            _ => None,
        };
        Some(Completion { result: result.map(|_| status), buffer: Buffer::None, output })
    }

    fn advance_request(
        &mut self,
        lane: &mut Lane,
        splits: &[Failure],
    ) -> Result<CollectiveProgress, canele_collective::Error> {
        // A collective whose messages have all come succeeds even if a member has died since. It does not
        // begin after a death.
        if std::mem::replace(&mut self.has_begun, true) {
            match self.request.advance(&mut lane.proto, &mut lane.rails) {
                Ok(CollectiveProgress::Waiting) => {}
                // A death may be the cause for which other members have failed or left.
                ended => return ended.map_err(|error| self.why_over(lane, splits).unwrap_or(error)),
            }
        }
        if let Err(error) = self.liveness.check(&lane.proto, splits)
            && !std::mem::replace(&mut self.is_over, true)
        {
            self.request.give_up(&mut lane.proto, error.into())?;
        }
        self.request.advance(&mut lane.proto, &mut lane.rails)
    }

    /// Returns the death or revocation that stops it, unless that was reported before.
    fn why_over(&mut self, lane: &Lane, splits: &[Failure]) -> Option<canele_collective::Error> {
        let failure = self.liveness.check(&lane.proto, splits).err().filter(|_| !self.is_over)?;
        Some(failure.into())
    }
}

/// Notes the result of a collective. The flow of an agreement that was abandoned is given back.
fn note_end(all: &mut Slab<Option<Completion>>, pairs: &mut Pairs, key: Key, completion: Completion) {
    match all.get_mut(key) {
        Some(place) => *place = Some(completion),
        None => completion.flows().into_iter().for_each(|(_, flow)| pairs.free(flow.0 / 2)),
    }
}

impl Collectives {
    /// Lets an agreement end without a waiter: its flow is given back. Returns its result, if it has ended.
    pub fn abandon_agreement(&mut self, key: Key) -> Option<Completion> {
        self.under_way.all.remove(key)?
    }

    /// Returns true if there is a collective for [`Collectives::advance`].
    #[inline(always)]
    pub fn has_any_under_way(&self) -> bool {
        !self.under_way.running.is_empty()
    }

    /// Starts a collective: each pass advances it until its end.
    fn start(&mut self, lane: &mut Lane, splits: &[Failure], mut running: Running) -> Key {
        let completion = running.advance(lane, &mut self.pairs, splits);
        let goes_on = completion.is_none();
        let key = self.under_way.all.insert(completion);
        if goes_on {
            self.under_way.running.push((key, running));
        }
        key
    }

    /// Adds an operation that ends elsewhere: see [`Collectives::end`].
    pub fn add_under_way(&mut self) -> Key {
        self.under_way.all.insert(None)
    }

    /// Ends an operation that was added; returns false if it was given up.
    pub fn end(&mut self, key: Key, completion: Completion) -> bool {
        let place = self.under_way.all.get_mut(key);
        place.map(|place| *place = Some(completion)).is_some()
    }

    /// Returns a collective under way, and the name of its operation.
    pub fn under_way(&self, key: Key) -> Option<(&CollectiveRequest, &'static str)> {
        let (_, running) = self.under_way.running.iter().find(|(other, _)| *other == key)?;
        Some((&running.request, running.operation))
    }

    /// Returns the pairs of flows that are in use.
    pub fn pairs(&mut self) -> &mut Pairs {
        &mut self.pairs
    }

    /// Advances all collectives under way; returns true if one has ended.
    #[cold]
    #[inline(never)]
    pub fn advance(&mut self, lane: &mut Lane, splits: &[Failure]) -> bool {
        let Self { under_way: UnderWay { running, all, queued }, pairs, .. } = self;
        let mut any_ended = false;
        running.retain_mut(|(key, one)| {
            let Some(completion) = one.advance(lane, pairs, splits) else { return true };
            any_ended = true;
            note_end(all, pairs, *key, completion);
            let parent = one.agreement.is_some().then_some(one.request.name().0);
            let next = parent.and_then(|parent| queued.begin_next(parent, all, lane, pairs, splits));
            let Some(next) = next else { return false };
            (*key, *one) = next;
            true
        });
        if any_ended {
            // A thread may wait for a collective that has ended.
            lane.waiters.wake_all_after_pass();
        }
        any_ended
    }

    /// Returns true if a collective has ended, its result taken or not.
    pub fn has_ended(&self, key: Key) -> bool {
        !matches!(self.under_way.all.get(key), Some(None))
    }

    /// Takes the result of a collective; returns `None` while it is under way.
    pub fn take_ended(&mut self, key: Key) -> Option<Completion> {
        let all = &mut self.under_way.all;
        all.get(key)?.as_ref()?;
        all.remove(key)?
    }
}

#[cfg(test)]
mod tests {
    use canele_collective::{Operation, Shape};
    use canele_proto::peer::PeerEnd;
    use canele_sys::ids::Rank;

    use super::*;
    use crate::fixture::two_on_one_host;

    const FLOW: FlowId = FlowId(1);

    /// One rank's collectives.
    struct Member {
        lane: Lane,
        collectives: Collectives,
    }

    impl Member {
        fn two() -> [Self; 2] {
            two_on_one_host()
                .map(|lane| Self { lane, collectives: Collectives::new(false, Default::default(), None) })
        }

        fn start_barrier(&mut self, call: u32) -> Key {
            let shape = Shape::new(Operation::Barrier, 0);
            let buffers = Buffers::default();
            let request = CollectiveRequest::new(&self.lane.proto, (FLOW, call), None, shape, None, buffers);
            let request = request.expect("a barrier of all ranks");
            let liveness = MemberLiveness::default();
            let running = Running::new(request, liveness, (Tag(call), "barrier"), None);
            self.collectives.start(&mut self.lane, &[], running)
        }

        fn pass(&mut self) {
            self.lane.proto.pass(&mut self.lane.rails);
            self.collectives.advance(&mut self.lane, &[]);
        }
    }

    #[test]
    fn collectives_under_way_end_when_all_members_have_started_them() {
        let [mut a, mut b] = Member::two();
        let [first, second] = [0, 1].map(|call| a.start_barrier(call));
        a.pass();
        assert!(a.collectives.has_any_under_way());
        assert!(a.collectives.take_ended(first).is_none());
        let theirs = [0, 1].map(|call| b.start_barrier(call));
        while a.collectives.has_any_under_way() || b.collectives.has_any_under_way() {
            a.pass();
            b.pass();
        }
        for key in [first, second] {
            assert!(a.collectives.take_ended(key).expect("it has ended").result.is_ok());
            assert!(a.collectives.take_ended(key).is_none(), "an end is taken once");
        }
        assert!(theirs.into_iter().all(|key| b.collectives.take_ended(key).is_some()));
    }

    #[test]
    fn a_collective_whose_messages_have_come_ends_well_after_a_death_but_none_begins() {
        let [mut a, mut b] = Member::two();
        let key = a.start_barrier(0);
        for call in [0, 1] {
            b.start_barrier(call);
        }
        a.lane.proto.pass(&mut a.lane.rails);
        a.lane.proto.handle_gone(Rank(1), PeerEnd::Failed);
        a.collectives.advance(&mut a.lane, &[]);
        assert!(a.collectives.take_ended(key).expect("it has ended").result.is_ok());
        let next = a.start_barrier(1);
        while a.collectives.has_any_under_way() {
            a.pass();
        }
        let ended = a.collectives.take_ended(next).expect("it has ended");
        assert!(
            ended.result.is_err(),
            "the message of the second one has come, too, but the death came before its call"
        );
    }

    #[test]
    fn a_death_ends_a_collective_under_way() {
        let [mut a, _b] = Member::two();
        let key = a.start_barrier(0);
        a.lane.proto.handle_gone(Rank(1), PeerEnd::Failed);
        while a.collectives.has_any_under_way() {
            a.pass();
        }
        let result = a.collectives.take_ended(key).expect("it has ended").result;
        assert!(matches!(result, Err(Error::Failed(Failure::PeerFailed(Rank(1))))), "{result:?}");
    }

    #[test]
    fn the_state_of_a_flow_is_taken_by_one_thread_at_a_time() {
        let mut collectives = Collectives::new(false, Default::default(), None);
        let state = collectives.take(FLOW).expect("no thread has it");
        assert!(collectives.take(FLOW).is_none());
        assert!(collectives.take(FlowId(3)).is_some(), "another flow has its own");
        collectives.put(FLOW, state);
        assert!(collectives.take(FLOW).is_some());
    }
}
