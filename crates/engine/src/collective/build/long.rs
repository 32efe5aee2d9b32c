//! As few bytes through each rank as there can be: for data so long that messages cost nothing beside it.

use crate::collective::choose::Seat;
use crate::collective::schedule::{Schedule, Span};

use super::short::rotation;

/// Ring: each block travels round once while it is reduced, starting behind its owner, and once more as the result. Each
/// rank sends and receives about twice the data, however many there are.
pub(crate) fn allreduce(seat: Seat, bytes: usize, element: usize) -> Schedule {
    let Seat { me, ranks, .. } = seat;
    let (next, previous) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let block = |number: usize| {
        let start = |n: usize| (bytes / element * n / ranks) * element;
        let number = number % ranks;
        Span::output(start(number), start(number + 1) - start(number))
    };
    let mut s = Schedule::default();
    s.round().copy(Span::input(0, bytes), Span::output(0, bytes));
    let part = s.scratch((bytes / element).div_ceil(ranks) * element);
    for step in 0..ranks - 1 {
        let (out, mine) = (block(me + ranks - step), block(me + 2 * ranks - step - 1));
        let part = Span { len: mine.len, ..part };
        s.round().send(next, out).receive(previous, part).reduce(part, mine, true);
    }
    for step in 0..ranks - 1 {
        s.round().send(next, block(me + ranks + 1 - step)).receive(previous, block(me + ranks - step));
    }
    s
}

/// Ring: each block is handed on from neighbour to neighbour, so that one message is under way per link.
pub(crate) fn allgather(seat: Seat, bytes: usize) -> Schedule {
    let Seat { me, ranks, .. } = seat;
    let block = |number: usize| Span::output(number % ranks * bytes, bytes);
    let mut s = Schedule::default();
    s.round().copy(Span::input(0, bytes), block(me));
    for step in 0..ranks - 1 {
        s.round().send((me + 1) % ranks, block(me + ranks - step));
        s.receive((me + ranks - 1) % ranks, block(me + 2 * ranks - step - 1));
    }
    s
}

/// Pairwise exchange: one message out and one in at a time, each round with other partners.
pub(crate) fn alltoall(seat: Seat, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    s.round().copy(Span::input(seat.me * bytes, bytes), Span::output(seat.me * bytes, bytes));
    for (to, from) in rotation(seat) {
        s.round().send(to, Span::input(to * bytes, bytes)).receive(from, Span::output(from * bytes, bytes));
    }
    s
}
