//! Neighbourhood collectives (MPI 5.0, §8.6): with the neighbours of a rank in its topology.

use canele_engine::collective::Block;
use canele_mem::buffer::{Raw, RawMut};

use super::call::{Call, OwnedSpec};
use super::side::{InPlaceMemory, Location, Scattered, ScatteredMut, Side, check_apart, check_parts_apart};
use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::topology::Topology;
use crate::{Result, fail};

/// Neighbours by rank; none where a grid ends.
type NeighbourList = Vec<Option<usize>>;

impl Comm {
    /// Returns the sources and the destinations of messages.
    ///
    /// # Errors
    /// Fails if there is no topology.
    pub fn neighbours(&self) -> Result<(NeighbourList, NeighbourList)> {
        match self.topology() {
            Some(topology) => Ok((topology.sources(self.rank()), topology.destinations(self.rank()))),
            None => fail!(
                Topology,
                "comm has no topology: make one with MPI_Cart_create or MPI_Dist_graph_create"
            ),
        }
    }

    fn exchange_call(
        &self,
        name: &'static str,
        (input, sends): (Side<Raw>, Vec<Block>),
        (output, receives): (Side<RawMut>, Vec<Block>),
    ) -> Result<Call> {
        let (sources, destinations) = self.neighbours()?;
        let named = |list: &NeighbourList, blocks: Vec<Block>| -> Vec<(u32, Block)> {
            let all = list.iter().zip(blocks);
            all.filter_map(|(rank, block)| Some(((*rank)? as u32, block))).collect()
        };
        // Along a dimension of a grid, a message downwards arrives from above. If both neighbours are the
        // same rank, that rank receives the upward message first, so the upward message is sent first.
        let mut order: Vec<usize> = (0..destinations.len()).collect();
        if matches!(self.topology(), Some(Topology::Cart(_))) {
            order.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
        }
        let destinations: NeighbourList = order.iter().map(|n| destinations[*n]).collect();
        let sends = order.iter().map(|n| sends[*n]).collect();
        let sends = named(&destinations, sends);
        let receives = named(&sources, receives);
        let description = self.describe(name, |call| call);
        let call = Call::new(OwnedSpec::Exchange { sends, receives }, input, output).loaded(true);
        Ok(call.described(description))
    }

    /// `MPI_Neighbor_allgather`; `all` counts the elements of one neighbour.
    ///
    /// # Errors
    /// Fails if there is no topology, or on too many elements.
    pub fn neighbor_allgather(&self, mine: Elements, all: ElementsMut) -> Result<Call> {
        let (sources, destinations) = self.neighbours()?;
        if !sources.is_empty() && !destinations.is_empty() {
            check_apart(Location::of(&mine), Location::of(&all))?;
        }
        let (input, len) = Side::of_moved(mine, 1)?;
        let sends = vec![Block { at: 0, len }; destinations.len()];
        self.exchange_call("MPI_Neighbor_allgather", (input, sends), row(all, sources.len())?)
    }

    /// `MPI_Neighbor_allgatherv`.
    ///
    /// # Errors
    /// Fails like [`Comm::neighbor_allgather`].
    pub fn neighbor_allgatherv(&self, mine: Elements, all: ScatteredMut) -> Result<Call> {
        let (sources, destinations) = self.neighbours()?;
        let (input, len) = Side::of_moved(mine, 1)?;
        let sends = vec![Block { at: 0, len }; destinations.len()];
        self.exchange_call(
            "MPI_Neighbor_allgatherv",
            (input, sends),
            Side::of_moved_parts(present(all, &sources))?,
        )
    }

    /// `MPI_Neighbor_alltoall`; both buffers count the elements of one neighbour.
    ///
    /// # Errors
    /// Fails like [`Comm::neighbor_allgather`].
    pub fn neighbor_alltoall(&self, from: Elements, into: ElementsMut) -> Result<Call> {
        let (sources, destinations) = self.neighbours()?;
        if !sources.is_empty() && !destinations.is_empty() {
            check_apart(Location::of(&from), Location::of(&into))?;
        }
        self.exchange_call("MPI_Neighbor_alltoall", row(from, destinations.len())?, row(into, sources.len())?)
    }

    /// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`, according to `name`.
    ///
    /// # Errors
    /// Fails like [`Comm::neighbor_allgather`].
    pub fn neighbor_alltoallv(
        &self,
        name: &'static str,
        from: Scattered,
        into: ScatteredMut,
    ) -> Result<Call> {
        let (sources, _) = self.neighbours()?;
        check_parts_apart(&from, &into)?;
        self.exchange_call(name, Side::of_moved_parts(from)?, Side::of_moved_parts(present(into, &sources))?)
    }
}

/// Sets the counts of absent neighbours to zero.
fn present<M>(mut all: Scattered<M>, neighbours: &NeighbourList) -> Scattered<M> {
    let parts = all.parts.iter_mut().zip(neighbours);
    parts.filter(|(_, neighbour)| neighbour.is_none()).for_each(|((count, _, _), _)| *count = 0);
    all
}

/// Returns a side with the contiguous elements of `many` neighbours, given those of one, and their blocks.
fn row<M: InPlaceMemory>(one: Elements<M>, many: usize) -> Result<(Side<M>, Vec<Block>)> {
    let len = one.of.total_bytes(one.count)?;
    let count = one.count.saturating_mul(many);
    let (side, _) = Side::of_moved(Elements { count, ..one }, many)?;
    Ok((side, (0..many).map(|n| Block { at: n * len, len }).collect()))
}
