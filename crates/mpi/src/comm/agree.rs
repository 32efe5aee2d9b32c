//! What members of a communicator find out from each other before a new one exists.
//!
//! Between two groups all members take part in one order that both sides count alike: the group whose first member
//! has the lower name comes first. Messages go over the flow of collectives, with tags that those never use.

use std::sync::Arc;

use canele_engine::collective::{Operation, Shape, Team};
use canele_engine::{Engine, FlowId, JobRank, Mode, Rank, Tag, Want, WantedLane};
use canele_mem::buffer::Owned;
use canele_sys::atomic::Ordering;

use super::Comm;
use super::spread::LaneFlow;
use crate::Result;
use crate::group::Group;

/// Tags for calls that some members of one group make, which the program tells apart by a tag: its 30 bits follow.
const SOME_MEMBERS: u32 = 0x8000_0000;
/// Tags between two leaders that can reach each other here, as above.
const LEADERS: u32 = 0xc000_0000;
/// Tags of what is exchanged between two groups, where the tags of [`SOME_MEMBERS`] are not used.
const NUMBERS: Tag = Tag(SOME_MEMBERS | 1);
const FLOW: Tag = Tag(SOME_MEMBERS | 2);

/// The library's tag for some members, from a tag of the program: no two of them have the same.
pub(super) fn some_members(tag: u32) -> Tag {
    Tag(SOME_MEMBERS | tag & !LEADERS)
}

/// The library's tag for two leaders, from a tag of the program: no two of them have the same.
pub(super) fn leaders(tag: u32) -> Tag {
    Tag(LEADERS | tag & !LEADERS)
}

/// A pair of flows for a communicator that is being made.
pub(crate) struct NewFlow {
    /// The flow of its messages.
    pub first: LaneFlow,
    /// Where its tags are spread, further flows of messages on other lanes.
    pub further: Vec<LaneFlow>,
    /// What all members know already of [`Comm::uses_lanes`].
    pub uses_lanes: Option<bool>,
}

impl NewFlow {
    /// One of which nothing is known that its members have not still to agree on.
    pub fn on(lane: &Arc<Engine>, flow: FlowId) -> Self {
        Self { first: LaneFlow { lane: lane.clone(), flow }, further: Vec::new(), uses_lanes: None }
    }

    /// The same, where all members know of its lanes what those of `comm` know.
    fn of(comm: &Comm, lane: &Arc<Engine>, flow: FlowId) -> Self {
        Self { uses_lanes: comm.uses_lanes.get().copied(), ..Self::on(lane, flow) }
    }

    /// Gives it back.
    ///
    /// # Errors
    /// The job is over.
    pub fn free(self) -> Result<()> {
        let all = std::iter::once(self.first).chain(self.further);
        Ok(all.map(|flow| flow.lane.free_flow(flow.flow)).fold(Ok(()), Result::and)?)
    }
}

impl Comm {
    /// The flow of its collectives.
    pub(crate) fn collectives(&self) -> FlowId {
        FlowId(self.flow.0 + 1)
    }

    /// All members, of both groups if there are two, in an order that is the same for all.
    pub(crate) fn all_members(&self) -> Group {
        match self.remote_if() {
            Some(remote) => both(&self.engine, self.group(), remote),
            None => (**self.group()).clone(),
        }
    }

    /// The numbers of all members in the order of [`Comm::all_members`], as many from each.
    pub(crate) fn numbers_of_all(&self, mine: &[i64]) -> Result<Vec<i64>> {
        let all_members = self.all_members();
        let mut all = vec![0; mine.len() * all_members.size()];
        let shape = Shape::new(Operation::Allgather, size_of_val(mine));
        let (input, output) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(&mut all));
        if self.is_inter() {
            let team = team_of(&all_members, self.engine.rank());
            self.engine.collective_among(&team, (self.collectives(), NUMBERS), shape, None, input, output)?;
        } else {
            self.engine.collective(self.collectives(), shape, None, input, output)?;
        }
        Ok(all)
    }

    /// A pair of flows that is new for all members, who all call this: on the lane of this communicator.
    pub(crate) fn new_flow(&self) -> Result<NewFlow> {
        let lane = &self.engine;
        let flow = if !self.is_inter() {
            lane.create_flow(self.collectives())?
        } else {
            let team = team_of(&self.all_members(), lane.rank());
            lane.agree_among(&team, (self.collectives(), FLOW))?
        };
        Ok(NewFlow::of(self, lane, flow))
    }

    /// Whether communicators that all members make of this one lie on lanes: all of them have asked for threads. They ask each other once.
    fn uses_lanes(&self) -> Result<bool> {
        if let Some(known) = self.uses_lanes.get() {
            return Ok(*known);
        }
        // Relaxed: set before this communicator was made, or it is too late for it.
        let wants = self.shared.has_threads.load(Ordering::Relaxed);
        let use_them = self.engine.all_want_lanes(self.collectives(), wants)?;
        Ok(*self.uses_lanes.get_or_init(|| use_them))
    }

    /// As [`Comm::new_flow`], on the lanes of its members that are wanted, if all of them have asked for threads.
    pub(crate) fn new_flow_on_lanes(&self, wanted: WantedLane) -> Result<NewFlow> {
        if self.is_inter() || !self.uses_lanes()? {
            return self.new_flow();
        }
        let made = self.engine.create_flows_on_lanes(self.collectives(), wanted)?;
        let mut flows = made.into_iter().map(|(lane, flow)| LaneFlow { lane, flow });
        let first = flows.next().expect("there is a flow on one lane at least");
        Ok(NewFlow { first, further: flows.collect(), uses_lanes: Some(true) })
    }

    /// Gives another rank bytes and gets its own, which may have another length.
    pub(super) fn swap(&self, with: Rank, tag: Tag, mine: Vec<u8>) -> Result<Vec<u8>> {
        swap(&self.engine, self.collectives(), with, tag, mine)
    }
}

/// Gives another rank bytes and gets its own, which may have another length.
pub(crate) fn swap(engine: &Engine, flow: FlowId, with: Rank, tag: Tag, mine: Vec<u8>) -> Result<Vec<u8>> {
    let mut mine = Owned::new(mine);
    let pending = match engine.isend(with, flow, tag, Mode::Standard, mine.lend_out()) {
        Ok(pending) => pending,
        Err(refused) => {
            mine.take_back_out(refused.1);
            return Err(refused.0.into());
        }
    };
    let want = Want { source: Some(with), tag: Some(tag) };
    let received = engine.probe(flow, want, None).and_then(|status| {
        let mut theirs = vec![0; status.bytes];
        engine.recv(flow, want, &mut theirs, None)?;
        Ok(theirs)
    });
    let sent = engine.wait(pending, None)?;
    if let canele_engine::Buffer::Out(buffer) = sent.buffer {
        mine.take_back_out(buffer);
    }
    sent.result?;
    Ok(received?)
}

/// The members of two groups, in the order that both sides have.
pub(super) fn both(engine: &Engine, one: &Group, other: &Group) -> Group {
    // In a forked child, where nothing of it matters any more, no process has a name.
    let first = |group: &Group| engine.process(group.member(0)).ok();
    if first(other) < first(one) { other.union(one) } else { one.union(other) }
}

/// The names of members, for those that number ranks otherwise.
pub(crate) fn names_of(engine: &Engine, group: &Group) -> Result<Vec<JobRank>> {
    Ok(group.members().iter().map(|rank| engine.process(*rank)).collect::<std::result::Result<_, _>>()?)
}

/// The members of a group as bytes that every job understands.
pub(crate) fn encode(engine: &Engine, group: &Group) -> Result<Vec<u8>> {
    let bytes = |name: &JobRank| [&name.job.to_le_bytes()[..], &name.rank.to_le_bytes()].concat();
    Ok(names_of(engine, group)?.iter().flat_map(bytes).collect())
}

/// The members that were encoded, as this job numbers them.
///
/// # Errors
/// One is of a job that this one is not connected with.
pub(crate) fn decode(engine: &Engine, bytes: &[u8]) -> Result<Vec<Rank>> {
    let member = |bytes: &[u8; 12]| -> Result<Rank> {
        let (job, rank) = bytes.split_first_chunk().expect("twelve bytes are more than eight");
        let rank = u32::from_le_bytes(rank.try_into().expect("four are left"));
        Ok(engine.rank_of(JobRank { job: u64::from_le_bytes(*job), rank })?)
    };
    bytes.as_chunks().0.iter().map(member).collect()
}

/// The team of a group that contains this rank.
pub(super) fn team_of(group: &Group, me: Rank) -> Team {
    let me = group.rank_of(me).expect("this rank is a member");
    Team::new(me, Arc::from(group.members()))
}
