//! Which ranks of the job a host has. Owns the way from a rank to its place among them and back.

use std::ops::Range;

/// The ranks of a host, in order: those at the start follow each other, those that were spawned have greater numbers.
#[derive(Debug, Clone)]
pub struct Places {
    first: Range<u32>,
    spawned: Vec<u32>,
}

impl Places {
    /// Of the ranks at the start.
    pub fn new(first: Range<u32>) -> Places {
        Places { first, spawned: Vec::new() }
    }

    /// One more, with a greater number than all before.
    pub fn add(&mut self, rank: u32) {
        self.spawned.push(rank);
    }

    /// The place of a rank, if it is here.
    pub fn place(&self, rank: u32) -> Option<usize> {
        if self.first.contains(&rank) {
            return Some((rank - self.first.start) as usize);
        }
        self.spawned.binary_search(&rank).ok().map(|place| self.first.len() + place)
    }

    /// The rank at a place.
    pub fn rank(&self, place: usize) -> Option<u32> {
        self.ranks().nth(place)
    }

    /// All of them in order.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.first.clone().chain(self.spawned.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_is_found_at_its_place() {
        let mut places = Places::new(2..4);
        places.add(7);
        places.add(9);
        assert_eq!(places.ranks().count(), 4);
        for (place, rank) in [2, 3, 7, 9].into_iter().enumerate() {
            assert_eq!((places.place(rank), places.rank(place)), (Some(place), Some(rank)));
        }
        assert_eq!(
            (places.place(1), places.place(4), places.place(8), places.rank(4)),
            (None, None, None, None)
        );
    }
}
