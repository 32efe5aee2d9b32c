//! Agreement of a communicator's members on a flow and on data for a new communicator.
//!
//! Between two groups all members use one common order: the group whose first member has the lower name comes
//! first. Messages use the flow of collectives, with tags that collectives never use.

use std::sync::Arc;

use canele_engine::collective::{Operation, Shape, Team};
use canele_engine::{Engine, FlowId, JobRank, Mode, Rank, Tag, Want, WantedLane};
use canele_mem::buffer::Owned;
use canele_sys::atomic::Ordering;

use super::Comm;
use super::spread::LaneFlow;
use crate::Result;
use crate::group::Group;

/// Tags for calls of some members of one group; the low 30 bits are the program's tag.
const SOME_MEMBERS: u32 = 0x8000_0000;
/// Tags of messages between two leaders in a communicator to which both belong; the low 30 bits are the
/// program's tag.
const LEADERS: u32 = 0xc000_0000;
/// Tags of exchanges between two groups, where the tags of [`SOME_MEMBERS`] are not used.
const NUMBERS: Tag = Tag(SOME_MEMBERS | 1);
const FLOW: Tag = Tag(SOME_MEMBERS | 2);

/// Returns the library's tag for some members; different tags of the program give different ones.
pub(super) fn some_members(tag: u32) -> Tag {
    Tag(SOME_MEMBERS | tag & !LEADERS)
}

/// Returns the library's tag for two leaders; different tags of the program give different ones.
pub(super) fn leaders(tag: u32) -> Tag {
    Tag(LEADERS | tag & !LEADERS)
}

/// The flows for a communicator in creation.
pub(crate) struct NewFlow {
    /// The flow of its messages.
    pub first: LaneFlow,
    /// Further flows of messages on other lanes, if its tags are spread.
    pub further: Vec<LaneFlow>,
    /// The value of [`Comm::uses_lanes`], if all members know it.
    pub uses_lanes: Option<bool>,
}

impl NewFlow {
    /// Makes the flows of a communicator whose members must still agree on lanes.
    pub fn on(lane: &Arc<Engine>, flow: FlowId) -> Self {
        Self { first: LaneFlow { lane: lane.clone(), flow }, further: Vec::new(), uses_lanes: None }
    }

    /// Makes the flows of a communicator whose members know as much about lanes as those of `comm`.
    fn of(comm: &Comm, lane: &Arc<Engine>, flow: FlowId) -> Self {
        Self { uses_lanes: comm.uses_lanes.get().copied(), ..Self::on(lane, flow) }
    }

    /// Frees the flows.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn free(self) -> Result<()> {
        let all = std::iter::once(self.first).chain(self.further);
        Ok(all.map(|flow| flow.lane.free_flow(flow.flow)).fold(Ok(()), Result::and)?)
    }
}

impl Comm {
    /// Returns the flow of its collectives.
    pub(crate) fn collectives(&self) -> FlowId {
        FlowId(self.flow.0 + 1)
    }

    /// Returns all members of one or two groups, in an order that is equal for all.
    pub(crate) fn all_members(&self) -> Group {
        match self.remote_if() {
            Some(remote) => both(&self.engine, self.group(), remote),
            None => (**self.group()).clone(),
        }
    }

    /// Returns the numbers of all members in the order of [`Comm::all_members`]; each member passes the same
    /// count.
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

    /// Agrees on a pair of flows that is new for all members, on this communicator's lane; collective.
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

    /// Returns true if communicators made from this one use lanes, because all members have requested
    /// threads. Members exchange this once.
    fn uses_lanes(&self) -> Result<bool> {
        if let Some(known) = self.uses_lanes.get() {
            return Ok(*known);
        }
        // Relaxed: the flag was set before this communicator was made, or too late for it.
        let wants = self.shared.has_threads.load(Ordering::Relaxed);
        let use_them = self.engine.all_want_lanes(self.collectives(), wants)?;
        Ok(*self.uses_lanes.get_or_init(|| use_them))
    }

    /// Agrees on new flows on the wanted lanes, if all members have requested threads ([`Comm::new_flow`]).
    pub(crate) fn new_flow_on_lanes(&self, wanted: WantedLane) -> Result<NewFlow> {
        if self.is_inter() || !self.uses_lanes()? {
            return self.new_flow();
        }
        let made = self.engine.create_flows_on_lanes(self.collectives(), wanted)?;
        let mut flows = made.into_iter().map(|(lane, flow)| LaneFlow { lane, flow });
        let first = flows.next().expect("there is a flow on one lane at least");
        Ok(NewFlow { first, further: flows.collect(), uses_lanes: Some(true) })
    }

    /// Exchanges bytes with another rank; both lengths may differ.
    pub(super) fn swap(&self, with: Rank, tag: Tag, mine: Vec<u8>) -> Result<Vec<u8>> {
        swap(&self.engine, self.collectives(), with, tag, mine)
    }
}

/// Exchanges bytes with another rank; both lengths may differ.
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

/// Returns the members of two groups, in the order that both sides share.
pub(super) fn both(engine: &Engine, one: &Group, other: &Group) -> Group {
    // In a forked child no process has a name, and the order does not matter.
    let first = |group: &Group| engine.process(group.member(0)).ok();
    if first(other) < first(one) { other.union(one) } else { one.union(other) }
}

/// Returns the job-independent names of members.
pub(crate) fn names_of(engine: &Engine, group: &Group) -> Result<Vec<JobRank>> {
    Ok(group.members().iter().map(|rank| engine.process(*rank)).collect::<std::result::Result<_, _>>()?)
}

/// Encodes the members of a group in a job-independent form.
pub(crate) fn encode(engine: &Engine, group: &Group) -> Result<Vec<u8>> {
    let bytes = |name: &JobRank| [&name.job.to_le_bytes()[..], &name.rank.to_le_bytes()].concat();
    Ok(names_of(engine, group)?.iter().flat_map(bytes).collect())
}

/// Decodes members to ranks of this job.
///
/// # Errors
/// Fails if a member belongs to a job that is not connected.
pub(crate) fn decode(engine: &Engine, bytes: &[u8]) -> Result<Vec<Rank>> {
    let member = |bytes: &[u8; 12]| -> Result<Rank> {
        let (job, rank) = bytes.split_first_chunk().expect("twelve bytes are more than eight");
        let rank = u32::from_le_bytes(rank.try_into().expect("four are left"));
        Ok(engine.rank_of(JobRank { job: u64::from_le_bytes(*job), rank })?)
    };
    bytes.as_chunks().0.iter().map(member).collect()
}

/// Returns the team of a group that contains this rank.
pub(super) fn team_of(group: &Group, me: Rank) -> Team {
    let me = group.rank_of(me).expect("this rank is a member");
    Team::new(me, Arc::from(group.members()))
}
