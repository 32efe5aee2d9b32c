//! The computing threads of all ranks of a job as a [`Team`]: the only file of this program that sends messages.
//!
//! Member `rank × threads + thread` of the team is a thread of that rank. Tags of messages between ranks name
//! the sending and the receiving thread; threads of one rank use [`Channels`]. Edges are swapped as
//! non-blocking operations of one scope. So all neighbours transfer at once, and no order of ranks can
//! deadlock.

use std::time::Duration;

use canele::{Flow, Job, Op, Rank, Tag};
use canele_show::Moved;

use crate::error::LaplaceError;
use crate::layout::Side;
use crate::local::Channels;
use crate::team::{Edge, Team};

/// The kind of a message.
#[derive(Clone, Copy)]
enum Kind {
    Edge = 1,
    Part = 2,
}

/// Largest bytes of a short edge: it is copied when it is sent, and received without a request.
const SHORT_BYTES: usize = 4096;

/// Most edges of a block.
const SIDES: usize = Side::ALL.len();

/// Most threads of a rank, because three numbers share a tag.
pub const MOST_THREADS: usize = 1 << 10;

/// All ranks of a job, each with the same number of computing threads.
pub struct Ranks<'a> {
    job: &'a Job,
    flow: Flow,
    threads: usize,
}

impl<'a> Ranks<'a> {
    /// Makes the ranks of `job`, each with `threads` computing threads.
    pub fn new(job: &'a Job, threads: usize) -> Self {
        Self { job, flow: job.world(), threads }
    }

    /// Returns the number of this rank, from 0.
    pub fn rank(&self) -> usize {
        self.job.rank().0 as usize
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.job.size() as usize
    }

    /// Returns the number of computing threads of each rank.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the number of computing threads of all ranks.
    pub fn members(&self) -> usize {
        self.ranks() * self.threads
    }

    /// Returns this rank's members of the team, one for each thread.
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

    /// Sends rank 0's words to all ranks.
    ///
    /// # Errors
    /// Communication failed, as for all calls.
    pub fn broadcast(&self, words: &mut [u64]) -> Result<(), LaplaceError> {
        Ok(self.flow.broadcast(Rank(0), words)?)
    }

    /// Returns the sum of data moved by all ranks and the mean of their times; it is valid on rank 0 only.
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
    /// Returns the rank of a member.
    fn rank_of(&self, member: usize) -> Rank {
        // Ranks have 32 bits everywhere, so no number is truncated.
        Rank((member / self.threads) as u32)
    }

    /// Returns the thread of a member, if it is one of this rank.
    fn beside(&self, member: usize) -> Option<usize> {
        (self.rank_of(member) == self.flow.rank()).then_some(member % self.threads)
    }

    fn tag(kind: Kind, from: usize, to: usize) -> Tag {
        Tag((((kind as usize * MOST_THREADS) + from) * MOST_THREADS + to) as u32)
    }

    /// Returns the tag of this thread's messages to a member.
    fn tag_to(&self, kind: Kind, member: usize) -> Tag {
        Self::tag(kind, self.thread, member % self.threads)
    }

    /// Returns the tag of a member's messages to this thread.
    fn tag_from(&self, kind: Kind, member: usize) -> Tag {
        Self::tag(kind, member % self.threads, self.thread)
    }

    /// Swaps short edges with members of other ranks. A blocking receive needs no request.
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
            // All receives precede all sends, so that each message finds its receive posted.
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

    /// Agrees on the maximum; thread 0 does so with the other ranks for all threads of its rank.
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
