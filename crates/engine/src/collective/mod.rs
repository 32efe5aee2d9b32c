//! Collectives of an engine: the turns of threads on a flow, and their waits. `canele_collective` defines
//! collectives and carries them out.
//!
//! A blocking call (`call`, `drive`) waits inside; each pass advances those that are only started
//! (`under_way`). Each waiter checks for deaths, because the launcher informs every rank.

mod call;
mod drive;
mod flows;
mod shared_buffers;
mod under_way;

pub use canele_collective::{
    Block, Buffers, CollectiveBuffer, CollectiveSpec, Element, Kernel, Number, Op, Operation, Plan,
    Reduction, Root, Shape, SharedKernel, Team, Uneven,
};
pub use canele_collective::{FIRST_GIVEN_OUT, FIRST_PAIR, WINDOW_PAIRS, first_of};

use canele_collective::{
    Algorithm, Calls, CollectiveCosts, MemberLiveness, Pairs, ScheduleCache, SharedBufferPool,
};
use canele_mem::buffer::Divided;
use canele_sys::ids::{FlowId, Rank, Tag};

use under_way::UnderWay;
pub(crate) use under_way::lane_agreements::LaneAgreements;

/// The state of the collectives of each flow.
#[derive(Default)]
pub(crate) struct Collectives {
    flows: Vec<Slot>,
    /// Threads that wait for another thread's collective on the same flow.
    waiting: usize,
    /// True if ranks share processors; equal on all ranks.
    oversubscribed: bool,
    /// The costs of the members; equal on all ranks.
    costs: CollectiveCosts,
    /// The costs among members of one host, if the job has several; equal on all ranks.
    inside: CollectiveCosts,
    /// The algorithm that is taken whenever it is possible, for measurements; equal on all ranks.
    forced: Option<Algorithm>,
    /// The shared buffers that no call uses.
    shared_buffers: SharedBufferPool,
    /// The non-blocking collectives.
    under_way: UnderWay,
    /// The pairs of flows that are in use.
    pairs: Pairs,
}

#[derive(Default)]
enum Slot {
    #[default]
    Unused,
    Idle(Box<State>),
    /// A thread is inside a collective.
    Busy,
}

/// The state of one flow's collectives.
pub(crate) struct State {
    calls: Calls,
    /// The non-blocking calls, counted apart: their order among the blocking ones does not matter.
    started: Calls,
    /// The number of flows that its members made from this one.
    children: u32,
    /// The schedules of blocking calls, and of non-blocking ones.
    cache: ScheduleCache,
    started_cache: ScheduleCache,
    scratch: Divided,
    /// Receives of the current round whose message has not come: `ScheduleRun::missing`, kept for its memory.
    missing: Vec<u32>,
    liveness: MemberLiveness,
    /// False for a team with ranks of other jobs, which do not know which ranks of this job share processors.
    is_of_one_job: bool,
}

impl State {
    /// Makes the state of a team on a flow, whose first call has this tag.
    fn new(flow: FlowId, team: Option<Team>, first: Tag) -> Self {
        Self {
            calls: Calls::from(first),
            started: Calls::started(),
            children: 0,
            cache: ScheduleCache::default(),
            started_cache: ScheduleCache::default(),
            scratch: Divided::default(),
            missing: Vec::new(),
            liveness: MemberLiveness::new(flow, team),
            is_of_one_job: true,
        }
    }

    /// Returns the members, if they are not all ranks.
    pub fn members(&self) -> Option<&[Rank]> {
        self.liveness.team.as_ref().map(Team::members)
    }

    /// Counts a flow that is made from this one; returns their number.
    pub fn count_child(&mut self) -> u32 {
        self.children = self.children.wrapping_add(1);
        self.children
    }
}

impl Collectives {
    /// Makes an empty state. The arguments are equal on all ranks: `costs` among all members, and `inside`
    /// one host.
    pub fn new(
        oversubscribed: bool,
        (costs, inside): (CollectiveCosts, CollectiveCosts),
        forced: Option<Algorithm>,
    ) -> Self {
        Self { oversubscribed, costs, inside, forced, ..Self::default() }
    }

    /// Returns the costs of members, among all and inside one host.
    #[cfg(test)]
    pub fn costs(&self) -> (CollectiveCosts, CollectiveCosts) {
        (self.costs, self.inside)
    }

    /// Sets the costs of members by the profile of a launcher that came later.
    pub fn set_costs(&mut self, (costs, inside): (CollectiveCosts, CollectiveCosts)) {
        (self.costs, self.inside) = (costs, inside);
    }

    /// Takes the flow's state, unless a thread uses it.
    #[inline]
    fn take(&mut self, flow: FlowId) -> Option<Box<State>> {
        let at = flow.0 as usize;
        if at >= self.flows.len() {
            self.flows.resize_with(at + 1, Slot::default);
        }
        match std::mem::replace(&mut self.flows[at], Slot::Busy) {
            Slot::Idle(state) => Some(state),
            Slot::Unused => Some(Box::new(State::new(flow, None, Tag(0)))),
            Slot::Busy => None,
        }
    }

    /// Returns true if collectives have been called on a flow.
    pub fn is_flow_of_collectives(&self, flow: FlowId) -> bool {
        self.flows.get(flow.0 as usize).is_some_and(|slot| !matches!(slot, Slot::Unused))
    }

    #[inline]
    fn put(&mut self, flow: FlowId, state: Box<State>) {
        self.flows[flow.0 as usize] = Slot::Idle(state);
    }

    /// Forgets a flow whose state was taken.
    fn forget(&mut self, flow: FlowId) {
        self.flows[flow.0 as usize] = Slot::Unused;
    }
}
