//! Algorithms over shared buffers: each rank publishes its data in a shared buffer once, and the ranks that
//! need it fetch it from there. For long data on one host: data for many ranks is written once and not once
//! for each. Few rounds wait, and few lines of memory are in use.
//!
//! A long block is published in parts, in the two halves of a shared buffer by turns. Ranks fetch one half
//! while the other one is written. If ranks have processors, the data of a single publisher is cut into
//! several pieces. The publisher waits for no reader while its shared buffer has room. No rank waits for the
//! readers of the last part: the shared buffer counts them (`shared_buffers`).

mod pieces;
mod turns;

pub(crate) use turns::{BYTES, hold, turns_at_root, turns_of};

use crate::choose::Seat;
use crate::schedule::{Area, Published, ScheduleDraft, SharedBufferNeed, Span};

use super::{flat, others, rotation};
use pieces::Pieces;
use turns::{half, link, most, part, share_room, through, turns};

/// The bytes of the name of a shared buffer, and of the length that its owner publishes in all.
const NAME: usize = 16;

/// Opens a shared buffer for this rank alone to publish on; returns the place of its name.
fn open(s: &mut ScheduleDraft<'_>, readers: usize) -> Span {
    let name = s.scratch(NAME);
    s.shared_buffer(SharedBufferNeed { bytes: BYTES, name, readers });
    s.round();
    name
}

/// The shared buffers of all members.
struct MemberBuffers {
    names: Vec<Span>,
    seat: Seat,
    /// True once all have exchanged the names.
    are_known: bool,
    /// Scratch through which fetched data is reduced, and scratch for own data that is written over
    /// meanwhile.
    through: Option<Span>,
    aside: Option<Span>,
}

impl MemberBuffers {
    /// Makes the names of the other members' shared buffers, to read from.
    fn of_others(s: &mut ScheduleDraft<'_>, seat: Seat) -> Self {
        let names = s.scratch(NAME * seat.ranks).split(vec![NAME; seat.ranks]);
        Self { names, seat, are_known: false, through: None, aside: None }
    }

    /// Makes the names of all members' shared buffers, and opens this rank's own to publish in.
    fn open(s: &mut ScheduleDraft<'_>, seat: Seat) -> Self {
        let shared_buffers = Self::of_others(s, seat);
        s.shared_buffer(SharedBufferNeed {
            bytes: BYTES,
            name: shared_buffers.names[seat.me],
            readers: seat.ranks - 1,
        });
        s.round();
        shared_buffers
    }

    /// Waits until all have come here; the first time they exchange the names of the shared buffers.
    fn meet(&mut self, s: &mut ScheduleDraft<'_>) {
        if std::mem::replace(&mut self.are_known, true) {
            flat::barrier(s, self.seat);
        } else {
            flat::allgather(s, self.seat, self.names[self.seat.me], &self.names);
        }
    }

    /// Marks the end of this rank's reads.
    fn close(self, s: &mut ScheduleDraft<'_>) {
        for rank in others(self.seat) {
            s.has_read(rank, self.names[rank]);
        }
    }

    /// Returns the place `at` in a member's shared buffer.
    fn of(&self, member: usize, at: usize) -> Published {
        Published { name: self.names[member], at }
    }

    /// Reduces the data that all publish at `at` in the order of members; this rank's is `own`. The first
    /// turn is the longest.
    fn fold(&mut self, s: &mut ScheduleDraft<'_>, mut own: Span, at: usize, (into, element): (Span, usize)) {
        if self.seat.me > 0 && own.overlaps(into) {
            let aside = self.aside.get_or_insert_with(|| s.scratch(own.len)).part(0, own.len);
            s.copy(own, aside);
            own = aside;
        }
        let through = *self.through.get_or_insert_with(|| s.scratch(through(element)));
        for member in 0..self.seat.ranks {
            let published = self.of(member, at);
            match (member, member == self.seat.me) {
                (0, true) => s.copy(own, into),
                (0, false) => s.fetch(member, published, into),
                (_, true) => s.reduce(own, into, false),
                (_, false) => s.fetch_and_reduce(member, published, through, into, false),
            };
        }
    }
}

/// Returns a place in this rank's shared buffer.
fn own(at: usize, len: usize) -> Span {
    Span { area: Area::Shared, at, len }
}

/// Publishes the root's data, which all fetch.
pub(crate) fn broadcast(s: &mut ScheduleDraft<'_>, seat: Seat, root: usize, data: Span) {
    s.publishes(data.len);
    let pieces = Pieces::new(seat, data.len, 1);
    if seat.me == root {
        let name = open(s, seat.ranks - 1);
        for (turn, part) in pieces.of(data) {
            s.copy(part, own(pieces.place(turn), part.len)).round();
            others(seat).for_each(|rank| pieces.announce(s, rank, turn, name));
        }
    } else {
        let name = s.scratch(NAME);
        for (turn, part) in pieces.of(data) {
            pieces.hear(s.round(), root, turn, name);
            s.fetch(root, Published { name, at: pieces.place(turn) }, part);
        }
        s.has_read(root, name);
    }
}

/// Publishes the block of each rank, and fetches those of others.
pub(crate) fn allgather(s: &mut ScheduleDraft<'_>, seat: Seat, mine: Span, all: &[Span]) {
    let mut shared_buffers = MemberBuffers::open(s, seat);
    s.copy(mine, all[seat.me]);
    let longest = all.iter().map(|block| block.len).max().unwrap_or(0);
    s.publishes(longest);
    let most = most(longest, 1, 1);
    for turn in turns(longest, most) {
        let part = |block| part(block, turn, most);
        s.copy(part(mine), own(half(turn), part(mine).len));
        shared_buffers.meet(s);
        for (_, from) in rotation(seat) {
            let into = part(all[from]);
            s.fetch(from, shared_buffers.of(from, half(turn)), into);
        }
    }
    shared_buffers.close(s);
}

/// Publishes the blocks of each rank for others, of one length, and fetches those for this one. Both may be
/// the same blocks.
pub(crate) fn alltoall(s: &mut ScheduleDraft<'_>, seat: Seat, from: &[Span], into: &[Span]) {
    let mut shared_buffers = MemberBuffers::open(s, seat);
    s.copy(from[seat.me], into[seat.me]);
    s.publishes(into[seat.me].len);
    let most = most(into[seat.me].len, seat.ranks, 1);
    for turn in turns(into[seat.me].len, most) {
        let place = |member: usize| half(turn) + member * most;
        for (to, _) in rotation(seat) {
            let part = part(from[to], turn, most);
            s.copy(part, own(place(to), part.len));
        }
        shared_buffers.meet(s);
        for (_, source) in rotation(seat) {
            let into = part(into[source], turn, most);
            s.fetch(source, shared_buffers.of(source, place(seat.me)), into);
        }
    }
    shared_buffers.close(s);
}

/// Publishes the blocks of each rank for others, and reduces those for this one.
pub(crate) fn reduce_scatter(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    lens: &[usize],
    (mine, element): (Span, usize),
) {
    let mut shared_buffers = MemberBuffers::open(s, seat);
    let blocks = input.split(lens.iter().copied());
    let longest = lens.iter().copied().max().unwrap_or(0);
    s.publishes(input.len);
    let most = most(longest, seat.ranks, element);
    for turn in turns(longest, most) {
        let place = |member: usize| half(turn) + member * most;
        for (to, _) in rotation(seat) {
            let part = part(blocks[to], turn, most);
            s.copy(part, own(place(to), part.len));
        }
        shared_buffers.meet(s);
        let into = part(mine, turn, most);
        shared_buffers.fold(s, part(blocks[seat.me], turn, most), place(seat.me), (into, element));
    }
    shared_buffers.close(s);
}

/// Splits a vector into the shares that each rank reduces for all.
fn shares(seat: Seat, len: usize, element: usize) -> Vec<Span> {
    let start = |n: usize| len / element * n / seat.ranks * element;
    Span::scratch(0, len).split((0..seat.ranks).map(|n| start(n + 1) - start(n)))
}

/// Publishes the inputs of all, which the root reduces.
pub(crate) fn reduce_at_root(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    root: usize,
    input: Span,
    (result, element): (Span, usize),
) {
    s.publishes(input.len);
    let pieces = Pieces::new(seat, input.len, element);
    if seat.me != root {
        let name = open(s, 1);
        for (turn, part) in pieces.of(input) {
            s.copy(part, own(pieces.place(turn), part.len)).round();
            pieces.announce(s, root, turn, name);
        }
        return;
    }
    let mut shared_buffers = MemberBuffers::of_others(s, seat);
    for (turn, input) in pieces.of(input) {
        s.round();
        others(seat).for_each(|rank| pieces.hear(s, rank, turn, shared_buffers.names[rank]));
        let result = part(result, turn, pieces.most);
        shared_buffers.fold(s, input, pieces.place(turn), (result, element));
    }
    shared_buffers.close(s);
}

/// Publishes all inputs; each rank reduces a share of them and publishes it. All fetch the shares of others,
/// or the root alone.
///
/// No other rank needs this rank's own share of its input: the result is published in its place. So a turn
/// needs no half of its own. The first data of a turn was read before all met for the second time in the turn
/// before. The result is written after all have met once more.
pub(crate) fn reduce(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    root: Option<usize>,
    input: Span,
    (result, element): (Span, usize),
) {
    let mut shared_buffers = MemberBuffers::open(s, seat);
    s.publishes(input.len);
    let room = share_room(seat.ranks, element);
    let most = seat.ranks * room;
    let gets = root.is_none_or(|root| root == seat.me);
    let aside = if gets { Span::NOTHING } else { s.scratch(room) };
    for turn in turns(input.len, most) {
        let shares = shares(seat, input.len.min((turn + 1) * most) - turn * most, element);
        let within =
            |span: Span, member: usize| part(span, turn, most).part(shares[member].at, shares[member].len);
        for (to, _) in rotation(seat) {
            s.copy(within(input, to), own(to * room, shares[to].len));
        }
        shared_buffers.meet(s);
        let into = if gets { within(result, seat.me) } else { aside.part(0, shares[seat.me].len) };
        shared_buffers.fold(s, within(input, seat.me), seat.me * room, (into, element));
        if root != Some(seat.me) {
            s.copy(into, own(seat.me * room, into.len));
        }
        shared_buffers.meet(s);
        for (_, from) in rotation(seat).filter(|_| gets) {
            s.fetch(from, shared_buffers.of(from, from * room), within(result, from));
        }
    }
    shared_buffers.close(s);
}

/// Chain: each rank fetches the data of the one before it, link by link, reduces its input with it, and
/// publishes that.
pub(crate) fn scan(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    input: Span,
    (result, element): (Span, usize),
    exclusive: bool,
) {
    let Seat { me, ranks, .. } = seat;
    let (previous, next) = (me.checked_sub(1), Some(me + 1).filter(|next| *next < ranks));
    s.publishes(input.len);
    let name = if next.is_some() { open(s, 1) } else { Span::NOTHING };
    let theirs = s.scratch(NAME);
    let most = link(element);
    // The number of links that a shared buffer holds.
    let held = BYTES / most;
    let through = s.scratch(through(element));
    let (sum, links) = (if exclusive { s.scratch(most) } else { Span::NOTHING }, turns(input.len, most));
    s.round();
    for turn in links.clone() {
        let (input, result) = (part(input, turn, most), part(result, turn, most));
        let place = turn % held * most;
        if let Some(previous) = previous {
            s.receive(previous, theirs);
        }
        if let Some(next) = next.filter(|_| turn >= held) {
            s.receive(next, Span::NOTHING);
        }
        let sum = if exclusive { sum.part(0, input.len) } else { result };
        s.copy(input, sum);
        if let Some(previous) = previous {
            let published = Published { name: theirs, at: place };
            if exclusive {
                s.fetch(previous, published, result);
                if next.is_some() {
                    s.reduce(result, sum, true);
                }
            } else {
                s.fetch_and_reduce(previous, published, through, sum, true);
            }
        }
        if next.is_some() {
            s.copy(sum, own(place, sum.len));
        }
        s.round();
        if let Some(next) = next {
            s.send(next, name);
        }
        if let Some(previous) = previous.filter(|_| turn + held < links.len()) {
            s.send(previous, Span::NOTHING);
        }
    }
    if let Some(previous) = previous {
        s.has_read(previous, theirs);
    }
}
