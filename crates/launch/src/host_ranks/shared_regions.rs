//! The regions of the ranks of one host, for their peers to map.
//!
//! Owns their descriptors, and the list of ranks that keep each of them and are told when its owner drops it.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::rc::Rc;

/// The regions of the ranks of one host, by owner and id.
#[derive(Debug, Default)]
pub struct SharedRegions(HashMap<(u32, u64), SharedRegion>);

#[derive(Debug)]
struct SharedRegion {
    memory: Rc<OwnedFd>,
    /// The ranks that keep the region, each once, so there are no more entries than ranks.
    keeping_ranks: Vec<u32>,
}

impl SharedRegions {
    /// Adds a region; returns false if its owner has one of that id already.
    pub fn add(&mut self, region: (u32, u64), memory: OwnedFd) -> bool {
        let shared = SharedRegion { memory: Rc::new(memory), keeping_ranks: Vec::new() };
        self.0.insert(region, shared).is_none()
    }

    /// Returns the descriptor of a region for a rank that asks, and notes if that rank keeps it.
    pub fn find(&mut self, region: (u32, u64), keeping: Option<u32>) -> Option<Rc<OwnedFd>> {
        let shared = self.0.get_mut(&region)?;
        shared.keeping_ranks.extend(keeping.filter(|rank| !shared.keeping_ranks.contains(rank)));
        Some(shared.memory.clone())
    }

    /// Forgets a rank that has ended: it keeps no region any more.
    pub fn forget_keeper(&mut self, rank: u32) {
        self.0.values_mut().for_each(|shared| shared.keeping_ranks.retain(|keeping| *keeping != rank));
    }

    /// Returns true if a rank owns any region.
    pub fn has_any_of(&self, owner: u32) -> bool {
        self.0.keys().any(|(of, _)| *of == owner)
    }

    /// Removes all regions of a rank for which no living rank can ask any more.
    pub fn remove_all_of(&mut self, owner: u32) {
        self.0.retain(|(of, _), _| *of != owner);
    }

    /// Removes a region, if there is one; returns the ranks that kept it.
    pub fn remove(&mut self, region: (u32, u64)) -> Option<Vec<u32>> {
        self.0.remove(&region).map(|shared| shared.keeping_ranks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_have_ended_keep_no_region() {
        let mut regions = SharedRegions::default();
        assert!(regions.add((0, 1), std::fs::File::open("/dev/null").unwrap().into()));
        for rank in 1..1000 {
            regions.find((0, 1), Some(rank));
            regions.forget_keeper(rank - 1);
        }
        assert_eq!(regions.remove((0, 1)), Some(vec![999]));
    }
}
