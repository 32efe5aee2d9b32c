//! The ranks of a job as a [`Team`]: the only file of this program that communicates.
//!
//! Edges are swapped as non-blocking operations of one scope, so that all neighbours transfer at
//! once and no order of ranks can deadlock.

use std::time::Duration;

use canele::{Flow, Job, Op, Rank, Tag};
use canele_show::Moved;

use crate::error::LaplaceError;
use crate::team::{Edge, Team};

const EDGE: Tag = Tag(1);
const PART: Tag = Tag(2);

/// All ranks of a job.
pub struct Ranks<'a> {
    job: &'a Job,
    flow: Flow,
}

impl<'a> Ranks<'a> {
    /// The team of the ranks of `job`.
    pub fn new(job: &'a Job) -> Self {
        Self { job, flow: job.world() }
    }
}

impl Team for Ranks<'_> {
    fn rank(&self) -> usize {
        self.job.rank().0 as usize
    }

    fn size(&self) -> usize {
        self.job.size() as usize
    }

    fn broadcast(&mut self, words: &mut [u64]) -> Result<(), LaplaceError> {
        Ok(self.flow.broadcast(Rank(0), words)?)
    }

    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError> {
        Ok(self.flow.send(rank(to), PART, values)?)
    }

    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError> {
        self.flow.recv(rank(from), PART, values)?;
        Ok(())
    }

    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError> {
        let swapped = self.flow.scope(|scope| {
            // All receives before all sends: what arrives finds its place waiting.
            let mut sends = Vec::with_capacity(edges.len());
            for Edge { peer, outgoing, incoming } in edges.iter_mut() {
                scope.irecv(rank(*peer), EDGE, incoming.as_mut_slice())?;
                sends.push((rank(*peer), outgoing.as_slice()));
            }
            sends.into_iter().try_for_each(|(peer, edge)| scope.isend(peer, EDGE, edge).map(drop))
        });
        Ok(swapped?)
    }

    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError> {
        let mut largest = [value];
        self.flow.allreduce(&[value], &mut largest, Op::Max)?;
        Ok(largest[0])
    }

    fn tally(&mut self, time: Duration) -> Result<(Moved, Duration), LaplaceError> {
        let own = Moved::by(&self.job.endpoint().counters()?).numbers();
        let (mut sums, mut times) = (own, [0]);
        self.flow.reduce(Rank(0), &own, &mut sums, Op::Sum)?;
        self.flow.reduce(Rank(0), &[time.as_nanos() as u64], &mut times, Op::Sum)?;
        Ok((Moved::from_numbers(sums), Duration::from_nanos(times[0] / self.size() as u64)))
    }
}

/// Ranks are counted in 32 bits everywhere, so none is lost.
fn rank(number: usize) -> Rank {
    Rank(number as u32)
}
