//! The operations by which computing members communicate.

use crate::error::LaplaceError;

/// An edge that is swapped with a neighbour.
#[derive(Debug)]
pub struct Edge {
    /// The neighbour's number.
    pub peer: usize,
    /// The values for the neighbour.
    pub outgoing: Vec<f64>,
    /// The values of the neighbour; as long as those that it sends.
    pub incoming: Vec<f64>,
}

/// The members of a run, each with its own block: the ranks, or all threads of all ranks. Each member makes
/// the same calls in the same order, except [`send`](Self::send) and [`receive`](Self::receive), which form
/// pairs.
pub trait Team {
    /// Returns the number of this member, from 0.
    fn rank(&self) -> usize;
    /// Returns the number of members.
    fn size(&self) -> usize;
    /// Sends to one member.
    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError>;
    /// Receives from one member; `values` is as long as the data that it sends.
    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError>;
    /// Swaps all edges with the neighbours at once.
    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError>;
    /// Returns the largest value of all members.
    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError>;
}
