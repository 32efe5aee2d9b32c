//! What members of a communicator find out from each other before a new one exists.
//!
//! Between two groups everybody takes part in one order that both sides count alike: the group with the lower first rank of
//! the job comes first. Messages go over the flow of collectives, with tags that those never use.

use std::sync::Arc;

use canele_engine::collective::{Operation, Shape, Team};
use canele_engine::{FlowId, Mode, Rank, Tag, Want};
use canele_mem::buffer::Owned;

use super::Comm;
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

impl Comm {
    /// The flow of its collectives.
    pub(crate) fn collectives(&self) -> FlowId {
        FlowId(self.flow.0 + 1)
    }

    /// All members, of both groups if there are two, in an order that is the same for all.
    pub(crate) fn everybody(&self) -> Group {
        match self.remote_if() {
            Some(remote) => both(self.group(), remote),
            None => (**self.group()).clone(),
        }
    }

    /// The numbers of all members in the order of [`Comm::everybody`], as many from each.
    pub(crate) fn numbers_of_all(&self, mine: &[i64]) -> Result<Vec<i64>> {
        let everybody = self.everybody();
        let mut all = vec![0; mine.len() * everybody.size()];
        let shape = Shape::new(Operation::Allgather, size_of_val(mine));
        let (input, output) = (bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(&mut all));
        if self.is_inter() {
            let team = team_of(&everybody, self.engine.rank());
            self.engine.collective_among(&team, (self.collectives(), NUMBERS), shape, None, input, output)?;
        } else {
            self.engine.collective(self.collectives(), shape, None, input, output)?;
        }
        Ok(all)
    }

    /// A pair of flows that is new for all members, who all call this.
    pub(crate) fn new_flow(&self) -> Result<FlowId> {
        if !self.is_inter() {
            return Ok(self.engine.create_flow(self.collectives())?);
        }
        let team = team_of(&self.everybody(), self.engine.rank());
        Ok(self.engine.agree_among(&team, (self.collectives(), FLOW))?)
    }

    /// Gives another rank bytes and gets its own, which may have another length.
    pub(super) fn swap(&self, with: Rank, tag: Tag, mine: Vec<u8>) -> Result<Vec<u8>> {
        let (engine, flow) = (&self.engine, self.collectives());
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
}

/// The members of two groups, in the order that both sides have.
pub(super) fn both(one: &Group, other: &Group) -> Group {
    if other.member(0) < one.member(0) { other.union(one) } else { one.union(other) }
}

/// The team of a group that contains this rank.
pub(super) fn team_of(group: &Group, me: Rank) -> Team {
    let me = group.rank_of(me).expect("this rank is a member");
    Team::new(me, Arc::from(group.members()))
}
