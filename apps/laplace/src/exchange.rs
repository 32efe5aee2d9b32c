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
    flow: &'a Flow,
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
        self.flow.broadcast(Rank(0), words).map_err(failed)
    }

    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError> {
        self.flow.send(rank(to), PART, values).map_err(failed)
    }

    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError> {
        self.flow.recv(rank(from), PART, values).map(drop).map_err(failed)
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
        swapped.map_err(failed)
    }

    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError> {
        let mut largest = [value];
        self.flow.allreduce(&[value], &mut largest, Op::Max).map_err(failed)?;
        Ok(largest[0])
    }

    fn tally(&mut self, time: Duration) -> Result<(Moved, Duration), LaplaceError> {
        let counters = self.job.endpoint().counters();
        let names = ["short", "eager", "rendezvous"];
        let counts = ["sent_messages", "sent_bytes", "sent_short", "sent_eager", "sent_rendezvous"];
        let mut own = counts.map(|name| counters.get(name)).to_vec();
        own.push(time.as_nanos() as u64);
        let mut sums = vec![0; own.len()];
        self.flow.reduce(Rank(0), &own, &mut sums, Op::Sum).map_err(failed)?;
        let protocols = names.into_iter().zip(sums[2..].iter().copied()).collect();
        let mean = Duration::from_nanos(sums[5] / self.size() as u64);
        Ok((Moved { messages: sums[0], bytes: sums[1], protocols }, mean))
    }
}

/// Ranks are counted in 32 bits everywhere, so none is lost.
fn rank(number: usize) -> Rank {
    Rank(number as u32)
}

fn failed(error: canele::Error) -> LaplaceError {
    LaplaceError::Communication(Box::new(error))
}
