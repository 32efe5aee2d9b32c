//! One rank in the middle: it receives from all, then answers all. Each other rank waits once.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::others;

/// Lets all report to rank 0, which lets them go.
pub(crate) fn barrier(s: &mut ScheduleDraft<'_>, seat: Seat) {
    s.round();
    if seat.me == 0 {
        others(seat).for_each(|rank| {
            s.receive(rank, Span::NOTHING);
        });
        s.round();
        others(seat).for_each(|rank| {
            s.send(rank, Span::NOTHING);
        });
    } else {
        s.send(0, Span::NOTHING).receive(0, Span::NOTHING);
    }
}

/// Sends from the root to all.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, data: Span) {
    s.round();
    if seat.me == root {
        others(seat).for_each(|rank| {
            s.send(rank, data);
        });
    } else {
        s.receive(root, data);
    }
}

/// Reduces at the root, which receives all inputs. The order is that of ranks, for every root.
pub(crate) fn reduce(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, input: Span, result: Span) {
    s.round();
    if seat.me != root {
        s.send(root, input);
        return;
    }
    let mut inputs = receive_all(s, seat, input);
    if seat.me != 0 {
        inputs[seat.me] = s.apart(input, result);
    }
    s.copy(inputs[0], result);
    inputs[1..].iter().for_each(|input| {
        s.reduce(*input, result, false);
    });
}

/// Receives the inputs of all, those of others into scratch.
fn receive_all(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span) -> Vec<Span> {
    let mut inputs = vec![input; seat.ranks];
    for rank in others(seat) {
        inputs[rank] = s.scratch(input.len);
        s.receive(rank, inputs[rank]);
    }
    inputs
}

/// Sends data to rank 0 and receives its answer, which may lie in the same place.
fn ask(s: &mut ScheduleDraft<'_>, question: Span, answer: Span) {
    s.round().send(0, question);
    if question.overlaps(answer) {
        s.round();
    }
    s.receive(0, answer);
}

/// Reduces at rank 0, which sends the result to all.
pub(crate) fn allreduce(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span) {
    if seat.me != 0 {
        return ask(s, input, result);
    }
    reduce(s, seat, 0, input, result);
    s.round();
    others(seat).for_each(|rank| {
        s.send(rank, result);
    });
}

/// Reduces at rank 0, which sends each rank its block.
pub(crate) fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, lens: &[usize], mine: Span) {
    if seat.me != 0 {
        return ask(s, input, mine);
    }
    let result = s.scratch(input.len);
    reduce(s, seat, 0, input, result);
    let blocks = result.split(lens.iter().copied());
    s.copy(blocks[0], mine).round();
    others(seat).for_each(|rank| {
        s.send(rank, blocks[rank]);
    });
}

/// Scans at rank 0, which reduces the inputs one after the other and sends each rank its prefix; without its
/// own input, if exclusive.
pub(crate) fn scan(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span, exclusive: bool) {
    if seat.me != 0 {
        return ask(s, input, result);
    }
    s.round();
    let inputs = receive_all(s, seat, input);
    for pair in inputs.windows(2) {
        s.reduce(pair[0], pair[1], true);
    }
    if !exclusive {
        s.copy(input, result);
    }
    s.round();
    others(seat).for_each(|rank| {
        s.send(rank, inputs[rank - usize::from(exclusive)]);
    });
}

/// Gathers at the root, which receives each block in its place. The root's memory is the limit for long
/// blocks. One message from each rank is the minimum for short ones: a tree would only move bytes more often.
pub(crate) fn gather(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, mine: Span, all: &[Span]) {
    s.round();
    if seat.me != root {
        s.send(root, mine);
        return;
    }
    others(seat).for_each(|rank| {
        s.receive(rank, all[rank]);
    });
    s.copy(mine, all[seat.me]);
}

/// Scatters from the root, which sends each block to its rank.
pub(crate) fn scatter(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, all: &[Span], mine: Span) {
    s.round();
    if seat.me != root {
        s.receive(root, mine);
        return;
    }
    others(seat).for_each(|rank| {
        s.send(rank, all[rank]);
    });
    s.copy(all[seat.me], mine);
}

/// Gathers all blocks at rank 0, which sends all of them to all as one message. Blocks that are not
/// contiguous are packed in scratch.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    let is_whole = all.windows(2).all(|pair| pair[0].at + pair[0].len == pair[1].at);
    let total = all.iter().map(|block| block.len).sum();
    let whole = if is_whole { Span { len: total, ..all[0] } } else { s.scratch(total) };
    let parts = whole.split(all.iter().map(|block| block.len));
    if seat.me == 0 {
        gather(s, seat, 0, mine, &parts);
        s.round();
        others(seat).for_each(|rank| {
            s.send(rank, whole);
        });
    } else {
        ask(s, mine, whole);
    }
    parts.iter().zip(all).for_each(|(part, block)| {
        s.copy(*part, *block);
    });
}
