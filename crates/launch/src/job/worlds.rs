//! The worlds of a job: that of its first ranks, and one for each spawn. Owns how they are added and which of them end together.

use canele_control::SpawnedWorld;

use super::Job;
use crate::member::Member;

impl Job {
    /// Adds ranks that are to be started, or are of another job.
    pub fn grow(&mut self, world: SpawnedWorld) {
        let is_elsewhere = world.origin.is_some();
        self.members.extend(world.hosts.iter().map(|_| Member { is_elsewhere, ..Member::default() }));
        self.info.spawned.push(world.clone());
        if !is_elsewhere {
            self.worlds.add_spawned(&self.info, &world);
        }
    }

    /// Forgets that a world was connected with others: none of its ranks runs.
    pub fn disconnect_world(&mut self, first: u32) {
        self.worlds.remove_world(first);
    }

    /// The ranks whose processes have not ended, of the worlds of these ranks and of those that are connected with them.
    pub fn running_connected_with(&self, ranks: &[u32]) -> Vec<u32> {
        let worlds = self.worlds.connected_worlds(&self.info, ranks);
        let ranks = worlds.into_iter().flat_map(|first| self.info.world_of(first));
        ranks.filter(|rank| self.runs(*rank)).collect()
    }
}
