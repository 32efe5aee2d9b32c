//! Algorithms with the fewest messages one after the other, for data so short that it adds nothing to the
//! cost of a message.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::tree::Tree;
use super::{doubling, others, rotation, slices};

/// Dissemination: in round `k` each rank learns, from the rank 2ᵏ before it, of 2ᵏ more.
pub(crate) fn barrier(s: &mut ScheduleDraft<'_>, seat: Seat) {
    let Seat { me, ranks, .. } = seat;
    for distance in doubling(ranks) {
        let (next, previous) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
        s.round().send(next, Span::NOTHING).receive(previous, Span::NOTHING);
    }
}

/// Binomial tree: a rank that has the data sends it on, the largest subtree first.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, data: Span) {
    let tree = Tree::new(seat, root);
    if let Some(parent) = tree.parent() {
        s.round().receive(parent, data);
    }
    s.round();
    let children: Vec<usize> = tree.children().collect();
    children.iter().rev().for_each(|child| {
        s.send(*child, data);
    });
}

/// Binomial tree, upwards: the smallest subtree, which is ready first, comes first. A subtree holds
/// consecutive ranks, counted from the root.
pub(crate) fn reduce(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, input: Span, result: Span) {
    let tree = Tree::new(seat, root);
    let (parent, mut sum) = (tree.parent(), input);
    for (n, child) in tree.children().enumerate() {
        if n == 0 {
            sum = if parent.is_some() { s.scratch(input.len) } else { result };
            s.round().copy(input, sum);
        }
        // A block of scratch for each child costs memory, and lets the next message arrive in place
        // meanwhile.
        let part = s.scratch(input.len);
        s.round().receive(child, part).reduce(part, sum, false);
    }
    match parent {
        Some(parent) => s.round().send(parent, sum),
        None => s.copy(sum, result),
    };
}

/// Binomial tree of rank 0, which hands the result on: for operands that must not change places.
pub(crate) fn reduce_in_order(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, input: Span, result: Span) {
    if root == 0 || seat.ranks == 1 {
        return reduce(s, seat, 0, input, result);
    }
    let sum = if seat.me == 0 { s.scratch(input.len) } else { Span::NOTHING };
    reduce(s, seat, 0, input, sum);
    if seat.me == 0 {
        s.round().send(root, sum);
    } else if seat.me == root {
        s.round().receive(0, result);
    }
}

/// Recursive doubling: partners exchange their sums, at distances 1, 2, 4 and so on. A neighbour represents
/// each rank beyond the largest power of two, so that the ranks of a sum are always consecutive. The first
/// message is received in the place of the result, so that the input need not be copied there.
pub(crate) fn allreduce(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span) {
    let Seat { me, ranks, .. } = seat;
    if ranks == 1 {
        s.copy(input, result);
        return;
    }
    let power = 1 << ranks.ilog2();
    let doubled = ranks - power;
    let is_double = me < 2 * doubled;
    if is_double && me.is_multiple_of(2) {
        s.round().send(me + 1, input);
        s.round().receive(me + 1, result);
        return;
    }
    let mut have = input;
    if is_double {
        s.round();
        join(s, me - 1, me, input, &mut have, result);
    }
    let number = if is_double { me / 2 } else { me - doubled };
    for distance in doubling(power) {
        let partner = number ^ distance;
        let partner = if partner < doubled { 2 * partner + 1 } else { partner + doubled };
        s.round().send(partner, have);
        join(s, partner, me, input, &mut have, result);
    }
    if is_double {
        s.round().send(me - 1, result);
    }
}

/// Receives from a partner and reduces it with this rank's sum, which is in `result` from then on.
fn join(s: &mut ScheduleDraft<'_>, partner: usize, me: usize, input: Span, have: &mut Span, result: Span) {
    if *have == result {
        let part = s.scratch(result.len);
        s.receive(partner, part).reduce(part, result, partner < me);
    } else {
        s.receive(partner, result).reduce(input, result, me < partner);
        *have = result;
    }
}

/// Burst: each rank sends all other ranks their blocks at once, and reduces the received ones in the order of
/// ranks.
pub(crate) fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, lens: &[usize], mine: Span) {
    slices::reduce_scatter(s, seat, input, lens, (mine, usize::MAX));
}

/// Burst: each rank sends its block to all others at once.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    s.round();
    for (to, from) in rotation(seat) {
        s.send(to, mine).receive(from, all[from]);
    }
    s.copy(mine, all[seat.me]);
}

/// Burst: each rank sends to all others at once.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: &[Span], into: &[Span]) {
    s.round();
    for (to, source) in rotation(seat) {
        s.send(to, from[to]).receive(source, into[source]);
    }
    s.copy(from[seat.me], into[seat.me]);
}

/// Burst in place: received blocks wait in scratch until all have left.
pub(crate) fn alltoall_in_place(s: &mut ScheduleDraft<'_>, seat: Seat, all: &[Span]) {
    s.round();
    let others: Vec<usize> = others(seat).collect();
    let parts: Vec<Span> = others.iter().map(|rank| s.scratch(all[*rank].len)).collect();
    for (rank, part) in others.iter().zip(&parts) {
        s.send(*rank, all[*rank]).receive(*rank, *part).copy(*part, all[*rank]);
    }
}
