//! Binomial trees. A subtree holds consecutive ranks, counted from the root. At the root, blocks behind the
//! last rank and before the first are not contiguous, and are packed.
//!
//! ```text
//!   gather:   leaves ─▶ blocks of a subtree ─▶ parent ─▶ … ─▶ root     ⌈log₂ N⌉ messages in a row; a root
//!   scatter:  root ─▶ blocks of a subtree ─▶ child ─▶ … ─▶ leaves      alone would have N−1
//! ```

use std::ops::Range;

use super::doubling;
use crate::choose::Seat;
use crate::schedule::{ScheduleDraft, Span};

/// A binomial tree: rank `v`, counted from the root, has the children `v + 2ᵏ` for all 2ᵏ below its lowest
/// bit.
pub(super) struct Tree {
    /// This rank's number, counted from the root.
    place: usize,
    root: usize,
    ranks: usize,
}

impl Tree {
    pub(super) fn new(seat: Seat, root: usize) -> Self {
        Self { place: (seat.me + seat.ranks - root) % seat.ranks, root, ranks: seat.ranks }
    }

    fn rank(&self, place: usize) -> usize {
        (place + self.root) % self.ranks
    }

    pub(super) fn parent(&self) -> Option<usize> {
        (self.place > 0).then(|| self.rank(self.place & (self.place - 1)))
    }

    /// Returns the children, nearest first.
    pub(super) fn children(&self) -> impl Iterator<Item = usize> {
        let lowest = if self.place == 0 { self.ranks } else { 1 << self.place.trailing_zeros() };
        doubling(lowest)
            .map(|distance| self.place + distance)
            .take_while(|p| *p < self.ranks)
            .map(|p| self.rank(p))
    }

    /// Returns the places of a rank and of those below it.
    fn subtree(&self, rank: usize) -> Range<usize> {
        let place = (rank + self.ranks - self.root) % self.ranks;
        let size = if place == 0 { self.ranks } else { 1 << place.trailing_zeros() };
        place..self.ranks.min(place + size)
    }
}

/// The places of the blocks of a subtree: at the root among those of all ranks, elsewhere in scratch, in the
/// order of the tree.
enum Held<'s> {
    All(&'s [Span]),
    Subtree { first: usize, blocks: Vec<Span> },
}

impl Held<'_> {
    /// Makes blocks in scratch of their own.
    fn in_scratch(s: &mut ScheduleDraft<'_>, tree: &Tree, rank: usize, len: &dyn Fn(usize) -> usize) -> Self {
        let places = tree.subtree(rank);
        let lens: Vec<usize> = places.clone().map(|place| len(tree.rank(place))).collect();
        let whole = s.scratch(lens.iter().sum());
        Self::Subtree { first: places.start, blocks: whole.split(lens) }
    }

    fn block(&self, tree: &Tree, place: usize) -> Span {
        match self {
            Self::All(all) => all[tree.rank(place)],
            Self::Subtree { first, blocks } => blocks[place - first],
        }
    }

    /// Returns the blocks of some places as one span, if they are contiguous.
    fn joined(&self, tree: &Tree, places: Range<usize>) -> Option<Span> {
        let blocks: Vec<Span> = places.map(|place| self.block(tree, place)).collect();
        Span::joined(&blocks)
    }
}

/// The greatest length of bundles that leave at the same time. Longer ones leave one after the other: the
/// largest subtree, with the longest way, must not share its port.
const SHARES_A_PORT: usize = 32 << 10;

/// Gathers blocks at the root: each rank has its block, `mine`, of `len` bytes by rank; the root gets `all`.
pub(crate) fn gather(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    root: usize,
    (mine, len): (Span, &dyn Fn(usize) -> usize),
    all: &[Span],
) {
    let tree = Tree::new(seat, root);
    let children: Vec<usize> = tree.children().collect();
    let held = match tree.parent() {
        Some(parent) if children.is_empty() => {
            s.round().send(parent, mine);
            return;
        }
        Some(_) => Held::in_scratch(s, &tree, seat.me, len),
        None => Held::All(all),
    };
    s.round().copy(mine, held.block(&tree, tree.place));
    for child in children {
        let places = tree.subtree(child);
        if let Some(whole) = held.joined(&tree, places.clone()) {
            s.receive(child, whole);
            continue;
        }
        let apart = Held::in_scratch(s, &tree, child, len);
        s.receive(child, apart.joined(&tree, places.clone()).expect("scratch in one piece"));
        for place in places {
            s.copy(apart.block(&tree, place), held.block(&tree, place));
        }
    }
    if let Some(parent) = tree.parent() {
        s.round().send(parent, held.joined(&tree, tree.subtree(seat.me)).expect("scratch in one piece"));
    }
}

/// Scatters blocks from the root along the tree.
pub(crate) fn scatter(
    s: &mut ScheduleDraft<'_>,
    seat: Seat,
    root: usize,
    all: &[Span],
    (mine, len): (Span, &dyn Fn(usize) -> usize),
) {
    let tree = Tree::new(seat, root);
    let children: Vec<usize> = tree.children().collect();
    s.round();
    let held = match tree.parent() {
        Some(parent) if children.is_empty() => {
            s.receive(parent, mine);
            return;
        }
        Some(parent) => {
            let held = Held::in_scratch(s, &tree, seat.me, len);
            s.receive(parent, held.joined(&tree, tree.subtree(seat.me)).expect("scratch in one piece"));
            held
        }
        None => Held::All(all),
    };
    let mut leaving = Vec::new();
    for child in children.into_iter().rev() {
        let places = tree.subtree(child);
        let whole = held.joined(&tree, places.clone()).unwrap_or_else(|| {
            let apart = Held::in_scratch(s, &tree, child, len);
            for place in places.clone() {
                s.copy(held.block(&tree, place), apart.block(&tree, place));
            }
            apart.joined(&tree, places.clone()).expect("scratch in one piece")
        });
        leaving.push((child, whole));
    }
    s.round();
    for (child, whole) in leaving {
        s.send(child, whole);
        if whole.len > SHARES_A_PORT {
            s.round();
        }
    }
    s.copy(held.block(&tree, tree.place), mine);
}
