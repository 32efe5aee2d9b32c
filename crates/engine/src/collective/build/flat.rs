//! One rank in the middle: it receives from all, then answers all. Everybody else waits once.

use canele_sys::ids::Rank;

use crate::collective::choose::Seat;
use crate::collective::schedule::{Schedule, Span};

/// All report to rank 0, which lets them go.
pub(crate) fn barrier(seat: Seat) -> Schedule {
    let mut s = Schedule::default();
    if seat.me == 0 {
        s.round();
        (1..seat.ranks).for_each(|rank| {
            s.receive(rank, Span::NOTHING);
        });
        s.round();
        (1..seat.ranks).for_each(|rank| {
            s.send(rank, Span::NOTHING);
        });
    } else {
        s.round().send(0, Span::NOTHING).receive(0, Span::NOTHING);
    }
    s
}

/// The root sends to all.
pub(crate) fn broadcast(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let (mut s, root) = (Schedule::default(), root.0 as usize);
    if seat.me == root {
        others(seat).for_each(|rank| {
            s.send(rank, Span::output(0, bytes));
        });
    } else {
        s.receive(root, Span::output(0, bytes));
    }
    s
}

/// The root receives all inputs and reduces them in the order of ranks, whoever it is.
pub(crate) fn reduce(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    if seat.me == root.0 as usize {
        reduce_here(&mut s, seat, bytes);
    } else {
        s.send(root.0 as usize, Span::input(0, bytes));
    }
    s
}

fn reduce_here(s: &mut Schedule, seat: Seat, bytes: usize) {
    let mut inputs = vec![Span::input(0, bytes); seat.ranks];
    for rank in others(seat) {
        inputs[rank] = s.scratch(bytes);
        s.receive(rank, inputs[rank]);
    }
    let result = Span::output(0, bytes);
    s.copy(inputs[0], result);
    inputs[1..].iter().for_each(|input| {
        s.reduce(*input, result, false);
    });
}

/// Rank 0 reduces and sends the result to all.
pub(crate) fn allreduce(seat: Seat, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    if seat.me == 0 {
        reduce_here(&mut s, seat, bytes);
        s.round();
        others(seat).for_each(|rank| {
            s.send(rank, Span::output(0, bytes));
        });
    } else {
        s.send(0, Span::input(0, bytes)).receive(0, Span::output(0, bytes));
    }
    s
}

/// The root receives each block where it belongs. The root's memory is the limit for long blocks, and a message from
/// each the least there can be for short ones: a tree would only move bytes more often.
pub(crate) fn gather(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    if seat.me == root.0 as usize {
        gather_here(&mut s, seat, bytes);
    } else {
        s.send(root.0 as usize, Span::input(0, bytes));
    }
    s
}

fn gather_here(s: &mut Schedule, seat: Seat, bytes: usize) {
    others(seat).for_each(|rank| {
        s.receive(rank, Span::output(rank * bytes, bytes));
    });
    s.copy(Span::input(0, bytes), Span::output(seat.me * bytes, bytes));
}

/// The root sends each block to its rank; as `gather`, backwards.
pub(crate) fn scatter(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let (mut s, root) = (Schedule::default(), root.0 as usize);
    if seat.me == root {
        others(seat).for_each(|rank| {
            s.send(rank, Span::input(rank * bytes, bytes));
        });
        s.copy(Span::input(root * bytes, bytes), Span::output(0, bytes));
    } else {
        s.receive(root, Span::output(0, bytes));
    }
    s
}

/// Rank 0 receives all blocks and sends all of them to all.
pub(crate) fn allgather(seat: Seat, bytes: usize) -> Schedule {
    let (mut s, all) = (Schedule::default(), Span::output(0, seat.ranks * bytes));
    if seat.me == 0 {
        gather_here(&mut s, seat, bytes);
        s.round();
        others(seat).for_each(|rank| {
            s.send(rank, all);
        });
    } else {
        s.send(0, Span::input(0, bytes)).receive(0, all);
    }
    s
}

fn others(seat: Seat) -> impl Iterator<Item = usize> {
    (0..seat.ranks).filter(move |rank| *rank != seat.me)
}
