//! The few ways in which the ranks of this program talk to each other.

use std::time::Duration;

use canele_show::Moved;

use crate::error::LaplaceError;

/// An edge swapped with a neighbour: what goes there and what comes from there.
#[derive(Debug)]
pub struct Edge {
    /// The neighbour's rank.
    pub peer: usize,
    /// What the neighbour gets.
    pub outgoing: Vec<f64>,
    /// What the neighbour sent; as long as what it sends.
    pub incoming: Vec<f64>,
}

/// All ranks of a run. Every rank must make the same calls in the same order, except
/// [`send`](Self::send) and [`receive`](Self::receive), which go in pairs.
pub trait Team {
    /// Own number, from 0.
    fn rank(&self) -> usize;
    /// Number of ranks.
    fn size(&self) -> usize;
    /// Gives rank 0's words to all ranks.
    fn broadcast(&mut self, words: &mut [u64]) -> Result<(), LaplaceError>;
    /// Sends to one rank.
    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError>;
    /// Receives from one rank; `values` is as long as what it sends.
    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError>;
    /// Swaps all edges with the neighbours at once.
    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError>;
    /// The largest value of any rank.
    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError>;
    /// What all ranks moved so far and the mean of the times they give; right on rank 0 only.
    fn tally(&mut self, time: Duration) -> Result<(Moved, Duration), LaplaceError>;
}
