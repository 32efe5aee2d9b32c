//! Lanes: each rank of a host carries its share between hosts, all at once, for data so long that bytes cost
//! more than packets. All hosts have the same number of members. The *fellows* of a rank are the ranks at its
//! place on the other hosts.

use super::Levels;
use super::leaders::spread;
use crate::build::{flat, long, one_level, short};
use crate::choose::{Algorithm, Seat};
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::{Operation, Root, Shape};

/// Splits data into shares of whole elements, as equal as possible.
fn shares(data: Span, ranks: usize, element: usize) -> Vec<Span> {
    let start = |n: usize| (data.len / element * n / ranks) * element;
    (0..ranks).map(|n| data.part(start(n), start(n + 1) - start(n))).collect()
}

/// Reduces a share at each rank inside each host, then each share among the fellows on other hosts; then
/// hosts share the results. Operands change places.
pub(crate) fn allreduce(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    result: Span,
    element: usize,
) {
    s.be_sparse();
    let inside = levels.inside(s);
    let all = shares(result, inside.ranks, element);
    let lens: Vec<usize> = all.iter().map(|share| share.len).collect();
    let mine = all[inside.me];
    // A receive while others still read the input must not go into it.
    let reduced = if input.overlaps(mine) { s.scratch(mine.len) } else { mine };
    reduce_scatter_inside(s, inside, input, &lens, reduced);
    let lane = levels.lane(s);
    let algorithm = best(lane, inside.ranks, Operation::Allreduce, mine.len);
    one_level::allreduce(s, lane, algorithm, reduced, (reduced, element));
    s.round().copy(reduced, mine);
    let inside = levels.inside(s);
    allgather_inside(s, inside, mine, &all);
}

/// Returns the algorithm of each of so many lanes for its share.
fn best(lane: Seat, lanes: usize, operation: Operation, share: usize) -> Algorithm {
    lane.best_of_lanes(Shape::new(operation, share), lanes).algorithm
}

/// Reduces a share at each rank inside each host, then each share among the fellows on other hosts; the root
/// gets the results. Operands change places.
pub(crate) fn reduce(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    root: usize,
    input: Span,
    (result, element): (Span, usize),
) {
    s.be_sparse();
    let inside = levels.inside(s);
    let lens: Vec<usize> = shares(input, inside.ranks, element).iter().map(|share| share.len).collect();
    let mine = s.scratch(lens[inside.me]);
    reduce_scatter_inside(s, inside, input, &lens, mine);
    let (lane, (to, place)) = (levels.lane(s), levels.hosts.place(root));
    let algorithm = best(lane, inside.ranks, Operation::Reduce(Root::At(to as u32)), mine.len);
    one_level::reduce(s, (lane, algorithm), (to, true), mine, (mine, element));
    if levels.host == to {
        levels.inside(s);
        let is_root = levels.seat.me == root;
        let parts = if is_root { shares(result, inside.ranks, element) } else { Vec::new() };
        flat::gather(s, inside, place, mine, &parts);
    }
}

/// Returns true if a ring is faster for blocks of about so many bytes, which all members know.
fn takes_ring(seat: Seat, operation: Operation, bytes: usize) -> bool {
    seat.is_faster(Shape::new(operation, bytes), Algorithm::Ring, Algorithm::Burst)
}

fn reduce_scatter_inside(s: &mut ScheduleDraft<'_>, inside: Seat, input: Span, lens: &[usize], mine: Span) {
    match takes_ring(inside, Operation::ReduceScatter, input.len / inside.ranks) {
        true => long::reduce_scatter(s, inside, input, lens, mine),
        false => short::reduce_scatter(s, inside, input, lens, mine),
    }
}

fn allgather_inside(s: &mut ScheduleDraft<'_>, inside: Seat, mine: Span, all: &[Span]) {
    let bytes = all.iter().map(|share| share.len).sum::<usize>() / inside.ranks;
    match takes_ring(inside, Operation::Allgather, bytes) {
        true => long::allgather(s, inside, mine, all),
        false => short::allgather(s, inside, mine, all),
    }
}

/// Spreads the data on the root's host first; then each rank sends its share to its fellows, which share the
/// results.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, root: usize, data: Span) {
    s.be_sparse();
    let from = levels.hosts.place(root).0;
    let share = shares(data, levels.own().len(), 1)[levels.place];
    if levels.host == from {
        spread(s, levels, data);
    }
    let lane = levels.lane(s);
    let algorithm = best(lane, levels.own().len(), Operation::Broadcast(Root::At(from as u32)), share.len);
    one_level::broadcast(s, lane, algorithm, from, share);
    if levels.host != from {
        let inside = levels.inside(s);
        let all = shares(data, inside.ranks, 1);
        allgather_inside(s, inside, share, &all);
    }
}

/// Sends each block to the fellows of its rank; then the blocks of each host are shared inside.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, levels: &Levels<'_>, mine: Span, all: &[Span]) {
    let lane = levels.lane(s);
    let longest = all.iter().map(|block| block.len).max().unwrap_or(0);
    let algorithm = best(lane, levels.own().len(), Operation::Allgather, longest);
    let fellows: Vec<Span> = levels.fellows().map(|member| all[member]).collect();
    one_level::allgather(s, lane, algorithm, mine, &fellows);
    let inside = levels.inside(s);
    for (host, fellow) in fellows.into_iter().enumerate() {
        let blocks: Vec<Span> = levels.hosts.members(host).iter().map(|member| all[*member]).collect();
        allgather_inside(s, inside, fellow, &blocks);
    }
}

/// Reduces the blocks for the ranks of each host inside hosts, and then each block with the fellows of its
/// rank. The members of each host follow each other. Operands change places.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    levels: &Levels<'_>,
    input: Span,
    lens: &[usize],
    (mine, element): (Span, usize),
) {
    let of_fellows: Vec<usize> = levels.fellows().map(|member| lens[member]).collect();
    let partial = s.scratch(of_fellows.iter().sum());
    let inside = levels.inside(s);
    let mut at = 0;
    for (host, part) in partial.split(of_fellows.iter().copied()).into_iter().enumerate() {
        let of_host: Vec<usize> = levels.hosts.members(host).iter().map(|member| lens[*member]).collect();
        let bytes = of_host.iter().sum();
        reduce_scatter_inside(s, inside, input.part(at, bytes), &of_host, part);
        at += bytes;
    }
    let lane = levels.lane(s);
    let longest = lens.iter().copied().max().unwrap_or(0);
    let algorithm = best(lane, levels.own().len(), Operation::ReduceScatter, longest);
    one_level::reduce_scatter(s, (lane, algorithm), partial, &of_fellows, (mine, element));
}
