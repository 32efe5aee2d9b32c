//! The computing threads of all ranks of a job as a [`Team`]: the only file of this program that sends messages.
//!
//! Member `rank × threads + thread` of the team is a thread of that rank. Messages between ranks say in their tags from which thread to which
//! they go; threads of one rank use [`Channels`]. Edges are swapped as non-blocking operations of one scope, so that all neighbours transfer
//! at once and no order of ranks can deadlock.

use std::time::Duration;

use canele::{Flow, Job, Op, Rank, Tag};
use canele_show::Moved;

use crate::error::LaplaceError;
use crate::layout::Side;
use crate::local::Channels;
use crate::team::{Edge, Team};

/// What a message is.
#[derive(Clone, Copy)]
enum Kind {
    Edge = 1,
    Part = 2,
}

/// Edges up to here are short: they are copied when they are sent, and received without a request.
const SHORT_BYTES: usize = 4096;

/// Edges of a block at most.
const SIDES: usize = Side::ALL.len();

/// Threads of a rank at most: three numbers share a tag.
pub const MOST_THREADS: usize = 1 << 10;

/// All ranks of a job, each with the same number of computing threads.
pub struct Ranks<'a> {
    job: &'a Job,
    flow: Flow,
    threads: usize,
}

impl<'a> Ranks<'a> {
    /// The ranks of `job`, each with so many computing threads.
    pub fn new(job: &'a Job, threads: usize) -> Self {
        Self { job, flow: job.world(), threads }
    }

    /// Own number, from 0.
    pub fn rank(&self) -> usize {
        self.job.rank().0 as usize
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.job.size() as usize
    }

    /// Computing threads of each rank.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Number of computing threads of all ranks.
    pub fn members(&self) -> usize {
        self.ranks() * self.threads
    }

    /// This rank's members of the team, one for each thread.
    pub fn own_members(&self) -> Vec<Member> {
        let member = |(thread, channels)| Member {
            flow: self.flow.clone(),
            members: self.members(),
            threads: self.threads,
            thread,
            channels,
        };
        Channels::between(self.threads).into_iter().enumerate().map(member).collect()
    }

    /// Gives rank 0's words to all ranks.
    ///
    /// # Errors
    /// Communication failed; so of all calls.
    pub fn broadcast(&self, words: &mut [u64]) -> Result<(), LaplaceError> {
        Ok(self.flow.broadcast(Rank(0), words)?)
    }

    /// What all ranks moved so far and the mean of the times they give; right on rank 0 only.
    ///
    /// # Errors
    /// Communication failed.
    pub fn sum_up(&self, time: Duration) -> Result<(Moved, Duration), LaplaceError> {
        let own = Moved::by(&self.job.endpoint().counters()?).numbers();
        let (mut sums, mut times) = (own, [0]);
        self.flow.reduce(Rank(0), &own, &mut sums, Op::Sum)?;
        self.flow.reduce(Rank(0), &[time.as_nanos() as u64], &mut times, Op::Sum)?;
        Ok((Moved::from_numbers(sums), Duration::from_nanos(times[0] / self.ranks() as u64)))
    }
}

/// One computing thread of a rank.
pub struct Member {
    flow: Flow,
    members: usize,
    threads: usize,
    thread: usize,
    channels: Channels,
}

impl Member {
    /// The rank of a member.
    fn rank_of(&self, member: usize) -> Rank {
        // Ranks are counted in 32 bits everywhere, so none is lost.
        Rank((member / self.threads) as u32)
    }

    /// The thread of a member, if it is one of this rank.
    fn beside(&self, member: usize) -> Option<usize> {
        (self.rank_of(member) == self.flow.rank()).then_some(member % self.threads)
    }

    fn tag(kind: Kind, from: usize, to: usize) -> Tag {
        Tag((((kind as usize * MOST_THREADS) + from) * MOST_THREADS + to) as u32)
    }

    /// The tag of what this thread sends to a member.
    fn tag_to(&self, kind: Kind, member: usize) -> Tag {
        Self::tag(kind, self.thread, member % self.threads)
    }

    /// The tag of what a member sends to this thread.
    fn tag_from(&self, kind: Kind, member: usize) -> Tag {
        Self::tag(kind, member % self.threads, self.thread)
    }

    /// Swaps short edges with members of other ranks. A receive that blocks needs no request.
    fn swap_short(&self, edges: &mut [Edge]) -> Result<(), LaplaceError> {
        let swapped = self.flow.scope(|scope| {
            let mut receives: [_; SIDES] = std::array::from_fn(|_| None);
            for (Edge { peer, outgoing, incoming }, receive) in edges.iter_mut().zip(&mut receives) {
                if self.beside(*peer).is_none() {
                    scope.isend(self.rank_of(*peer), self.tag_to(Kind::Edge, *peer), outgoing.as_slice())?;
                    *receive = Some((*peer, incoming));
                }
            }
            receives.into_iter().flatten().try_for_each(|(peer, incoming)| {
                self.flow.recv(self.rank_of(peer), self.tag_from(Kind::Edge, peer), incoming).map(drop)
            })
        });
        Ok(swapped?)
    }

    /// Swaps the edges with members of other ranks.
    fn swap_remote(&self, edges: &mut [Edge]) -> Result<(), LaplaceError> {
        let swapped = self.flow.scope(|scope| {
            // All receives before all sends: what arrives finds its place waiting.
            let mut sends = Vec::with_capacity(edges.len());
            for Edge { peer, outgoing, incoming } in edges.iter_mut() {
                if self.beside(*peer).is_none() {
                    let tag = self.tag_from(Kind::Edge, *peer);
                    scope.irecv(self.rank_of(*peer), tag, incoming.as_mut_slice())?;
                    sends.push((*peer, outgoing.as_slice()));
                }
            }
            sends.into_iter().try_for_each(|(peer, edge)| {
                scope.isend(self.rank_of(peer), self.tag_to(Kind::Edge, peer), edge).map(drop)
            })
        });
        Ok(swapped?)
    }
}

impl Team for Member {
    fn rank(&self) -> usize {
        self.flow.rank().0 as usize * self.threads + self.thread
    }

    fn size(&self) -> usize {
        self.members
    }

    fn send(&mut self, to: usize, values: &[f64]) -> Result<(), LaplaceError> {
        match self.beside(to) {
            Some(thread) => self.channels.send(thread, values.to_vec()),
            None => Ok(self.flow.send(self.rank_of(to), self.tag_to(Kind::Part, to), values)?),
        }
    }

    fn receive(&mut self, from: usize, values: &mut [f64]) -> Result<(), LaplaceError> {
        match self.beside(from) {
            Some(thread) => values.copy_from_slice(&self.channels.receive(thread)?),
            None => drop(self.flow.recv(self.rank_of(from), self.tag_from(Kind::Part, from), values)?),
        }
        Ok(())
    }

    fn swap(&mut self, edges: &mut [Edge]) -> Result<(), LaplaceError> {
        let mut are_remote = false;
        for edge in edges.iter_mut() {
            match self.beside(edge.peer) {
                Some(thread) => self.channels.send(thread, std::mem::take(&mut edge.outgoing))?,
                None => are_remote = true,
            }
        }
        if are_remote && edges.iter().all(|edge| size_of_val(edge.incoming.as_slice()) <= SHORT_BYTES) {
            self.swap_short(edges)?;
        } else if are_remote {
            self.swap_remote(edges)?;
        }
        for edge in edges.iter_mut() {
            if let Some(thread) = self.beside(edge.peer) {
                edge.incoming = self.channels.receive(thread)?;
            }
        }
        Ok(())
    }

    /// Thread 0 agrees with the other ranks for all threads of its own.
    fn maximum(&mut self, value: f64) -> Result<f64, LaplaceError> {
        if self.thread > 0 {
            self.channels.send(0, vec![value])?;
            return Ok(self.channels.receive(0)?.first().copied().unwrap_or(value));
        }
        let mut own = value;
        for thread in 1..self.threads {
            own = self.channels.receive(thread)?.into_iter().fold(own, f64::max);
        }
        let mut largest = [own];
        self.flow.allreduce(&[own], &mut largest, Op::Max)?;
        for thread in 1..self.threads {
            self.channels.send(thread, largest.to_vec())?;
        }
        Ok(largest[0])
    }
}
