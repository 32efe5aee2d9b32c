//! Collectives with equal amounts of data on all members: barrier, broadcast, gather, scatter, allgather,
//! alltoall.

use canele_engine::collective::{Block, Operation, Shape};

use super::call::{Call, OwnedSpec};
use super::check::Description;
use super::side::{InPlaceMemory, Location, Side, check_apart, check_own};
use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::{Result, fail};

/// The root of a collective; on an intercommunicator, also the side of the root (`MPI_ROOT`,
/// `MPI_PROC_NULL`).
pub use canele_engine::collective::Root;

/// The role of this rank in a collective with a root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Root,
    Other,
    /// A member of the root's group on an intercommunicator that is not the root.
    Uninvolved,
}

impl Comm {
    pub(super) fn role(&self, root: Root) -> Result<Role> {
        match root {
            Root::Here => Ok(Role::Root),
            Root::Elsewhere => Ok(Role::Uninvolved),
            Root::At(n) if n as usize >= self.peers().size() => {
                fail!(Root, "root is {n}: it must be from 0 to {}", self.peers().size() - 1)
            }
            Root::At(n) if !self.is_inter() && n as usize == self.rank() => Ok(Role::Root),
            Root::At(_) => Ok(Role::Other),
        }
    }

    /// Makes the call of collective `name` for a rank without a part in it: the root is another rank of its
    /// group.
    ///
    /// # Errors
    /// Never fails.
    pub fn nothing_call(&self, name: &'static str) -> Result<Call> {
        let elsewhere = |call: Description| call.root(Root::Elsewhere, self.rank());
        Ok(Call::nothing().described(self.describe(name, elsewhere)))
    }

    /// `MPI_Barrier`.
    ///
    /// # Errors
    /// Never fails.
    pub fn barrier_call(&self) -> Result<Call> {
        let spec = OwnedSpec::Even(Shape::new(Operation::Barrier, 0));
        let description = self.describe("MPI_Barrier", |call| call);
        Ok(Call::new(spec, Side::NOTHING, Side::NOTHING).described(description))
    }

    /// `MPI_Bcast`.
    ///
    /// # Errors
    /// Fails if there is no such root, or on too many elements.
    pub fn bcast(&self, elements: ElementsMut, root: Root) -> Result<Call> {
        let role = self.role(root)?;
        if role == Role::Uninvolved {
            return self.nothing_call("MPI_Bcast");
        }
        let description = self.describe("MPI_Bcast", |call| call.elements(&elements).root(root, self.rank()));
        let (side, bytes) = Side::of_moved(elements, 1)?;
        let spec = OwnedSpec::Even(Shape::new(Operation::Broadcast(root), bytes));
        let call = Call::new(spec, Side::NOTHING, side).described(description);
        Ok(if role == Role::Root { call.only_read() } else { call })
    }

    /// `MPI_Gather`; `mine` is none in place. `all` counts the elements of one rank and is used at the root.
    ///
    /// # Errors
    /// Fails if there is no such root, a buffer is missing, or the root's own part has another length.
    pub fn gather(&self, mine: Option<Elements>, all: Option<ElementsMut>, root: Root) -> Result<Call> {
        let given = mine.as_ref().filter(|_| all.is_none());
        let describe =
            |call: Description| call.elements_if(given).elements_if(all.as_ref()).root(root, self.rank());
        let description = self.describe("MPI_Gather", describe);
        Ok(self.gather_call(mine, all, root)?.described(description))
    }

    fn gather_call(&self, mine: Option<Elements>, all: Option<ElementsMut>, root: Root) -> Result<Call> {
        let role = self.role(root)?;
        match (role, mine, all) {
            (Role::Uninvolved, _, _) => Ok(Call::nothing()),
            (Role::Other, Some(mine), _) => {
                let (input, bytes) = Side::of_moved(mine, 1)?;
                Ok(Call::new(even(Operation::Gather(root), bytes), input, Side::NOTHING))
            }
            (Role::Other, None, _) => fail!(Buffer, "sendbuf is MPI_IN_PLACE, which only the root may give"),
            (Role::Root, mine, Some(all)) => {
                let bytes = all.of.total_bytes(all.count)?;
                let mine = if self.is_inter() { None } else { mine };
                if let Some(mine) = &mine {
                    check_apart(Location::of(mine), Location::of(&all))?;
                    check_apart(Location::of(mine), Location::of(&all).of_rank(self.rank()))?;
                }
                let output = self.many(all)?;
                let Some(mine) = mine else {
                    let shape =
                        Shape { in_place: !self.is_inter(), ..Shape::new(Operation::Gather(root), bytes) };
                    return Ok(Call::new(OwnedSpec::Even(shape), Side::NOTHING, output).loaded(true));
                };
                let (input, given) = Side::of_moved(mine, 1)?;
                check_own(given, bytes)?;
                Ok(Call::new(even(Operation::Gather(root), bytes), input, output))
            }
            (Role::Root, _, None) => fail!(Buffer, "recvbuf is missing at the root"),
        }
    }

    /// `MPI_Scatter`; `mine` is none in place. `all` counts the elements of one rank and is used at the root.
    ///
    /// # Errors
    /// Fails like [`Comm::gather`].
    pub fn scatter(&self, all: Option<Elements>, mine: Option<ElementsMut>, root: Root) -> Result<Call> {
        let taken = mine.as_ref().filter(|_| all.is_none());
        let describe =
            |call: Description| call.elements_if(taken).elements_if(all.as_ref()).root(root, self.rank());
        let description = self.describe("MPI_Scatter", describe);
        Ok(self.scatter_call(all, mine, root)?.described(description))
    }

    fn scatter_call(&self, all: Option<Elements>, mine: Option<ElementsMut>, root: Root) -> Result<Call> {
        let role = self.role(root)?;
        match (role, all, mine) {
            (Role::Uninvolved, _, _) => Ok(Call::nothing()),
            (Role::Other, _, Some(mine)) => {
                let (output, bytes) = Side::of_moved(mine, 1)?;
                Ok(Call::new(even(Operation::Scatter(root), bytes), Side::NOTHING, output))
            }
            (Role::Other, _, None) => fail!(Buffer, "recvbuf is MPI_IN_PLACE, which only the root may give"),
            (Role::Root, Some(all), mine) => {
                let bytes = all.of.total_bytes(all.count)?;
                let mine = if self.is_inter() { None } else { mine };
                if let Some(mine) = &mine {
                    check_apart(Location::of(&all), Location::of(mine))?;
                    check_apart(Location::of(&all).of_rank(self.rank()), Location::of(mine))?;
                }
                let input = self.many(all)?;
                let Some(mine) = mine else {
                    let shape =
                        Shape { in_place: !self.is_inter(), ..Shape::new(Operation::Scatter(root), bytes) };
                    return Ok(Call::new(OwnedSpec::Even(shape), input, Side::NOTHING));
                };
                let (output, taken) = Side::of_moved(mine, 1)?;
                check_own(bytes, taken)?;
                Ok(Call::new(even(Operation::Scatter(root), bytes), input, output))
            }
            (Role::Root, None, _) => fail!(Buffer, "sendbuf is missing at the root"),
        }
    }

    /// `MPI_Allgather`; `mine` is none in place, `all` counts the elements of one rank.
    ///
    /// # Errors
    /// Fails if this rank's own part has another length.
    pub fn allgather(&self, mine: Option<Elements>, all: ElementsMut) -> Result<Call> {
        let describe = |call: Description| self.of_both(call, mine.as_ref(), &all);
        let description = self.describe("MPI_Allgather", describe);
        Ok(self.allgather_call(mine, all)?.described(description))
    }

    fn allgather_call(&self, mine: Option<Elements>, all: ElementsMut) -> Result<Call> {
        let bytes = all.of.total_bytes(all.count)?;
        if let Some(mine) = &mine {
            check_apart(Location::of(mine), Location::of(&all))?;
            // On an intercommunicator the parts are those of the other group, which may have fewer ranks.
            if !self.is_inter() {
                check_apart(Location::of(mine), Location::of(&all).of_rank(self.rank()))?;
            }
        }
        let output = self.many(all)?;
        let Some(mine) = mine else {
            let shape = Shape { in_place: true, ..Shape::new(Operation::Allgather, bytes) };
            return Ok(Call::new(OwnedSpec::Even(shape), Side::NOTHING, output).loaded(true));
        };
        let (input, given) = Side::of_moved(mine, 1)?;
        if self.is_inter() {
            let spec =
                OwnedSpec::Allgather { mine: Some(Block { at: 0, len: given }), all: self.blocks(bytes) };
            return Ok(Call::new(spec, input, output));
        }
        check_own(given, bytes)?;
        Ok(Call::new(even(Operation::Allgather, bytes), input, output))
    }

    /// `MPI_Alltoall`; `from` is none in place. Both buffers count the elements of one rank.
    ///
    /// # Errors
    /// Fails if this rank's own part has another length.
    pub fn alltoall(&self, from: Option<Elements>, into: ElementsMut) -> Result<Call> {
        let describe = |call: Description| self.of_both(call, from.as_ref(), &into);
        let description = self.describe("MPI_Alltoall", describe);
        Ok(self.alltoall_call(from, into)?.described(description))
    }

    fn alltoall_call(&self, from: Option<Elements>, into: ElementsMut) -> Result<Call> {
        let bytes = into.of.total_bytes(into.count)?;
        if let Some(from) = &from {
            check_apart(Location::of(from), Location::of(&into))?;
        }
        let output = self.many(into)?;
        let Some(from) = from else {
            let shape = Shape { in_place: true, ..Shape::new(Operation::Alltoall, bytes) };
            return Ok(Call::new(OwnedSpec::Even(shape), Side::NOTHING, output).loaded(true));
        };
        let given = from.of.total_bytes(from.count)?;
        let input = self.many(from)?;
        if self.is_inter() {
            let spec = OwnedSpec::Alltoall { from: Some(self.blocks(given)), into: self.blocks(bytes) };
            return Ok(Call::new(spec, input, output));
        }
        check_own(given, bytes)?;
        Ok(Call::new(even(Operation::Alltoall, bytes), input, output))
    }

    /// Describes the data that a rank gives to and takes from each peer; both are equal within one group.
    fn of_both(&self, call: Description, given: Option<&Elements>, taken: &ElementsMut) -> Description {
        match given {
            Some(given) if self.is_inter() => call.elements(given).taken(taken),
            _ => call.elements(taken),
        }
    }

    /// Returns a side with the contiguous elements of all ranks, given those of one.
    fn many<M: InPlaceMemory>(&self, one: Elements<M>) -> Result<Side<M>> {
        let ranks = self.peers().size();
        let count = one.count.saturating_mul(ranks);
        Ok(Side::of_moved(Elements { count, ..one }, ranks)?.0)
    }

    /// Returns a contiguous block for each rank.
    fn blocks(&self, bytes: usize) -> Vec<Block> {
        (0..self.peers().size()).map(|n| Block { at: n * bytes, len: bytes }).collect()
    }
}

fn even(operation: Operation, bytes: usize) -> OwnedSpec {
    OwnedSpec::Even(Shape::new(operation, bytes))
}
