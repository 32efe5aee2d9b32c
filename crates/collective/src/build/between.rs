//! Collectives between two groups: each gets the data of the other. Members of this rank's own group are
//! counted first.
//!
//! Simple: the first member of each group, its leader, speaks for it, or each member communicates with each
//! other.

use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};
use crate::spec::Root;

use super::{flat, short};

/// Lets the leaders meet once all of their groups have come.
pub(crate) fn barrier(s: &mut ScheduleDraft<'_>, seat: Seat) {
    allreduce(s, seat, Span::NOTHING, Span::NOTHING);
}

/// Broadcasts from the root to the other group.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, seat: Seat, root: Root, data: Span) {
    let Some((group, own)) = with_root(s, seat, root) else { return };
    short::broadcast(s, group, own, data);
    s.among(None);
}

/// Forms a group of the root and the other group, the root first; returns this rank's seat there, and the
/// root's number.
fn with_root(s: &mut ScheduleDraft<'_>, seat: Seat, root: Root) -> Option<(Seat, usize)> {
    let (me, group): (usize, Vec<usize>) = match root {
        Root::Elsewhere => return None,
        Root::Here => (0, std::iter::once(seat.me).chain(seat.local..seat.ranks).collect()),
        Root::At(n) => (seat.me + 1, std::iter::once(seat.local + n as usize).chain(0..seat.local).collect()),
    };
    let seat = seat.within(me, group.len());
    s.among(Some(group));
    Some((seat, 0))
}

/// Reduces at the leader of the other group, which sends the result to the root.
pub(crate) fn reduce(s: &mut ScheduleDraft<'_>, seat: Seat, root: Root, input: Span, result: Span) {
    match root {
        Root::Elsewhere => {}
        Root::Here => drop(s.round().receive(seat.local, result)),
        Root::At(n) => {
            let sum = reduce_own(s, seat, input);
            if seat.me == 0 {
                s.round().send(seat.local + n as usize, sum);
            }
        }
    }
}

/// Reduces the inputs of this rank's group at its leader.
fn reduce_own(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span) -> Span {
    let sum = if seat.local == 1 { input } else { s.scratch(input.len) };
    short::reduce(s, seat.own(), 0, input, sum);
    sum
}

/// Reduces in each group; the leaders exchange the results and hand them on.
pub(crate) fn allreduce(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, result: Span) {
    let sum = reduce_own(s, seat, input);
    if seat.me == 0 {
        s.round().send(seat.local, sum).receive(seat.local, result);
    }
    short::broadcast(s, seat.own(), 0, result);
}

/// Reduces in each group; the leaders exchange the results, and each member gets its block.
pub(crate) fn reduce_scatter(s: &mut ScheduleDraft<'_>, seat: Seat, input: Span, lens: &[usize], mine: Span) {
    let sum = reduce_own(s, seat, input);
    let result = if seat.me == 0 { s.scratch(input.len) } else { Span::NOTHING };
    if seat.me == 0 {
        s.round().send(seat.local, sum).receive(seat.local, result);
    }
    let blocks = if seat.me == 0 { result.split(lens.iter().copied()) } else { Vec::new() };
    flat::scatter(s, seat.own(), 0, &blocks, mine);
}

/// Gathers the blocks of the other group at the root.
pub(crate) fn gather(s: &mut ScheduleDraft<'_>, seat: Seat, root: Root, mine: Span, all: &[Span]) {
    s.round();
    match root {
        Root::Elsewhere => {}
        Root::Here => all.iter().enumerate().for_each(|(n, block)| {
            s.receive(seat.local + n, *block);
        }),
        Root::At(n) => drop(s.send(seat.local + n as usize, mine)),
    }
}

/// Scatters blocks of the root to the other group.
pub(crate) fn scatter(s: &mut ScheduleDraft<'_>, seat: Seat, root: Root, all: &[Span], mine: Span) {
    s.round();
    match root {
        Root::Elsewhere => {}
        Root::Here => all.iter().enumerate().for_each(|(n, block)| {
            s.send(seat.local + n, *block);
        }),
        Root::At(n) => drop(s.receive(seat.local + n as usize, mine)),
    }
}

/// Sends a block to each member of the other group, and receives one from each.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: &[Span], into: &[Span]) {
    s.round();
    for n in (0..from.len()).map(|n| (n + seat.me) % from.len()) {
        s.send(seat.local + n, from[n]).receive(seat.local + n, into[n]);
    }
}
