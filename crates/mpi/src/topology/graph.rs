//! Graphs of which all ranks know all edges (MPI 5.0, §8.5.3).

use super::checked_rank;
use crate::{Result, fail};

/// A graph of ranks: `index[i]` is the number of edges of the ranks up to `i`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    index: Vec<usize>,
    edges: Vec<usize>,
}

impl Graph {
    /// Returns the number of edges for a list of nodes.
    ///
    /// # Errors
    /// Fails if an entry is negative or smaller than the one before.
    pub fn edge_count(index: &[i32]) -> Result<usize> {
        let mut before = 0;
        for (node, &end) in index.iter().enumerate() {
            if end < before {
                fail!(
                    Argument,
                    "index[{node}] is {end}; its edges begin at {before}, so it cannot be smaller"
                );
            }
            before = end;
        }
        Ok(before as usize)
    }

    /// Makes the graph of these lists, for a communicator of `ranks` ranks.
    ///
    /// # Errors
    /// Fails if the lists do not match, an edge goes to no node, or there are fewer ranks than nodes.
    pub fn new(index: &[i32], edges: &[i32], ranks: usize) -> Result<Self> {
        if index.len() > ranks {
            fail!(Topology, "nnodes is {}, but the communicator has {ranks} ranks", index.len());
        }
        let count = Self::edge_count(index)?;
        if count != edges.len() {
            fail!(Argument, "edges has {} entries, but index says {count}", edges.len());
        }
        let edge = |(at, &rank)| checked_rank("edges", at, rank, index.len());
        let edges = edges.iter().enumerate().map(edge).collect::<Result<_>>()?;
        Ok(Self { index: index.iter().map(|&end| end as usize).collect(), edges })
    }

    /// Returns the number of nodes.
    pub fn size(&self) -> usize {
        self.index.len()
    }

    /// Returns the end index of each node's edges.
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    /// Returns the edges of all nodes, in the order of nodes.
    pub fn edges(&self) -> &[usize] {
        &self.edges
    }

    /// Returns the rank in the graph of a rank of the old communicator, if it is a node.
    pub fn map(&self, rank: usize) -> Option<usize> {
        (rank < self.size()).then_some(rank)
    }

    /// Returns the neighbours of a rank.
    ///
    /// # Panics
    /// Panics if the rank is not a node.
    pub fn neighbours(&self, rank: usize) -> &[usize] {
        let start = rank.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start..self.index[rank]]
    }
}
