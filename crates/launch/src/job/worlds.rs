//! The worlds of a job: that of its first ranks, and one for each spawn. Owns their addition and the decision
//! which of them end together.

use canele_control::SpawnedWorld;

use super::Job;
use crate::member::Member;

impl Job {
    /// Adds ranks that will be started, or are of another job.
    pub fn grow(&mut self, world: SpawnedWorld) {
        let is_elsewhere = world.origin.is_some();
        self.members.extend(world.hosts.iter().map(|_| Member { is_elsewhere, ..Member::default() }));
        self.info.spawned.push(world.clone());
        if !is_elsewhere {
            self.worlds.add_spawned(&self.info, &world);
        }
    }

    /// Removes the connections of a world whose ranks all end.
    pub fn disconnect_world(&mut self, first: u32) {
        self.worlds.remove_world(first);
    }

    /// Returns the ranks whose processes have not ended, in the worlds of these ranks and in connected
    /// worlds.
    pub fn running_connected_with(&self, ranks: &[u32]) -> Vec<u32> {
        let worlds = self.worlds.connected_worlds(&self.info, ranks);
        let ranks = worlds.into_iter().flat_map(|first| self.info.world_of(first));
        ranks.filter(|rank| self.runs(*rank)).collect()
    }
}
