//! Bruck's alltoall and allgather: ⌈log₂ N⌉ messages of each rank, one after the other, instead of N−1 to the
//! other ranks.
//!
//! ```text
//!   turned: block i is for the rank i behind this one
//!   round k: all blocks whose number has bit k ──▶ the rank 2ᵏ behind; as many come from the rank 2ᵏ before
//!   in the end block i is from the rank i before this one: turned back, and put in the order of ranks
//! ```
//! The bits of a block's number are the rounds in which it travels; half of all blocks travel in a round.
//! Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
//! message-passing systems", 1997.

use crate::choose::Seat;
use crate::schedule::{Blocks, ScheduleDraft, Span};

use super::doubling;

/// Builds the alltoall, for blocks of `bytes` that are contiguous in `from` and in the output.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: Span, bytes: usize) {
    let Seat { me, ranks, .. } = seat;
    let most = doubling(ranks).map(|distance| travelling(ranks, distance)).max().unwrap_or(0);
    let (turned, out, come) = (s.scratch(ranks * bytes), s.scratch(most * bytes), s.scratch(most * bytes));
    let part =
        |of: Span, first: usize, count: usize| Span { at: of.at + first * bytes, len: count * bytes, ..of };
    s.round().copy(part(from, me, ranks - me), part(turned, 0, ranks - me));
    s.copy(part(from, 0, me), part(turned, ranks - me, me));
    for distance in doubling(ranks) {
        // Blocks with the bit stand in runs of `distance`, a period apart; the last run may be shorter.
        let (period, len) = (2 * distance, travelling(ranks, distance));
        let (count, step) = (ranks / period, distance * bytes);
        let (full, first) = (count * distance, (count * period + distance).min(ranks));
        let (runs, last) = (part(turned, distance, distance), part(turned, first, len - full));
        let packed = |of: Span| (part(of, 0, distance), part(of, full, len - full));
        s.scatter(Blocks {
            from: runs,
            from_step: 2 * step,
            into: packed(out).0,
            into_step: step as isize,
            count,
        });
        s.copy(last, packed(out).1);
        s.round().send((me + distance) % ranks, part(out, 0, len));
        s.receive((me + ranks - distance) % ranks, part(come, 0, len));
        s.scatter(Blocks {
            from: packed(come).0,
            from_step: step,
            into: runs,
            into_step: 2 * step as isize,
            count,
        });
        s.copy(packed(come).1, last);
    }
    // Block i is from the rank i before this one: backwards from this one, and then from the last.
    let mut back = |first: usize, rank: usize, count: usize| {
        let (from, into) = (part(turned, first, 1), Span::output(rank * bytes, bytes));
        s.scatter(Blocks { from, from_step: bytes, into, into_step: -(bytes as isize), count });
    };
    back(0, me, me + 1);
    back(me + 1, ranks - 1, ranks - me - 1);
}

/// Builds the allgather: in round k each rank hands the 2ᵏ blocks from its own on to the rank 2ᵏ before it.
/// They wait in scratch, turned: its own first.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    let Seat { me, ranks, .. } = seat;
    let turned = s.scratch(all.iter().map(|block| block.len).sum());
    let parts = turned.split((0..ranks).map(|n| all[(me + n) % ranks].len));
    s.round().copy(mine, parts[0]);
    for distance in doubling(ranks) {
        let count = distance.min(ranks - distance);
        let (to, from) = ((me + ranks - distance) % ranks, (me + distance) % ranks);
        let part = |from: usize| Span::joined(&parts[from..from + count]).expect("scratch in one piece");
        s.round().send(to, part(0)).receive(from, part(distance));
    }
    let (before, behind) = parts.split_at(ranks - me);
    for (parts, blocks) in [(before, &all[me..]), (behind, &all[..me])] {
        match Span::joined(parts).zip(Span::joined(blocks)) {
            Some((parts, blocks)) => {
                s.copy(parts, blocks);
            }
            None => parts.iter().zip(blocks).for_each(|(part, block)| {
                s.copy(*part, *block);
            }),
        }
    }
}

/// Returns the number of numbers below `ranks` that have the bit `distance`.
fn travelling(ranks: usize, distance: usize) -> usize {
    ranks / (2 * distance) * distance + (ranks % (2 * distance)).saturating_sub(distance)
}
