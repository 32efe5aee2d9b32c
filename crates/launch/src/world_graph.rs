//! The connections between worlds of a job (MPI 5.0, §11.10.4): a failure ends the ranks that are connected
//! with it, and no others.
//!
//! ```text
//!   world 0 ──── world 2        each edge holds the ranks of either end that say so;
//!      │                        without any the edge is gone
//!   world 5      world 7        a failure in world 2 ends 0, 2 and 5, and 7 goes on
//! ```
//! Owns the edges. A world is named by its first rank. Ranks of other jobs have none: each job ends by
//! itself.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use canele_control::{JobInfo, SpawnedWorld};

/// The worlds of a job and the connections between them.
#[derive(Debug, Default)]
pub struct WorldGraph {
    /// The ranks that have a connection, for each pair of worlds; the smaller world comes first.
    edges: BTreeMap<(u32, u32), HashSet<u32>>,
}

impl WorldGraph {
    /// Connects a new world, which is in `info` already, with those that have spawned it.
    pub fn add_spawned(&mut self, info: &JobInfo, world: &SpawnedWorld) {
        let parents = world.parents.iter().filter(|rank| **rank < world.first && info.is_own(**rank));
        let mut last = 0..0;
        for &parent in parents {
            if !last.contains(&parent) {
                last = info.world_of(parent);
                self.edge(last.start, world.first).extend(world.ranks());
            }
            self.edge(last.start, world.first).insert(parent);
        }
    }

    /// Notes that a rank has a communicator with ranks of another world, or no longer has one.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule the rank broke.
    pub fn set_connected(
        &mut self,
        info: &JobInfo,
        rank: u32,
        other: u32,
        is_connected: bool,
    ) -> Result<(), String> {
        let own = info.world_of(rank).start;
        if other >= info.ranks() || info.world_of(other).start != other || own == other || !info.is_own(other)
        {
            return Err(format!("spoke of a world of its job that begins with rank {other}"));
        }
        let edge = self.edge(own, other);
        if is_connected {
            edge.insert(rank);
            return Ok(());
        }
        edge.remove(&rank);
        if edge.is_empty() {
            self.edges.remove(&(own.min(other), own.max(other)));
        }
        Ok(())
    }

    /// Removes the edges of a world whose ranks have all ended, or are about to.
    pub fn remove_world(&mut self, world: u32) {
        self.edges.retain(|(one, other), _| *one != world && *other != world);
    }

    /// Returns the worlds of these ranks and all that are connected with them, directly or through others.
    pub fn connected_worlds(&self, info: &JobInfo, ranks: &[u32]) -> BTreeSet<u32> {
        let mut found: BTreeSet<u32> = ranks.iter().map(|rank| info.world_of(*rank).start).collect();
        let mut new: Vec<u32> = found.iter().copied().collect();
        let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &(one, other) in self.edges.keys() {
            next.entry(one).or_default().push(other);
            next.entry(other).or_default().push(one);
        }
        while let Some(world) = new.pop() {
            let others = next.get(&world).map(Vec::as_slice).unwrap_or_default();
            new.extend(others.iter().filter(|other| found.insert(**other)));
        }
        found
    }

    fn edge(&mut self, one: u32, other: u32) -> &mut HashSet<u32> {
        self.edges.entry((one.min(other), one.max(other))).or_default()
    }
}

#[cfg(test)]
mod tests {
    use canele_control::{Host, JobRank};

    use super::*;

    /// Returns a job of two ranks, to which worlds of two were added, each spawned by all ranks of the named
    /// world.
    fn grown(parents: &[u32]) -> (JobInfo, WorldGraph) {
        let (mut info, mut graph) = (JobInfo::new(vec![Host::this(2)]), WorldGraph::default());
        for &parent in parents {
            let (first, parents) = (info.ranks(), vec![parent, parent + 1]);
            let world = SpawnedWorld { first, hosts: vec![0, 0], parents, ..SpawnedWorld::default() };
            info.spawned.push(world.clone());
            graph.add_spawned(&info, &world);
        }
        (info, graph)
    }

    fn connected(info: &JobInfo, graph: &WorldGraph, rank: u32) -> Vec<u32> {
        graph.connected_worlds(info, &[rank]).into_iter().collect()
    }

    #[test]
    fn worlds_are_connected_until_the_last_rank_of_either_has_disconnected() {
        let (info, mut graph) = grown(&[0]);
        assert_eq!(connected(&info, &graph, 3), [0, 2]);
        for (rank, other) in [(0, 2), (2, 0), (3, 0), (3, 0)] {
            graph.set_connected(&info, rank, other, false).unwrap();
            assert_eq!(connected(&info, &graph, 1), [0, 2]);
        }
        graph.set_connected(&info, 1, 2, false).unwrap();
        assert_eq!((connected(&info, &graph, 0), connected(&info, &graph, 3)), (vec![0], vec![2]));
        graph.set_connected(&info, 3, 0, true).unwrap();
        assert_eq!(connected(&info, &graph, 0), [0, 2]);
    }

    #[test]
    fn worlds_are_connected_by_others() {
        let (info, mut graph) = grown(&[0, 2, 0]);
        assert_eq!(connected(&info, &graph, 7), [0, 2, 4, 6]);
        for (rank, other) in [(0, 2), (1, 2), (2, 0), (3, 0)] {
            graph.set_connected(&info, rank, other, false).unwrap();
        }
        assert_eq!((connected(&info, &graph, 5), connected(&info, &graph, 7)), (vec![2, 4], vec![0, 6]));
        graph.remove_world(6);
        assert_eq!(connected(&info, &graph, 0), [0]);
    }

    #[test]
    fn what_is_no_other_world_of_the_job_is_refused() {
        let (mut info, mut graph) = grown(&[0]);
        let origin = Some(JobRank { job: 9, rank: 0 });
        info.spawned.push(SpawnedWorld { first: 4, hosts: vec![0], origin, ..SpawnedWorld::default() });
        for other in [0, 1, 3, 4, 5, u32::MAX] {
            assert!(graph.set_connected(&info, 0, other, true).is_err(), "{other}");
        }
        // Parents that do not exist, or that are of another job, connect nothing.
        let parents = vec![4, 700];
        let world = SpawnedWorld { first: 5, hosts: vec![0], parents, ..SpawnedWorld::default() };
        info.spawned.push(world.clone());
        graph.add_spawned(&info, &world);
        assert_eq!((connected(&info, &graph, 5), connected(&info, &graph, 0)), (vec![5], vec![0, 2]));
    }
}
