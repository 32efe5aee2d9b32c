//! Recursive halving: in each round a rank hands half of its rest to a partner, and gets the partner's data
//! of the other half. Each rank has ⌈log₂ N⌉ messages, one after the other, instead of N−1 to the other
//! ranks. It moves hardly more bytes.
//!
//! ```text
//!   rank 0: blocks 0 1 2 3 ──▶ 0 1 ──▶ 0      round 1: with the rank 2 further on or back, each its half
//!   rank 1: blocks 0 1 2 3 ──▶ 0 1 ──▶ 1      round 2: with the rank 1 further on or back
//! ```
//! With more ranks than the largest power of two, some of the first ranks are represented by the rank behind
//! each of them. Operands change places.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

/// The ranks that take part, by new numbers: a power of two.
struct Halves {
    ranks: usize,
    /// The number of them that also represent the rank before them.
    pairs: usize,
}

impl Halves {
    fn of(seat: Seat) -> Self {
        let ranks = (seat.ranks + 1).next_power_of_two() / 2;
        Self { ranks, pairs: seat.ranks - ranks }
    }

    /// Returns the new number of a rank that takes part.
    fn number(&self, rank: usize) -> Option<usize> {
        match rank < 2 * self.pairs {
            true => (rank % 2 == 1).then_some(rank / 2),
            false => Some(rank - self.pairs),
        }
    }

    /// Returns the rank with a new number.
    fn rank(&self, number: usize) -> usize {
        if number < self.pairs { 2 * number + 1 } else { number + self.pairs }
    }

    /// Returns the start of the blocks of a new number, in ranks.
    fn first(&self, number: usize) -> usize {
        number + number.min(self.pairs)
    }
}

/// Builds a reduction of all inputs of which each rank gets its block.
pub(crate) fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, lens: &[usize], mine: Span) {
    let halves = Halves::of(seat);
    let Some(me) = halves.number(seat.me) else {
        s.round().send(seat.me + 1, input);
        s.round().receive(seat.me + 1, mine);
        return;
    };
    let ends: Vec<usize> = std::iter::once(0)
        .chain(lens.iter().scan(0, |end, len| {
            *end += len;
            Some(*end)
        }))
        .collect();
    let end = |number: usize| ends[halves.first(number)];
    let mut have = input;
    if me < halves.pairs {
        have = s.scratch(input.len);
        s.round().receive(seat.me - 1, have).reduce(input, have, false);
    }
    // The rest: blocks of these new numbers, from the begin of `have` on.
    let (mut first, mut count) = (0, halves.ranks);
    while count > 1 {
        count /= 2;
        let (low, high) = (end(first + count) - end(first), end(first + 2 * count) - end(first + count));
        let (lower, upper) = (have.part(0, low), have.part(low, high));
        let is_upper = me & count != 0;
        let (keep, leave) = if is_upper { (upper, lower) } else { (lower, upper) };
        let come = s.scratch(keep.len);
        let partner = halves.rank(me ^ count);
        s.round().send(partner, leave).receive(partner, come).reduce(keep, come, false);
        first += if is_upper { count } else { 0 };
        have = come;
    }
    let others = if me < halves.pairs { lens[seat.me - 1] } else { 0 };
    s.copy(have.part(others, lens[seat.me]), mine);
    if me < halves.pairs {
        s.round().send(seat.me - 1, have.part(0, others));
    }
}
