//! Virtual topologies: who is whose neighbour in a communicator (MPI 5.0, chapter 8).
//!
//! A topology owns its shape and answers by arithmetic. It never sends anything: what ranks tell each other to make a
//! distributed graph is exchanged by the call that makes it. Ranks are those of the communicator.

mod cart;
mod dims;
mod dist_graph;
mod graph;

use crate::{Result, fail};
pub use cart::Cart;
pub use dims::dims_create;
pub use dist_graph::{DistGraph, NamedEdges};
pub use graph::Graph;

/// What a communicator may have.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A grid.
    Cart(Cart),
    /// A graph that all ranks know whole.
    Graph(Graph),
    /// A graph of which each rank knows its own neighbours.
    DistGraph(DistGraph),
}

impl Topology {
    /// Returns the ranks that a rank receives from, in the order of neighbourhood collectives; `None` is no process, which keeps its place.
    ///
    /// # Panics
    /// The rank is not in the topology.
    pub fn sources(&self, rank: usize) -> Vec<Option<usize>> {
        match self {
            Topology::Cart(cart) => cart.neighbours(rank),
            Topology::Graph(graph) => graph.neighbours(rank).iter().copied().map(Some).collect(),
            Topology::DistGraph(graph) => graph.sources.iter().copied().map(Some).collect(),
        }
    }

    /// Whom a rank sends to, likewise.
    ///
    /// # Panics
    /// The rank is not in the topology.
    pub fn destinations(&self, rank: usize) -> Vec<Option<usize>> {
        match self {
            Topology::DistGraph(graph) => graph.destinations.iter().copied().map(Some).collect(),
            Topology::Cart(_) | Topology::Graph(_) => self.sources(rank),
        }
    }
}

/// A rank as the program gave it, as item `index` of the argument `name`, of a communicator with `size` ranks.
fn checked_rank(name: &str, index: usize, rank: i32, size: usize) -> Result<usize> {
    match usize::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => fail!(Rank, "{name}[{index}] is {rank}; the ranks are 0 to {}", size.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests;
