//! The host of each rank at the start of a job. Owns two forms of it: for the job, a map from ranks to hosts;
//! for a host, the set of its ranks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The index of each rank's host at the start of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankMap {
    /// Runs of consecutive ranks on one host: the first rank, and the host.
    runs: Vec<(u32, u32)>,
    ranks: u32,
}

impl RankMap {
    /// Returns the map in which each rank has the host at its index.
    pub fn new(hosts: impl IntoIterator<Item = u32>) -> RankMap {
        let mut map = RankMap::default();
        hosts.into_iter().for_each(|host| map.add(host, 1));
        map
    }

    /// Returns the map of hosts that have consecutive blocks of ranks, of these lengths.
    pub fn in_blocks(ranks: impl IntoIterator<Item = u32>) -> RankMap {
        let mut map = RankMap::default();
        (0..).zip(ranks).for_each(|(host, ranks)| map.add(host, ranks));
        map
    }

    /// Adds `ranks` ranks of a host. The sum saturates, so that an invalid sum is still too large.
    fn add(&mut self, host: u32, ranks: u32) {
        if ranks > 0 && self.runs.last().is_none_or(|(_, last)| *last != host) {
            self.runs.push((self.ranks, host));
        }
        self.ranks = self.ranks.saturating_add(ranks);
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns the host of a rank; for a rank that does not exist, that of the last rank.
    pub fn host_of(&self, rank: u32) -> Option<u32> {
        let behind = self.runs.partition_point(|(first, _)| *first <= rank);
        self.runs.get(behind.checked_sub(1)?).map(|(_, host)| *host)
    }

    /// Iterates over runs of consecutive ranks on one host, each with its host, in order.
    pub fn runs(&self) -> impl Iterator<Item = (Range<u32>, u32)> {
        let ends = self.runs.iter().skip(1).map(|(first, _)| *first).chain([self.ranks]);
        self.runs.iter().zip(ends).map(|((first, host), end)| (*first..end, *host))
    }

    /// Returns the ranks of a host.
    pub fn ranks_of(&self, host: u32) -> RankSet {
        let own = self.runs().filter(|(_, on)| *on == host);
        RankSet(own.flat_map(|(ranks, _)| ranks).collect())
    }

    /// Returns the ranks of each of `hosts` hosts.
    pub fn by_host(&self, hosts: usize) -> Vec<RankSet> {
        let mut sets = vec![RankSet::default(); hosts];
        for (ranks, host) in self.runs() {
            if let Some(set) = sets.get_mut(host as usize) {
                set.0.extend(ranks);
            }
        }
        sets
    }

    /// Returns true if each rank has a host, and each of these hosts has the given number of ranks.
    pub fn is_sound(&self, hosts: impl ExactSizeIterator<Item = u32>) -> bool {
        let ascending = self.runs.windows(2).all(|two| two[0].0 < two[1].0);
        let begins = self.runs.first().is_none_or(|(first, _)| *first == 0);
        let ends = self.runs.last().is_none_or(|(first, _)| *first < self.ranks);
        if !(ascending && begins && ends) {
            return false;
        }
        let mut counts = vec![0_u32; hosts.len()];
        for (ranks, host) in self.runs() {
            match counts.get_mut(host as usize) {
                Some(count) => *count += ranks.len() as u32,
                None => return false,
            }
        }
        counts.into_iter().eq(hosts)
    }
}

/// The ranks of a host, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSet(Vec<u32>);

impl RankSet {
    /// Returns the number of ranks.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first rank.
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    /// Iterates over all ranks.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + Clone {
        self.0.iter().copied()
    }

    /// Returns the index of `rank` in the set.
    pub fn place(&self, rank: u32) -> Option<u32> {
        self.0.binary_search(&rank).ok().map(|place| place as u32)
    }

    /// Returns the rank with this index.
    pub fn rank(&self, place: u32) -> Option<u32> {
        self.0.get(place as usize).copied()
    }

    /// Returns true if `rank` is in the set.
    pub fn contains(&self, rank: u32) -> bool {
        self.place(rank).is_some()
    }

    /// Adds a rank, whose number must be greater than all in the set.
    pub fn push(&mut self, rank: u32) {
        debug_assert!(self.0.last().is_none_or(|last| *last < rank), "{rank} is behind {:?}", self.0.last());
        self.0.push(rank);
    }

    /// Returns true if the ranks ascend without repetition.
    pub fn is_sound(&self) -> bool {
        self.0.is_sorted_by(|one, next| one < next)
    }
}

impl From<Range<u32>> for RankSet {
    fn from(ranks: Range<u32>) -> RankSet {
        RankSet(ranks.collect())
    }
}

impl FromIterator<u32> for RankSet {
    /// Collects ranks that come in any order.
    fn from_iter<I: IntoIterator<Item = u32>>(ranks: I) -> RankSet {
        let mut ranks: Vec<u32> = ranks.into_iter().collect();
        ranks.sort_unstable();
        ranks.dedup();
        RankSet(ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_has_its_host_and_every_host_its_ranks() {
        for (hosts, ranks_of_1) in [
            (&[0, 0, 1, 1, 1][..], &[2, 3, 4][..]),
            (&[0, 1, 0, 1, 0], &[1, 3]),
            (&[1, 2, 2, 0, 1], &[0, 4]),
            (&[0, 0], &[]),
        ] {
            let map = RankMap::new(hosts.iter().copied());
            assert_eq!(map.ranks() as usize, hosts.len());
            for (rank, host) in (0..).zip(hosts) {
                assert_eq!(map.host_of(rank), Some(*host), "{hosts:?}");
            }
            assert_eq!(map.host_of(u32::MAX), hosts.last().copied());
            assert!(map.ranks_of(1).iter().eq(ranks_of_1.iter().copied()), "{hosts:?}");
            let counts = (0..3).map(|host| hosts.iter().filter(|of| **of == host).count() as u32);
            let counts: Vec<u32> = counts.collect();
            assert!(map.is_sound(counts.iter().copied()), "{hosts:?}");
            assert!(!map.is_sound([counts[0] + 1, counts[1], counts[2]].into_iter()));
            let sets = map.by_host(3);
            assert!((0..3).all(|host| sets[host as usize] == map.ranks_of(host)), "{hosts:?}");
        }
        assert_eq!(RankMap::default().host_of(0), None);
        assert_eq!(RankMap::in_blocks([2, 0, 1]), RankMap::new([0, 0, 2]));
        assert_eq!(RankMap::in_blocks([u32::MAX, 2]).ranks(), u32::MAX);
    }

    #[test]
    fn a_map_that_cannot_be_is_told() {
        let sound = |runs: &[(u32, u32)], ranks, hosts: &[u32]| {
            RankMap { runs: runs.to_vec(), ranks }.is_sound(hosts.iter().copied())
        };
        assert!(sound(&[(0, 0), (2, 1)], 3, &[2, 1]));
        assert!(!sound(&[(1, 0), (2, 1)], 3, &[1, 1]));
        assert!(!sound(&[(0, 0), (0, 1)], 3, &[0, 3]));
        assert!(!sound(&[(0, 0), (3, 1)], 3, &[3, 0]));
        assert!(!sound(&[(0, 0), (2, 2)], 3, &[2, 1]));
    }

    #[test]
    fn ranks_have_numbers_in_their_set() {
        let mut set: RankSet = [9, 2, 5, 2].into_iter().collect();
        set.push(11);
        assert!(set.is_sound() && set.iter().eq([2, 5, 9, 11]));
        for (place, rank) in (0..).zip(set.iter()) {
            assert_eq!(
                (set.place(rank), set.rank(place), set.contains(rank)),
                (Some(place), Some(rank), true)
            );
        }
        assert_eq!((set.place(3), set.rank(4), set.first(), set.len()), (None, None, Some(2), 4));
        assert!(RankSet::from(3..3).is_empty() && !RankSet(vec![2, 2]).is_sound());
    }
}
