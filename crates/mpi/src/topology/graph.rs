//! Graphs that all ranks know whole (MPI 5.0, §8.5.3).

use super::checked_rank;
use crate::{Result, fail};

/// A graph of ranks: the edges of rank `i` are those before `index[i]` that are not of the ranks before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    index: Vec<usize>,
    edges: Vec<usize>,
}

impl Graph {
    /// How many edges a list of nodes says there are.
    ///
    /// # Errors
    /// An entry is negative or smaller than the one before.
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

    /// The graph that these lists describe, for a communicator of `ranks` ranks.
    ///
    /// # Errors
    /// The lists do not fit each other, an edge goes to no node, or there are fewer ranks than nodes.
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

    /// The number of nodes.
    pub fn size(&self) -> usize {
        self.index.len()
    }

    /// Where the edges of each node end.
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    /// The edges of all nodes, one node's after the other's.
    pub fn edges(&self) -> &[usize] {
        &self.edges
    }

    /// The rank in the graph of a rank of the communicator it is made from, if it is a node.
    pub fn map(&self, rank: usize) -> Option<usize> {
        (rank < self.size()).then_some(rank)
    }

    /// The neighbours of a rank.
    ///
    /// # Panics
    /// It is not a node.
    pub fn neighbours(&self, rank: usize) -> &[usize] {
        let start = rank.checked_sub(1).map_or(0, |before| self.index[before]);
        &self.edges[start..self.index[rank]]
    }
}
