//! Which algorithm a collective takes. Decided by what is equal on all ranks and by nothing else, so that all take the
//! same one and a result has the same bits in every run (invariant I28).
//!
//! | | crowded and short | short | long |
//! |---|---|---|---|
//! | barrier | flat | dissemination | |
//! | broadcast | flat | binomial | binomial |
//! | reduce | flat | binomial | binomial |
//! | allreduce | flat | recursive doubling | ring |
//! | gather, scatter | linear | linear | linear |
//! | allgather | flat | burst | ring |
//! | alltoall | burst; Bruck's with many ranks and blocks of a few bytes | burst; likewise | pairwise |
//!
//! *Crowded*: the ranks of a host share processors. There a round that waits costs a change of processes, so the flat
//! algorithms win: everybody waits once, for rank 0 (or the root). With a processor for each, what counts is the number
//! of messages one after the other.

use canele_sys::ids::Rank;

use super::build::{bruck, flat, long, short};
use super::schedule::Schedule;

/// Up to this many bytes at the one rank that does the work of all, the flat algorithms win on crowded processors.
const FLAT_BYTES: usize = 16 << 10;
/// Up to this many bytes per message the time is that of a message, not of its bytes.
const SHORT_BYTES: usize = 32 << 10;

/// From so many ranks on, with blocks of at most so many bytes, a message for each rank costs more time than to have most
/// bytes carried by others first.
const BRUCK_RANKS: usize = 64;
const BRUCK_BYTES: usize = 256;

/// What all ranks do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// Nobody leaves before everybody has come.
    Barrier,
    /// The root's output becomes everybody's output.
    Broadcast(Rank),
    /// The root's output becomes the reduction of all inputs.
    Reduce(Rank),
    /// Everybody's output becomes the reduction of all inputs.
    Allreduce,
    /// The root's output becomes all inputs, in the order of ranks.
    Gather(Rank),
    /// Each rank's output becomes its block of the root's input.
    Scatter(Rank),
    /// Everybody's output becomes all inputs, in the order of ranks.
    Allgather,
    /// Block `r` of each rank's input becomes the block of that rank in the output of rank `r`.
    Alltoall,
}

/// A collective without its memory; equal on all ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// What is done.
    pub operation: Operation,
    /// Bytes of one block: what one rank contributes to one rank.
    pub bytes: usize,
    /// Bytes of one element; reductions never cut one.
    pub element: usize,
}

/// Where a schedule is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub me: usize,
    pub ranks: usize,
    pub crowded: bool,
}

/// The part of rank `seat.me` in a collective.
pub(crate) fn schedule(seat: Seat, shape: Shape) -> Schedule {
    let Shape { operation, bytes, element } = shape;
    // What the rank in the middle of a flat algorithm handles.
    let is_flat = |bytes: usize| seat.crowded && bytes.saturating_mul(seat.ranks) <= FLAT_BYTES;
    let is_short = bytes <= SHORT_BYTES;
    match operation {
        Operation::Barrier if seat.crowded => flat::barrier(seat),
        Operation::Barrier => short::barrier(seat),
        Operation::Broadcast(root) if is_flat(bytes) => flat::broadcast(seat, root, bytes),
        Operation::Broadcast(root) => short::broadcast(seat, root, bytes),
        Operation::Reduce(root) if is_flat(bytes) => flat::reduce(seat, root, bytes),
        Operation::Reduce(root) => short::reduce(seat, root, bytes),
        Operation::Allreduce if is_flat(bytes) => flat::allreduce(seat, bytes),
        Operation::Allreduce if is_short => short::allreduce(seat, bytes),
        Operation::Allreduce => long::allreduce(seat, bytes, element),
        Operation::Gather(root) => flat::gather(seat, root, bytes),
        Operation::Scatter(root) => flat::scatter(seat, root, bytes),
        // The middle sends everything to everybody.
        Operation::Allgather if is_flat(bytes.saturating_mul(seat.ranks)) => flat::allgather(seat, bytes),
        Operation::Allgather if is_short => short::allgather(seat, bytes),
        Operation::Allgather => long::allgather(seat, bytes),
        Operation::Alltoall if seat.ranks >= BRUCK_RANKS && bytes <= BRUCK_BYTES => {
            bruck::alltoall(seat, bytes)
        }
        Operation::Alltoall if is_short => short::alltoall(seat, bytes),
        Operation::Alltoall => long::alltoall(seat, bytes),
    }
}
