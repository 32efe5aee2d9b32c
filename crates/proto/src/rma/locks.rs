//! The lock of an exposure: who holds it, and who waits for it in which order.

use std::collections::VecDeque;

use canele_sys::ids::Rank;

use super::request::RmaLockKind;

/// Wishes of one rank that wait at most.
const MOST_OF_ONE: usize = 64;

/// A rank that has got a lock, and the sequence number of its request.
pub(super) type Granted = (Rank, u32);

/// The lock of an exposure. It is granted in the order of the wishes, so neither kind starves the other.
#[derive(Default)]
pub(super) struct LockQueue {
    /// The holders: many that share it, or one.
    holders: Vec<Rank>,
    is_exclusive: bool,
    waiting: VecDeque<(Rank, u32, RmaLockKind)>,
}

impl LockQueue {
    /// A rank wants the lock; says who has got it, and nothing if the rank has too many wishes.
    pub fn ask(&mut self, from: Rank, sequence: u32, kind: RmaLockKind) -> Option<Vec<Granted>> {
        let of_it = self.waiting.iter().filter(|(rank, ..)| *rank == from).count();
        let held = self.holders.iter().filter(|rank| **rank == from).count();
        if of_it.max(held) >= MOST_OF_ONE {
            return None;
        }
        self.waiting.push_back((from, sequence, kind));
        Some(self.grant())
    }

    /// A rank gives the lock back; who has got it then, and nothing if the rank does not hold it.
    pub fn release(&mut self, from: Rank) -> Option<Vec<Granted>> {
        let at = self.holders.iter().position(|rank| *rank == from)?;
        self.holders.swap_remove(at);
        Some(self.grant())
    }

    /// A rank died; who gets the lock then.
    pub fn release_of(&mut self, dead: Rank) -> Vec<Granted> {
        self.holders.retain(|rank| *rank != dead);
        self.waiting.retain(|(rank, ..)| *rank != dead);
        self.grant()
    }

    /// True if nobody holds it or waits for it.
    pub fn is_free(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty()
    }

    fn grant(&mut self) -> Vec<Granted> {
        let mut granted = Vec::new();
        while let Some((rank, sequence, kind)) = self.waiting.pop_front_if(|(_, _, kind)| {
            self.holders.is_empty() || !self.is_exclusive && *kind == RmaLockKind::Shared
        }) {
            self.is_exclusive = kind == RmaLockKind::Exclusive;
            self.holders.push(rank);
            granted.push((rank, sequence));
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::RmaLockKind::{Exclusive, Shared};
    use super::*;

    #[test]
    fn locks_are_granted_in_order_and_shared_among_neighbours() {
        let mut locks = LockQueue::default();
        assert_eq!(locks.ask(Rank(0), 1, Shared), Some(vec![(Rank(0), 1)]));
        assert_eq!(locks.ask(Rank(1), 2, Shared), Some(vec![(Rank(1), 2)]));
        assert_eq!(locks.ask(Rank(2), 3, Exclusive), Some(vec![]));
        assert_eq!(locks.ask(Rank(3), 4, Shared), Some(vec![]), "who comes later does not overtake");
        assert_eq!(locks.release(Rank(2)), None);
        assert_eq!(locks.release(Rank(1)), Some(vec![]));
        assert_eq!(locks.release(Rank(0)), Some(vec![(Rank(2), 3)]));
        assert_eq!(locks.ask(Rank(0), 5, Shared), Some(vec![]));
        assert_eq!(locks.release(Rank(2)), Some(vec![(Rank(3), 4), (Rank(0), 5)]));
    }

    #[test]
    fn who_dies_holds_nothing_and_waits_for_nothing() {
        let mut locks = LockQueue::default();
        for (rank, kind) in [(0, Exclusive), (1, Exclusive), (0, Shared), (2, Shared)] {
            locks.ask(Rank(rank), rank, kind).expect("few wishes");
        }
        assert_eq!(locks.release_of(Rank(0)), [(Rank(1), 1)]);
        assert_eq!(locks.release_of(Rank(1)), [(Rank(2), 2)]);
        assert_eq!(locks.release(Rank(2)), Some(vec![]));
        assert!(locks.is_free());
    }

    #[test]
    fn the_wishes_of_one_rank_are_bounded() {
        let mut locks = LockQueue::default();
        assert!((0..1000).filter(|n| locks.ask(Rank(0), *n, Exclusive).is_some()).count() <= MOST_OF_ONE + 1);
        assert!(locks.ask(Rank(1), 0, Shared).is_some());
    }
}
