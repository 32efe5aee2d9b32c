//! Virtual topologies: the neighbours of ranks in a communicator (MPI 5.0, chapter 8).
//!
//! A topology owns its shape and answers by arithmetic. It never sends messages: the call that makes a
//! distributed graph exchanges its edges. Ranks are those of the communicator.

mod cart;
mod dims;
mod dist_graph;
mod graph;

use crate::{Result, fail};
pub use cart::Cart;
pub use dims::dims_create;
pub use dist_graph::{DistGraph, NamedEdges};
pub use graph::Graph;

/// The topology of a communicator.
#[derive(Clone, Debug)]
pub enum Topology {
    /// A grid.
    Cart(Cart),
    /// A graph of which all ranks know all edges.
    Graph(Graph),
    /// A graph of which each rank knows its own neighbours.
    DistGraph(DistGraph),
}

impl Topology {
    /// Returns the ranks from which a rank receives, in the order of neighbourhood collectives. `None` is
    /// `MPI_PROC_NULL`, which keeps its place.
    ///
    /// # Panics
    /// Panics if the rank is not in the topology.
    pub fn sources(&self, rank: usize) -> Vec<Option<usize>> {
        match self {
            Topology::Cart(cart) => cart.neighbours(rank),
            Topology::Graph(graph) => graph.neighbours(rank).iter().copied().map(Some).collect(),
            Topology::DistGraph(graph) => graph.sources.iter().copied().map(Some).collect(),
        }
    }

    /// Returns the ranks to which a rank sends, in the order of neighbourhood collectives.
    ///
    /// # Panics
    /// Panics if the rank is not in the topology.
    pub fn destinations(&self, rank: usize) -> Vec<Option<usize>> {
        match self {
            Topology::DistGraph(graph) => graph.destinations.iter().copied().map(Some).collect(),
            Topology::Cart(_) | Topology::Graph(_) => self.sources(rank),
        }
    }
}

/// Checks a rank that the program passed as item `index` of argument `name`, on a communicator of `size`
/// ranks.
fn checked_rank(name: &str, index: usize, rank: i32, size: usize) -> Result<usize> {
    match usize::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => fail!(Rank, "{name}[{index}] is {rank}; the ranks are 0 to {}", size.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests;
