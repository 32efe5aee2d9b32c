//! As few messages one after the other as there can be: for data so short that a message costs the same without it.

use canele_sys::ids::Rank;

use crate::collective::choose::Seat;
use crate::collective::schedule::{Schedule, Span};

/// Dissemination: in round `k` each rank hears, from the rank 2ᵏ before it, of 2ᵏ more.
pub(crate) fn barrier(seat: Seat) -> Schedule {
    let Seat { me, ranks, .. } = seat;
    let mut s = Schedule::default();
    for distance in doubling(ranks) {
        let (next, previous) = ((me + distance) % ranks, (me + ranks - distance) % ranks);
        s.round().send(next, Span::NOTHING).receive(previous, Span::NOTHING);
    }
    s
}

/// Binomial tree: whoever has the data sends it on, the largest subtree first.
pub(crate) fn broadcast(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let tree = Tree::new(seat, root);
    let (mut s, data) = (Schedule::default(), Span::output(0, bytes));
    if let Some(parent) = tree.parent() {
        s.round().receive(parent, data);
    }
    s.round();
    let children: Vec<usize> = tree.children().collect();
    children.iter().rev().for_each(|child| {
        s.send(*child, data);
    });
    s
}

/// The tree of `broadcast`, upwards: the smallest subtree, which is ready first, comes first. A subtree holds
/// consecutive ranks, counted from the root.
pub(crate) fn reduce(seat: Seat, root: Rank, bytes: usize) -> Schedule {
    let tree = Tree::new(seat, root);
    let mut s = Schedule::default();
    let (parent, mut sum) = (tree.parent(), Span::input(0, bytes));
    for (n, child) in tree.children().enumerate() {
        if n == 0 {
            sum = if parent.is_some() { s.scratch(bytes) } else { Span::output(0, bytes) };
            s.round().copy(Span::input(0, bytes), sum);
        }
        // A block of scratch for each child costs memory, and lets the message of the next arrive in place meanwhile.
        let part = s.scratch(bytes);
        s.round().receive(child, part).reduce(part, sum, false);
    }
    if let Some(parent) = parent {
        s.round().send(parent, sum);
    } else if seat.ranks == 1 {
        s.copy(sum, Span::output(0, bytes));
    }
    s
}

/// Recursive doubling: partners exchange what they have, at distances 1, 2, 4 … Ranks beyond the largest power of two
/// are represented by a neighbour, so that what is reduced is always of consecutive ranks. The first message is received
/// where the result belongs, so that the input need not be copied there.
pub(crate) fn allreduce(seat: Seat, bytes: usize) -> Schedule {
    let Seat { me, ranks, .. } = seat;
    let (mut s, input, sum) = (Schedule::default(), Span::input(0, bytes), Span::output(0, bytes));
    if ranks == 1 {
        s.copy(input, sum);
        return s;
    }
    let power = 1 << ranks.ilog2();
    let doubled = ranks - power;
    let is_double = me < 2 * doubled;
    if is_double && me.is_multiple_of(2) {
        s.round().send(me + 1, input);
        s.round().receive(me + 1, sum);
        return s;
    }
    let mut have = input;
    if is_double {
        s.round().receive(me - 1, sum).reduce(input, sum, false);
        have = sum;
    }
    let number = if is_double { me / 2 } else { me - doubled };
    for distance in doubling(power) {
        let partner = number ^ distance;
        let partner = if partner < doubled { 2 * partner + 1 } else { partner + doubled };
        s.round().send(partner, have);
        if have == input {
            s.receive(partner, sum).reduce(input, sum, me < partner);
            have = sum;
        } else {
            let part = s.scratch(bytes);
            s.receive(partner, part).reduce(part, sum, partner < me);
        }
    }
    if is_double {
        s.round().send(me - 1, sum);
    }
    s
}

/// Burst: everybody sends its block to everybody at once.
pub(crate) fn allgather(seat: Seat, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    for (to, from) in rotation(seat) {
        s.send(to, Span::input(0, bytes)).receive(from, Span::output(from * bytes, bytes));
    }
    s.copy(Span::input(0, bytes), Span::output(seat.me * bytes, bytes));
    s
}

/// Burst: everybody sends to everybody at once.
pub(crate) fn alltoall(seat: Seat, bytes: usize) -> Schedule {
    let mut s = Schedule::default();
    for (to, from) in rotation(seat) {
        s.send(to, Span::input(to * bytes, bytes)).receive(from, Span::output(from * bytes, bytes));
    }
    s.copy(Span::input(seat.me * bytes, bytes), Span::output(seat.me * bytes, bytes));
    s
}

/// To whom and from whom in each step of a rotation: no rank is everybody's target at the same time.
pub(super) fn rotation(seat: Seat) -> impl Iterator<Item = (usize, usize)> {
    let Seat { me, ranks, .. } = seat;
    (1..ranks).map(move |step| ((me + step) % ranks, (me + ranks - step) % ranks))
}

/// 1, 2, 4 … below `limit`.
pub(super) fn doubling(limit: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), |distance: &usize| distance.checked_mul(2))
        .take_while(move |distance| *distance < limit)
}

/// A binomial tree: rank `v`, counted from the root, has the children `v + 2ᵏ` for all 2ᵏ below its lowest bit.
struct Tree {
    /// This rank's number, counted from the root.
    place: usize,
    root: usize,
    ranks: usize,
}

impl Tree {
    fn new(seat: Seat, root: Rank) -> Self {
        let root = root.0 as usize;
        Self { place: (seat.me + seat.ranks - root) % seat.ranks, root, ranks: seat.ranks }
    }

    fn rank(&self, place: usize) -> usize {
        (place + self.root) % self.ranks
    }

    fn parent(&self) -> Option<usize> {
        (self.place > 0).then(|| self.rank(self.place & (self.place - 1)))
    }

    /// Nearest first.
    fn children(&self) -> impl Iterator<Item = usize> {
        let lowest = if self.place == 0 { self.ranks } else { 1 << self.place.trailing_zeros() };
        doubling(lowest)
            .map(|distance| self.place + distance)
            .take_while(|p| *p < self.ranks)
            .map(|p| self.rank(p))
    }
}
