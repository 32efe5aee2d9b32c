//! The algorithms: pure functions that add one rank's part in a collective to a draft, from a seat and spans
//! of memory.
//!
//! If the input of a reduction lies in the output already, both spans are equal.

pub(crate) mod between;
pub(crate) mod bruck;
pub(crate) mod flat;
pub(crate) mod halving;
pub(crate) mod hosts;
pub(crate) mod long;
pub(crate) mod neighbours;
pub(crate) mod one_level;
pub(crate) mod scan;
pub(crate) mod shared_buffer;
pub(crate) mod short;
pub(crate) mod slices;
pub(crate) mod tree;

use crate::choose::Seat;

/// Returns all members but this rank.
fn others(seat: Seat) -> impl Iterator<Item = usize> {
    (0..seat.ranks).filter(move |rank| *rank != seat.me)
}

/// Returns the target and the source in each step of a rotation: no rank is the target of all others at the
/// same time.
fn rotation(seat: Seat) -> impl Iterator<Item = (usize, usize)> {
    let Seat { me, ranks, .. } = seat;
    (1..ranks).map(move |step| ((me + step) % ranks, (me + ranks - step) % ranks))
}

/// Returns 1, 2, 4 … below `limit`.
fn doubling(limit: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |distance: &usize| distance.checked_mul(2))
        .take_while(move |distance| *distance < limit)
}
