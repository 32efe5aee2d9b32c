//! The ranks of a flow: all ranks of the job, or the ranks that split() chose, which have new numbers.
//!
//! Owns the conversion between the numbers on a flow and the ranks of the job. Errors name ranks of the job.

use std::sync::Arc;

use canele::Rank;
use canele_collective::Team;
use canele_engine::Want;
use pyo3::prelude::*;

use crate::errors::raise;
use crate::status::{self, Status};

/// The ranks of a flow in the order of their numbers there; none if they are all ranks of the job.
#[derive(Clone, Default)]
pub struct Members(Option<Arc<[Rank]>>);

impl Members {
    /// Returns members that are some ranks of the job.
    pub fn of(ranks: Arc<[Rank]>) -> Self {
        Self(Some(ranks))
    }

    /// Returns the number of the ranks.
    pub fn size(&self, flow: &canele::Flow) -> u32 {
        self.0.as_ref().map_or_else(|| flow.size(), |ranks| ranks.len() as u32)
    }

    /// Returns the number of this process among the ranks.
    pub fn me(&self, flow: &canele::Flow) -> Rank {
        Rank(self.number_of(flow.rank()))
    }

    /// Returns the number of a rank of the job among the ranks.
    fn number_of(&self, rank: Rank) -> u32 {
        let Some(ranks) = &self.0 else { return rank.0 };
        ranks.iter().position(|member| *member == rank).map_or(rank.0, |number| number as u32)
    }

    /// Returns the rank of the job that has a number.
    pub fn rank(&self, py: Python<'_>, number: i64) -> PyResult<Rank> {
        let rank = status::rank(number)?;
        let Some(ranks) = &self.0 else { return Ok(rank) };
        let size = ranks.len() as u32;
        let member = ranks.get(rank.0 as usize).copied();
        member.ok_or_else(|| raise(py, canele::Error::NoSuchRank { rank, size }))
    }

    /// Returns the source and the tag that a receive matches.
    pub fn want(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Want> {
        let want = status::want(source, tag)?;
        let source = want.source.map(|_| self.rank(py, source)).transpose()?;
        Ok(Want { source, ..want })
    }

    /// Returns the status of a message with the number of its rank on the flow.
    pub fn status(&self, status: canele::Status) -> Status {
        canele::Status { source: Rank(self.number_of(status.source)), ..status }.into()
    }

    /// Makes these ranks the team of the collectives of a new flow.
    pub fn take_over(&self, py: Python<'_>, flow: &canele::Flow) -> PyResult<()> {
        let Some(ranks) = &self.0 else { return Ok(()) };
        let team = Team::new(self.me(flow).0 as usize, ranks.clone());
        let (engine, id) = flow.collectives_on_lane();
        py.detach(|| engine.set_team(id, team)).map_err(|error| raise(py, error))
    }
}
