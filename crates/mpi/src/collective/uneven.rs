//! Collectives with different amounts of data on each rank: the `v` and `w` forms.

use canele_engine::collective::{Block, Root};

use super::call::{Call, OwnedSpec};
use super::even::Role;
use super::side::{
    InPlaceMemory, Location, Scattered, ScatteredMut, Side, check_apart, check_own, check_parts_apart,
};
use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::{Result, fail};

impl Comm {
    /// `MPI_Gatherv`; `mine` is none in place, `all` is used at the root.
    ///
    /// # Errors
    /// Fails if there is no such root, a buffer is missing, or the root's own part has another length.
    pub fn gatherv(&self, mine: Option<Elements>, all: Option<ScatteredMut>, root: Root) -> Result<Call> {
        let description = self.describe("MPI_Gatherv", |call| {
            let call = if root == Root::Elsewhere { call } else { call.part(mine.as_ref()) };
            let call = all.as_ref().map_or(call.clone(), |all| call.parts(&all.parts));
            call.root(root, self.rank())
        });
        Ok(self.gatherv_call(mine, all, root)?.described(description))
    }

    fn gatherv_call(&self, mine: Option<Elements>, all: Option<ScatteredMut>, root: Root) -> Result<Call> {
        match (self.role(root)?, all) {
            (Role::Uninvolved, _) => Ok(Call::nothing()),
            (Role::Other, _) => {
                let Some(mine) = mine else {
                    fail!(Buffer, "sendbuf is MPI_IN_PLACE, which only the root may give");
                };
                let (input, len) = Side::of_moved(mine, 1)?;
                let spec = OwnedSpec::Gather { root, mine: Some(Block { at: 0, len }), all: Vec::new() };
                Ok(Call::new(spec, input, Side::NOTHING))
            }
            (Role::Root, Some(all)) => {
                if let Some(mine) = mine.as_ref().filter(|_| !self.is_inter()) {
                    check_apart(Location::of(mine), Location::of_part(&all, self.rank()))?;
                }
                let (output, blocks) = Side::of_moved_parts(all)?;
                let (input, mine) = self.own_part(mine, &blocks)?;
                let load = mine.is_none();
                let spec = OwnedSpec::Gather { root, mine, all: blocks };
                Ok(Call::new(spec, input, output).loaded(load))
            }
            (Role::Root, None) => fail!(Buffer, "recvbuf is missing at the root"),
        }
    }

    /// Returns this rank's own part; none in place, and on an intercommunicator.
    fn own_part<M: InPlaceMemory>(
        &self,
        mine: Option<Elements<M>>,
        blocks: &[Block],
    ) -> Result<(Side<M>, Option<Block>)> {
        match mine {
            Some(mine) if !self.is_inter() => {
                let (side, len) = Side::of_moved(mine, 1)?;
                check_own(len, blocks[self.rank()].len)?;
                Ok((side, Some(Block { at: 0, len })))
            }
            _ => Ok((Side::NOTHING, None)),
        }
    }

    /// `MPI_Scatterv`; `all` is used at the root, `mine` is none in place.
    ///
    /// # Errors
    /// Fails like [`Comm::gatherv`].
    pub fn scatterv(&self, all: Option<Scattered>, mine: Option<ElementsMut>, root: Root) -> Result<Call> {
        let description = self.describe("MPI_Scatterv", |call| {
            let call = if root == Root::Elsewhere { call } else { call.part(mine.as_ref()) };
            let call = all.as_ref().map_or(call.clone(), |all| call.parts(&all.parts));
            call.root(root, self.rank())
        });
        Ok(self.scatterv_call(all, mine, root)?.described(description))
    }

    fn scatterv_call(&self, all: Option<Scattered>, mine: Option<ElementsMut>, root: Root) -> Result<Call> {
        match (self.role(root)?, all) {
            (Role::Uninvolved, _) => Ok(Call::nothing()),
            (Role::Other, _) => {
                let Some(mine) = mine else {
                    fail!(Buffer, "recvbuf is MPI_IN_PLACE, which only the root may give");
                };
                let (output, len) = Side::of_moved(mine, 1)?;
                let spec = OwnedSpec::Scatter { root, all: Vec::new(), mine: Some(Block { at: 0, len }) };
                Ok(Call::new(spec, Side::NOTHING, output))
            }
            (Role::Root, Some(all)) => {
                if let Some(mine) = mine.as_ref().filter(|_| !self.is_inter()) {
                    check_apart(Location::of_part(&all, self.rank()), Location::of(mine))?;
                }
                let (input, blocks) = Side::of_moved_parts(all)?;
                let (output, mine) = self.own_part(mine, &blocks)?;
                Ok(Call::new(OwnedSpec::Scatter { root, all: blocks, mine }, input, output))
            }
            (Role::Root, None) => fail!(Buffer, "sendbuf is missing at the root"),
        }
    }

    /// `MPI_Allgatherv`; `mine` is none in place.
    ///
    /// # Errors
    /// Fails if this rank's own part has another length.
    pub fn allgatherv(&self, mine: Option<Elements>, all: ScatteredMut) -> Result<Call> {
        let description = self.describe("MPI_Allgatherv", |call| {
            let call = call.part(mine.as_ref());
            if self.is_inter() { call.parts(&all.parts) } else { call.same_parts(&all.parts) }
        });
        Ok(self.allgatherv_call(mine, all)?.described(description))
    }

    fn allgatherv_call(&self, mine: Option<Elements>, all: ScatteredMut) -> Result<Call> {
        if let Some(mine) = mine.as_ref().filter(|_| !self.is_inter()) {
            check_apart(Location::of(mine), Location::of_part(&all, self.rank()))?;
        }
        let (output, blocks) = Side::of_moved_parts(all)?;
        let Some(mine) = mine else {
            let spec = OwnedSpec::Allgather { mine: None, all: blocks };
            return Ok(Call::new(spec, Side::NOTHING, output).loaded(true));
        };
        let (input, len) = Side::of_moved(mine, 1)?;
        if !self.is_inter() {
            check_own(len, blocks[self.rank()].len)?;
        }
        let spec = OwnedSpec::Allgather { mine: Some(Block { at: 0, len }), all: blocks };
        Ok(Call::new(spec, input, output))
    }

    /// `MPI_Alltoallv` and `MPI_Alltoallw`; `from` is none in place.
    ///
    /// # Errors
    /// Fails if this rank's own part has another length.
    pub fn alltoallv(&self, name: &'static str, from: Option<Scattered>, into: ScatteredMut) -> Result<Call> {
        let description = self.describe(name, |call| call);
        Ok(self.alltoallv_call(from, into)?.described(description))
    }

    fn alltoallv_call(&self, from: Option<Scattered>, into: ScatteredMut) -> Result<Call> {
        if let Some(from) = &from {
            check_parts_apart(from, &into)?;
        }
        let (output, into) = Side::of_moved_parts(into)?;
        let Some(from) = from else {
            let spec = OwnedSpec::Alltoall { from: None, into };
            return Ok(Call::new(spec, Side::NOTHING, output).loaded(true));
        };
        let (input, from) = Side::of_moved_parts(from)?;
        if !self.is_inter() {
            check_own(from[self.rank()].len, into[self.rank()].len)?;
        }
        Ok(Call::new(OwnedSpec::Alltoall { from: Some(from), into }, input, output))
    }
}
