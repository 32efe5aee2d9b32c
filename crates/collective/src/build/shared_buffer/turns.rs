//! The turns in which data is published: as much as a half of a shared buffer holds in each, in whole
//! elements.

use crate::choose::Seat;
use crate::schedule::Span;
use crate::spec::{Operation, Shape};

use super::pieces::piece;

/// Bytes of one half of a shared buffer: few, for the caches hold those of all ranks.
pub(super) const HALF: usize = 256 << 10;
/// Bytes of a shared buffer.
pub(crate) const BYTES: usize = 2 * HALF;

/// Bytes that are fetched at a time to be reduced: the nearest cache holds them.
const THROUGH: usize = 16 << 10;
/// Bytes that a rank of a scan hands on at a time.
const LINK: usize = 64 << 10;

/// Returns true if shared buffers hold a whole element for each rank.
pub(crate) fn hold(seat: Seat, element: usize) -> bool {
    element * seat.ranks <= HALF
}

/// Returns the bytes that are fetched at a time, in whole elements.
pub(super) fn through(element: usize) -> usize {
    (THROUGH / element).max(1) * element
}

/// Returns the start of the half of a turn.
pub(super) fn half(turn: usize) -> usize {
    turn % 2 * HALF
}

/// Returns the bytes of a span that come in a turn with `most` bytes of each span.
pub(super) fn part(span: Span, turn: usize, most: usize) -> Span {
    let at = span.len.min(turn * most);
    span.part(at, most.min(span.len - at))
}

/// Returns the bytes of a block that are published in a turn: all of it if a whole shared buffer holds as
/// many blocks.
pub(super) fn most(block: usize, blocks: usize, element: usize) -> usize {
    let (half, whole) = (HALF / blocks, 2 * HALF / blocks);
    let room = if block <= whole / element * element { whole } else { half };
    room / element * element
}

/// Returns the number of turns of a collective; for a reduction to one rank, that of the algorithm by shares.
pub(crate) fn turns_of(shape: Shape, seat: Seat) -> usize {
    let Shape { operation, bytes, element, .. } = shape;
    let ranks = seat.ranks;
    let most = match operation {
        Operation::Broadcast(_) => piece(seat, bytes, 1),
        Operation::Reduce(_) | Operation::Allreduce => share_room(ranks, element) * ranks,
        Operation::Scan | Operation::Exscan => link(element),
        Operation::Alltoall => most(bytes, ranks, 1),
        Operation::ReduceScatter => most(bytes, ranks, element),
        _ => most(bytes, 1, 1),
    };
    turns(bytes, most).len()
}

/// Returns the number of turns of a reduction by the root alone.
pub(crate) fn turns_at_root(shape: Shape, seat: Seat) -> usize {
    turns(shape.bytes, piece(seat, shape.bytes, shape.element)).len()
}

/// Returns the bytes of a share of a vector that a rank publishes for another in a turn.
pub(super) fn share_room(ranks: usize, element: usize) -> usize {
    BYTES / ranks / element * element
}

/// Returns the bytes that a rank of a scan hands on at a time, in whole elements.
pub(super) fn link(element: usize) -> usize {
    (LINK / element).max(1) * element
}

/// Returns the turns of `len` bytes, `most` in each.
pub(super) fn turns(len: usize, most: usize) -> std::ops::Range<usize> {
    0..len.div_ceil(most)
}
