//! New communicators made from one (MPI 5.0, §7.4).

use std::sync::Arc;

use canele_engine::collective::{Block, Operation, Shape, Uneven};
use canele_engine::{Engine, Rank, WantedLane};

use super::agree::{NewFlow, some_members, team_of};
use super::hints::wanted_lane;
use super::named::Name;
use super::{Comm, Parts, Shared};
use crate::attribute::Attributes;
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::info::Info;
use crate::topology::Topology;
use crate::{Result, fail};

/// The state that a duplicate copies from its communicator during the call.
pub(super) struct Copied {
    info: Info,
    errhandler: Arc<Errhandler>,
    attributes: Attributes,
}

/// A flow that was agreed on and has no communicator yet; it is freed after an error or exception.
pub(super) struct UnusedFlow {
    new: Option<NewFlow>,
}

impl UnusedFlow {
    pub(super) fn new(new: NewFlow) -> Self {
        Self { new: Some(new) }
    }

    fn take(mut self) -> NewFlow {
        self.new.take().expect("it is taken once")
    }
}

impl Drop for UnusedFlow {
    fn drop(&mut self) {
        // This fails only after the end of the job, when nothing is left to free.
        let _ = self.new.take().map(NewFlow::free);
    }
}

impl Comm {
    /// Makes a duplicate with the same groups, topology, attributes and error handler. It has the hints of
    /// `info` alone, which may select its lane or spread its tags.
    ///
    /// # Errors
    /// Fails if a member died, or if a copy function of the program fails.
    pub fn dup(&self, info: &Info) -> Result<Arc<Comm>> {
        self.check_call("MPI_Comm_dup")?;
        let unused = UnusedFlow::new(self.new_flow_on_lanes(wanted_lane(info))?);
        // A copy function of the program may throw an exception.
        let copied = self.copied(info);
        self.dup_on(unused, copied)
    }

    /// Makes a communicator with the same group on this lane, for an object made from this one; collective.
    /// It copies no attributes, hints or other data of the program.
    ///
    /// # Errors
    /// Fails if a member died.
    pub(crate) fn twin(&self, wanted: WantedLane) -> Result<Arc<Comm>> {
        let new = self.new_flow_on_lanes(wanted)?;
        Ok(Arc::new(Comm::new(self.parts(new, self.group().clone()))?))
    }

    /// Copies the state for a duplicate.
    pub(super) fn copied(&self, info: &Info) -> Result<Copied> {
        let copied =
            Copied { info: info.duplicate(), errhandler: self.errhandler(), attributes: Attributes::new() };
        if let Err(error) = self.attributes().copy_into(self.number(), &copied.attributes) {
            // Copied values are deleted again; the first error is reported.
            let _ = copied.attributes.clear(self.number());
            return Err(error);
        }
        Ok(copied)
    }

    /// Makes a duplicate on an agreed flow; the flow is freed if the copies failed.
    pub(super) fn dup_on(&self, flow: UnusedFlow, copied: Result<Copied>) -> Result<Arc<Comm>> {
        let Copied { info, errhandler, attributes } = copied?;
        let topology = self.topology().cloned();
        let parts = Parts { topology, ..self.parts(flow.take(), self.group().clone()) };
        let new = Arc::new(Comm::new(Parts { remote: self.remote_if().cloned(), errhandler, ..parts })?);
        new.set_info(&info);
        attributes.move_into(new.attributes());
        Ok(new)
    }

    /// Returns the parts of a communicator made from this one.
    pub(super) fn parts(&self, new: NewFlow, group: Arc<Group>) -> Parts {
        Parts {
            new,
            group,
            remote: None,
            errhandler: self.errhandler(),
            topology: None,
            shared: self.shared.clone(),
            session: self.group().session().cloned(),
        }
    }

    /// Makes a communicator of a group of members, which all members pass; none for the other members.
    ///
    /// # Errors
    /// Fails if a member died, or if the group has ranks outside of this communicator.
    pub fn create(&self, group: &Arc<Group>) -> Result<Option<Arc<Comm>>> {
        self.check_members(group)?;
        self.check_call("MPI_Comm_create")?;
        if self.is_inter() {
            return self.create_inter(group);
        }
        let new = self.new_flow_on_lanes(WantedLane::Next)?;
        self.member_of(new, group.clone(), None, None)
    }

    /// Makes a communicator for the members of a group; the other members free the flow.
    pub(crate) fn member_of(
        &self,
        new: NewFlow,
        group: Arc<Group>,
        remote: Option<Arc<Group>>,
        topology: Option<Topology>,
    ) -> Result<Option<Arc<Comm>>> {
        let alone = remote.as_ref().is_some_and(|remote| remote.is_empty());
        if alone || group.rank_of(self.engine.rank()).is_none() {
            new.free()?;
            return Ok(None);
        }
        let parts = Parts { remote, topology, ..self.parts(new, group) };
        Ok(Some(Arc::new(Comm::new(parts)?)))
    }

    fn check_members(&self, group: &Group) -> Result<()> {
        match group.members().iter().find(|rank| self.group().rank_of(**rank).is_none()) {
            Some(rank) => fail!(Group, "the group has {rank} of the job, which is not in comm"),
            None => Ok(()),
        }
    }

    /// Makes a communicator of the members of a group; collective over these members only. Other callers get
    /// none.
    ///
    /// # Errors
    /// Fails if a member died, or if the group has ranks outside of this communicator.
    pub fn create_group(&self, group: &Arc<Group>, tag: u32) -> Result<Option<Arc<Comm>>> {
        self.check_members(group)?;
        if self.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: MPI_Comm_create_group is for one group");
        }
        if group.rank_of(self.engine.rank()).is_none() {
            return Ok(None);
        }
        let team = team_of(group, self.engine.rank());
        let flow = self.engine.agree_among(&team, (self.collectives(), some_members(tag)))?;
        let new = NewFlow::on(&self.engine, flow);
        Ok(Some(Arc::new(Comm::new(self.parts(new, group.clone()))?)))
    }

    /// Makes one communicator for each color, with its members in the order of keys; none for members without
    /// a color.
    ///
    /// # Errors
    /// Fails if a member died.
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Arc<Comm>>> {
        self.check_call("MPI_Comm_split")?;
        self.split_by_color(color, key, |comm| comm.new_flow_on_lanes(WantedLane::Next))
    }

    /// Splits by color; `make` agrees on the new flow.
    pub(crate) fn split_by_color(
        &self,
        color: Option<u32>,
        key: i32,
        make: impl FnOnce(&Self) -> Result<NewFlow>,
    ) -> Result<Option<Arc<Comm>>> {
        let mine = [color.map_or(-1, i64::from), i64::from(key)];
        let (all, all_members) = (self.numbers_of_all(&mine)?, self.all_members());
        let new = make(self)?;
        let same = |group: &Group| {
            let number = |rank: &Rank| all_members.rank_of(*rank).expect("all members are there");
            let mut members: Vec<Rank> = group.members().to_vec();
            members.retain(|rank| color.is_some() && all[2 * number(rank)] == mine[0]);
            // Members with the same key keep their order.
            members.sort_by_key(|rank| all[2 * number(rank) + 1]);
            Group::new(members).map(Arc::new)
        };
        let remote = self.remote_if().map(|remote| same(remote)).transpose()?;
        self.member_of(new, same(self.group())?, remote, None)
    }

    /// Makes a communicator with a topology from the first members; none for the others.
    ///
    /// # Errors
    /// Fails if a member died or this is an intercommunicator.
    pub fn with_topology(&self, topology: Topology, members: usize) -> Result<Option<Arc<Comm>>> {
        let members: Vec<usize> = (0..members.min(self.size())).collect();
        self.part_with_topology(topology, &members)
    }

    /// Makes a communicator with a topology from the members with these ranks. All of these members pass the
    /// same list. Other members pass the list of their own new communicator.
    ///
    /// # Errors
    /// Fails like [`Comm::with_topology`].
    pub fn part_with_topology(&self, topology: Topology, members: &[usize]) -> Result<Option<Arc<Comm>>> {
        if self.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: a topology is of one group");
        }
        self.check_call(match topology {
            Topology::Cart(_) => "MPI_Cart_create or MPI_Cart_sub",
            Topology::Graph(_) => "MPI_Graph_create",
            Topology::DistGraph(_) => "MPI_Dist_graph_create",
        })?;
        let new = self.new_flow_on_lanes(WantedLane::Next)?;
        let group = Group::new(members.iter().map(|rank| self.group().member(*rank)).collect())?;
        self.member_of(new, Arc::new(group), None, Some(topology))
    }

    /// Sends `counts[i]` numbers about edges to member `i`. Returns the numbers from all members, in the
    /// order of ranks, and their counts.
    ///
    /// # Errors
    /// Fails if a member died, or if the edges exceed the address space.
    pub fn exchange_edges(&self, told: &[i32], counts: &[usize]) -> Result<(Vec<i32>, Vec<usize>)> {
        self.check_call("MPI_Dist_graph_create")?;
        if self.is_inter() {
            fail!(Communicator, "comm is an intercommunicator: a topology is of one group");
        }
        let to_send: Vec<u64> = counts.iter().map(|count| *count as u64).collect();
        let mut coming = vec![0u64; to_send.len()];
        let shape = Shape::new(Operation::Alltoall, size_of::<u64>());
        let (input, output) = (bytemuck::cast_slice(&to_send), bytemuck::cast_slice_mut(&mut coming));
        self.engine.collective(self.collectives(), shape, None, input, output)?;
        let (from, _) = blocks_of_numbers(&to_send)?;
        let (into, bytes) = blocks_of_numbers(&coming)?;
        let mut received = Vec::<i32>::new();
        if received.try_reserve_exact(bytes / size_of::<i32>()).is_err() {
            fail!(NoMemory, "{bytes} bytes for the edges of this rank cannot be allocated");
        }
        received.resize(bytes / size_of::<i32>(), 0);
        let spec = Uneven::Alltoall { from: Some(&from), into: &into };
        let (input, output) = (bytemuck::cast_slice(told), bytemuck::cast_slice_mut(&mut received));
        self.engine.collective(self.collectives(), spec, None, input, output)?;
        Ok((received, into.iter().map(|block| block.len / size_of::<i32>()).collect()))
    }
}

/// Returns the block of each rank's numbers, one after the other, and the length in bytes. The counts come
/// from other ranks and are not trusted.
fn blocks_of_numbers(counts: &[u64]) -> Result<(Vec<Block>, usize)> {
    let mut at = 0usize;
    let mut blocks = Vec::with_capacity(counts.len());
    for count in counts {
        let len = usize::try_from(*count).ok().and_then(|count| count.checked_mul(size_of::<i32>()));
        let Some((len, end)) = len.and_then(|len| Some((len, at.checked_add(len)?))) else {
            fail!(Argument, "ranks tell {count} numbers about edges, which exceed the address space");
        };
        blocks.push(Block { at, len });
        at = end;
    }
    Ok((blocks, at))
}

/// Makes a communicator from a group alone; collective over its members (MPI 5.0, §7.4.2). The caller is a
/// member.
pub(crate) fn from_group(
    engine: &Arc<Engine>,
    shared: &Arc<Shared>,
    group: &Arc<Group>,
    name: &str,
    errhandler: Arc<Errhandler>,
) -> Result<Arc<Comm>> {
    let flow = Name::new(name, "").agree(engine, group)?;
    let parts = Parts {
        new: NewFlow::on(engine, flow),
        group: group.clone(),
        remote: None,
        errhandler,
        topology: None,
        shared: shared.clone(),
        session: None,
    };
    Ok(Arc::new(Comm::new(parts)?))
}
