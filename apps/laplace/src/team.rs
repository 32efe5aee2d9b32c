//! The few ways in which those that compute talk to each other.

use crate::error::LaplaceError;

/// An edge swapped with a neighbour: what goes there and what comes from there.
#[derive(Debug)]
pub struct Edge {
    /// The neighbour's number.
    pub peer: usize,
    /// What the neighbour gets.
    pub outgoing: Vec<f64>,
    /// What the neighbour sent; as long as what it sends.
    pub incoming: Vec<f64>,
}

/// All that compute in a run, each a block of its own: the ranks, or all threads of all ranks. Each must make the same calls in
/// the same order, except [`send`](Self::send) and [`receive`](Self::receive), which go in pairs.
pub trait Team {
    /// Own number, from 0.
    fn rank(&self) -> usize;
    /// How many compute.
    fn size(&self) -> usize;
    /// Sends to one of them.
    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError>;
    /// Receives from one of them; `values` is as long as what it sends.
    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError>;
    /// Swaps all edges with the neighbours at once.
    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError>;
    /// The largest value of all.
    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError>;
}
