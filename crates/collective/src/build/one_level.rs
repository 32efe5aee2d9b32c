//! Collectives by an algorithm of one level: among all members, those of one host, or one of each host.

use super::{bruck, flat, halving, long, scan, shared_buffer, short, slices};
use crate::choose::Algorithm::{self, Bruck, Flat, Halving, Pairwise, Ring, SharedBuffer, Slices};
use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

/// Builds a barrier.
pub(crate) fn barrier(s: &mut ScheduleDraft<'_>, seat: Seat, algorithm: Algorithm) {
    match algorithm {
        Flat => flat::barrier(s, seat),
        _ => short::barrier(s, seat),
    }
}

/// Builds a broadcast.
pub(crate) fn broadcast(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    algorithm: Algorithm,
    root: usize,
    data: Span,
) {
    match algorithm {
        Flat => flat::broadcast(s, seat, root, data),
        SharedBuffer => shared_buffer::broadcast(s, seat, root, data),
        Slices => slices::broadcast(s, seat, root, data),
        _ => short::broadcast(s, seat, root, data),
    }
}

/// Builds a reduction to one member; operands keep their places unless they are `commutative`.
pub(crate) fn reduce(
    s: &mut ScheduleDraft<'_>,
    (seat, algorithm): (Seat, Algorithm),
    (root, commutative): (usize, bool),
    input: Span,
    (result, element): (Span, usize),
) {
    match algorithm {
        Flat => flat::reduce(s, seat, root, input, result),
        Slices => slices::reduce(s, seat, root, input, (result, element)),
        _ if !commutative => short::reduce_in_order(s, seat, root, input, result),
        _ => short::reduce(s, seat, root, input, result),
    }
}

/// Builds an allreduce.
pub(crate) fn allreduce(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    algorithm: Algorithm,
    input: Span,
    (result, element): (Span, usize),
) {
    match algorithm {
        SharedBuffer => shared_buffer::reduce(s, seat, None, input, (result, element)),
        Flat => flat::allreduce(s, seat, input, result),
        Slices => slices::allreduce(s, seat, input, (result, element)),
        Ring => long::allreduce(s, seat, input, result, element),
        _ => short::allreduce(s, seat, input, result),
    }
}

/// Builds a scan; operands keep their places.
pub(crate) fn scan(
    s: &mut ScheduleDraft<'_>,
    (seat, algorithm): (Seat, Algorithm),
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) {
    match algorithm {
        SharedBuffer => shared_buffer::scan(s, seat, input, (result, element), exclusive),
        Flat => flat::scan(s, seat, input, result, exclusive),
        Slices => slices::scan(s, seat, input, (result, element), exclusive),
        Ring => scan::by_pieces(s, seat, input, (result, element), exclusive),
        _ if exclusive => scan::exclusive(s, seat, input, result),
        _ => scan::inclusive(s, seat, input, result),
    }
}

/// Builds a reduce-scatter.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    (seat, algorithm): (Seat, Algorithm),
    input: Span,
    lens: &[usize],
    (mine, element): (Span, usize),
) {
    match algorithm {
        Flat => flat::reduce_scatter(s, seat, input, lens, mine),
        SharedBuffer => shared_buffer::reduce_scatter(s, seat, input, lens, (mine, element)),
        Ring => long::reduce_scatter(s, seat, input, lens, mine),
        Halving => halving::reduce_scatter(s, seat, input, lens, mine),
        _ => slices::reduce_scatter(s, seat, input, lens, (mine, slices::part(seat, element))),
    }
}

/// Builds an allgather.
pub(crate) fn allgather(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    algorithm: Algorithm,
    mine: Span,
    all: &[Span],
) {
    match algorithm {
        Bruck => bruck::allgather(s, seat, mine, all),
        Flat => flat::allgather(s, seat, mine, all),
        SharedBuffer => shared_buffer::allgather(s, seat, mine, all),
        Ring => long::allgather(s, seat, mine, all),
        _ => short::allgather(s, seat, mine, all),
    }
}

/// Builds an alltoall; without `from` in place.
pub(crate) fn alltoall(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    algorithm: Algorithm,
    from: Option<&Vec<Span>>,
    into: &[Span],
) {
    match (from, algorithm) {
        (Some(from), Pairwise) => long::alltoall(s, seat, from, into),
        (Some(from), _) => short::alltoall(s, seat, from, into),
        (None, Pairwise) => long::alltoall_in_place(s, seat, into),
        (None, _) => short::alltoall_in_place(s, seat, into),
    }
}
