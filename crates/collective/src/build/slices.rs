//! Slices: each rank owns a slice of a vector, gets it from all at once, and hands it to all at once. Two
//! rounds wait, for any number of ranks, and each rank carries its share of the bytes. For long data of ranks
//! that have processors.
//!
//! ```text
//!   allreduce:  slice n of all ─▶ rank n reduces in the order of ranks ─▶ all
//!   reduce:     slice n of all ─▶ rank n reduces in the order of ranks ─▶ root
//!   broadcast:  root ─▶ slice n to rank n ─▶ all but the root
//!   scan:       slice n of all ─▶ rank n reduces in the order of ranks ─▶ to each rank its prefix
//! ```
//! A slice without bytes is not sent.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

use super::{others, rotation, short};

/// Bytes of the parts of all ranks that one rank reduces at a time, if its caches hold them.
const HELD: usize = 1 << 20;
/// The least length of a part.
const LEAST_PART: usize = 16 << 10;
/// The unit of slices of data that is not reduced: a cache line.
const LINE: usize = 64;

/// Returns the bytes of a block that are reduced before the next ones come, in whole elements: all unless
/// ranks have processors and caches.
pub(crate) fn part(seat: Seat, element: usize) -> usize {
    match seat.has_own_caches() {
        true => ((HELD / seat.ranks).max(LEAST_PART) / element).max(1) * element,
        false => usize::MAX,
    }
}

/// Returns the lengths of so many slices, as equal as whole units can be; the last one has the remainder.
fn lengths(len: usize, slices: usize, unit: usize) -> Vec<usize> {
    let start = |n: usize| if n == slices { len } else { len / unit * n / slices * unit };
    (0..slices).map(|n| start(n + 1) - start(n)).collect()
}

/// Burst: each rank sends all other ranks their blocks at once, and reduces the received ones in the order of
/// ranks. It takes at most `part` bytes of each block at a time.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    lens: &[usize],
    (mine, part): (Span, usize),
) {
    let blocks = input.split(lens.iter().copied());
    let longest = lens.iter().copied().max().unwrap_or(0);
    let own = s.round().apart(blocks[seat.me], mine);
    let scratch: Vec<Span> = (0..seat.ranks)
        .map(|rank| if rank == seat.me { own } else { s.scratch(mine.len.min(part)) })
        .collect();
    for at in (0..longest.max(1)).step_by(part) {
        let cut = |span: Span| {
            let at = at.min(span.len);
            span.part(at, part.min(span.len - at))
        };
        let into = cut(mine);
        // The draft decides whether blocks without bytes are sent; those that have come to their end are not.
        let is_sent = |span: Span| at == 0 || span.len > 0;
        let comes = is_sent(into);
        if at > 0 {
            s.round();
        }
        for (to, from) in rotation(seat) {
            if is_sent(cut(blocks[to])) {
                s.send(to, cut(blocks[to]));
            }
            if comes {
                s.receive(from, scratch[from].part(0, into.len));
            }
        }
        let operand = |rank: usize| if rank == seat.me { cut(own) } else { scratch[rank].part(0, into.len) };
        s.copy(operand(0), into);
        (1..seat.ranks).for_each(|rank| {
            s.reduce(operand(rank), into, false);
        });
    }
}

/// Reduces each slice at its owner, and hands it to all.
pub(crate) fn allreduce(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    (result, element): (Span, usize),
) {
    s.be_sparse();
    let lens = lengths(result.len, seat.ranks, element);
    let slices = result.split(lens.iter().copied());
    reduce_scatter(s, seat, input, &lens, (slices[seat.me], part(seat, element)));
    short::allgather(s, seat, slices[seat.me], &slices);
}

/// Reduces each slice at its owner, and sends it to the root.
pub(crate) fn reduce(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    root: usize,
    input: Span,
    (result, element): (Span, usize),
) {
    s.be_sparse();
    let lens = lengths(input.len, seat.ranks, element);
    let is_root = seat.me == root;
    let slices = if is_root { result.split(lens.iter().copied()) } else { Vec::new() };
    let mine = if is_root { slices[root] } else { s.scratch(lens[seat.me]) };
    reduce_scatter(s, seat, input, &lens, (mine, part(seat, element)));
    s.round();
    if !is_root {
        s.send(root, mine);
        return;
    }
    others(seat).for_each(|rank| {
        s.receive(rank, slices[rank]);
    });
}

/// Reduces each slice at its owner rank by rank, and sends each rank its prefix, without its own input if
/// `exclusive`.
pub(crate) fn scan(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) {
    s.be_sparse();
    let lens = lengths(input.len, seat.ranks, element);
    let of_rank = |rank: usize| rank.checked_sub(usize::from(exclusive));
    let given = input.split(lens.iter().copied());
    let mine = lens[seat.me];
    let sums: Vec<Span> = (0..seat.ranks).map(|_| s.scratch(mine)).collect();
    s.round().copy(given[seat.me], sums[seat.me]);
    for (to, from) in rotation(seat) {
        s.send(to, given[to]).receive(from, sums[from]);
    }
    for pair in sums.windows(2) {
        s.reduce(pair[0], pair[1], true);
    }
    s.round();
    for (to, _) in rotation(seat) {
        if let Some(sum) = of_rank(to) {
            s.send(to, sums[sum]);
        }
    }
    if let Some(sum) = of_rank(seat.me) {
        let gotten = result.split(lens.iter().copied());
        for (_, from) in rotation(seat) {
            s.receive(from, gotten[from]);
        }
        s.copy(sums[sum], gotten[seat.me]);
    }
}

/// Sends each other rank a slice from the root, and from there to the others.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, data: Span) {
    s.be_sparse();
    // Ranks count from the root here.
    let place = |rank: usize| (rank + seat.ranks - root) % seat.ranks;
    let slices = data.split(lengths(data.len, seat.ranks - 1, LINE));
    let slice = |rank: usize| slices[place(rank) - 1];
    s.round();
    if seat.me == root {
        others(seat).for_each(|rank| {
            s.send(rank, slice(rank));
        });
        return;
    }
    s.receive(root, slice(seat.me)).round();
    for (to, from) in rotation(seat) {
        if to != root {
            s.send(to, slice(seat.me));
        }
        if from != root {
            s.receive(from, slice(from));
        }
    }
}
