//! The lock of an exposure: the ranks that hold it, and the order of those that wait for it.

use std::collections::VecDeque;

use canele_sys::ids::Rank;

use super::request::RmaLockKind;

/// The most requests of one rank that wait.
const MOST_OF_ONE: usize = 64;

/// The lock of an exposure. It is granted in the order of requests, so neither kind starves the other.
#[derive(Default)]
pub(super) struct LockQueue {
    /// The holders: several that share it, or one.
    holders: Vec<Rank>,
    is_exclusive: bool,
    waiting: VecDeque<(Rank, RmaLockKind)>,
}

impl LockQueue {
    /// Grants the lock to a rank or makes it wait. Returns false if the rank has too many requests.
    pub fn ask(&mut self, from: Rank, kind: RmaLockKind) -> bool {
        let of_it = self.waiting.iter().filter(|(rank, _)| *rank == from).count();
        let held = self.holders.iter().filter(|rank| **rank == from).count();
        if of_it.max(held) >= MOST_OF_ONE {
            return false;
        }
        self.waiting.push_back((from, kind));
        self.grant();
        true
    }

    /// Returns true if a rank waits for the lock.
    pub fn is_awaited_by(&self, from: Rank) -> bool {
        self.waiting.iter().any(|(rank, _)| *rank == from)
    }

    /// Releases the lock for a rank. Returns false if the rank does not hold it.
    pub fn release(&mut self, from: Rank) -> bool {
        let Some(at) = self.holders.iter().position(|rank| *rank == from) else { return false };
        self.holders.swap_remove(at);
        self.grant();
        true
    }

    /// Removes a rank that died from the holders and from those that wait.
    pub fn release_of(&mut self, dead: Rank) {
        self.holders.retain(|rank| *rank != dead);
        self.waiting.retain(|(rank, _)| *rank != dead);
        self.grant();
    }

    /// Returns true if no rank holds it or waits for it.
    pub fn is_free(&self) -> bool {
        self.holders.is_empty() && self.waiting.is_empty()
    }

    fn grant(&mut self) {
        while let Some((rank, kind)) = self.waiting.pop_front_if(|(_, kind)| {
            self.holders.is_empty() || !self.is_exclusive && *kind == RmaLockKind::Shared
        }) {
            self.is_exclusive = kind == RmaLockKind::Exclusive;
            self.holders.push(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RmaLockKind::{Exclusive, Shared};
    use super::*;

    /// Returns the holders, sorted.
    fn holders(locks: &LockQueue) -> Vec<u32> {
        let mut ranks: Vec<u32> = locks.holders.iter().map(|rank| rank.0).collect();
        ranks.sort_unstable();
        ranks
    }

    #[test]
    fn locks_are_granted_in_order_and_shared_among_neighbours() {
        let mut locks = LockQueue::default();
        for (rank, kind) in [(0, Shared), (1, Shared), (2, Exclusive), (3, Shared)] {
            assert!(locks.ask(Rank(rank), kind));
        }
        assert_eq!(holders(&locks), [0, 1], "who comes later does not overtake");
        assert!(
            locks.is_awaited_by(Rank(2)) && locks.is_awaited_by(Rank(3)) && !locks.is_awaited_by(Rank(1))
        );
        assert!(!locks.release(Rank(2)) && locks.release(Rank(1)));
        assert_eq!(holders(&locks), [0]);
        assert!(locks.release(Rank(0)));
        assert_eq!(holders(&locks), [2]);
        assert!(locks.ask(Rank(0), Shared) && locks.release(Rank(2)));
        assert_eq!(holders(&locks), [0, 3]);
    }

    #[test]
    fn who_dies_holds_nothing_and_waits_for_nothing() {
        let mut locks = LockQueue::default();
        for (rank, kind) in [(0, Exclusive), (1, Exclusive), (0, Shared), (2, Shared)] {
            assert!(locks.ask(Rank(rank), kind));
        }
        locks.release_of(Rank(0));
        assert_eq!(holders(&locks), [1]);
        locks.release_of(Rank(1));
        assert_eq!(holders(&locks), [2]);
        assert!(locks.release(Rank(2)));
        assert!(locks.is_free());
    }

    #[test]
    fn the_wishes_of_one_rank_are_bounded() {
        let mut locks = LockQueue::default();
        assert!((0..1000).filter(|_| locks.ask(Rank(0), Exclusive)).count() <= MOST_OF_ONE + 1);
        assert!(locks.ask(Rank(1), Shared));
    }
}
