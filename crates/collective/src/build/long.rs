//! Algorithms with the fewest bytes through each rank, for data so long that messages cost little beside it.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::rotation;

/// The part of a long vector that each rank reduces at a time.
const PART_BYTES: usize = 128 << 10;
/// The part of a shorter vector: one packet carries it, and needs no request.
const PACKET_BYTES: usize = 16 << 10;
/// The greatest length of a shorter vector, per rank.
const PACKED_BYTES: usize = 32 << 10;

/// Ring: each block travels round once while it is reduced, starting behind its owner, and once more as the
/// result. Each rank sends and receives about twice the data, for any number of ranks. Operands change
/// places. No other data is copied: received blocks go into the result, to be reduced with the input there,
/// unless the input lies there.
///
/// If each rank has a processor, a part that fits its cache is reduced and handed on before the next one is
/// begun.
pub(crate) fn allreduce(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span, element: usize) {
    let part = if result.len <= PACKED_BYTES * seat.ranks { PACKET_BYTES } else { PART_BYTES };
    let most = if seat.oversubscribed { result.len } else { part * seat.ranks };
    let most = most.next_multiple_of(element);
    for at in (0..result.len).step_by(most) {
        let len = most.min(result.len - at);
        ring(s, seat, input.part(at, len), result.part(at, len), element);
    }
}

fn ring(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span, element: usize) {
    let Seat { me, ranks, .. } = seat;
    let (next, previous) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let start = |n: usize| (result.len / element * n / ranks) * element;
    let block = |of: Span, number: usize| {
        let number = number % ranks;
        of.part(start(number), start(number + 1) - start(number))
    };
    let part = (input == result).then(|| s.scratch((result.len / element).div_ceil(ranks) * element));
    let mut have = block(input, me);
    for step in 0..ranks - 1 {
        let number = me + 2 * ranks - step - 1;
        let (own, reduced) = (block(input, number), block(result, number));
        s.round().send(next, have);
        match part.map(|part| part.part(0, own.len)) {
            Some(part) => s.receive(previous, part).reduce(part, own, true),
            None => s.receive(previous, reduced).reduce(own, reduced, false),
        };
        have = reduced;
    }
    for step in 0..ranks - 1 {
        let number = me + ranks + 1 - step;
        s.round().send(next, block(result, number)).receive(previous, block(result, number + ranks - 1));
    }
    if ranks == 1 {
        s.copy(input, result);
    }
}

/// Ring: each block travels round once while it is reduced, from the rank behind its owner to the owner.
/// Operands change places.
pub(crate) fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, lens: &[usize], mine: Span) {
    let Seat { me, ranks, .. } = seat;
    let (next, previous) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
    let (blocks, most) = (input.split(lens.iter().copied()), lens.iter().copied().max().unwrap_or(0));
    let turns = [s.scratch(most), s.scratch(most)];
    let mut have = blocks[previous];
    for step in 0..ranks - 1 {
        let own = blocks[(me + 2 * ranks - step - 2) % ranks];
        let part = turns[step % 2].part(0, own.len);
        s.round().send(next, have).receive(previous, part).reduce(own, part, false);
        have = part;
    }
    s.copy(have, mine);
}

/// Ring: each block is handed on from neighbour to neighbour, so that one message is under way per link.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    let Seat { me, ranks, .. } = seat;
    let mut have = mine;
    for step in 0..ranks - 1 {
        let coming = all[(me + 2 * ranks - step - 1) % ranks];
        s.round().send((me + 1) % ranks, have).receive((me + ranks - 1) % ranks, coming);
        have = coming;
    }
    s.copy(mine, all[me]);
}

/// Pairwise exchange: one message out and one in at a time, each round with other partners.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: &[Span], into: &[Span]) {
    for (to, source) in rotation(seat) {
        s.round().send(to, from[to]).receive(source, into[source]);
    }
    s.copy(from[seat.me], into[seat.me]);
}

/// Pairwise exchange in place: in each round pairs exchange their blocks, through scratch for one.
pub(crate) fn alltoall_in_place(s: &mut ScheduleDraft<'_>, seat: Seat, all: &[Span]) {
    let Seat { me, ranks, .. } = seat;
    let part = s.scratch(all.iter().map(|block| block.len).max().unwrap_or(0));
    for turn in 0..ranks {
        let partner = (turn + ranks - me) % ranks;
        if partner != me {
            let part = part.part(0, all[partner].len);
            s.round().send(partner, all[partner]).receive(partner, part).copy(part, all[partner]);
        }
    }
}
