//! The other worlds of the job that this rank is connected with (MPI 5.0, §11.10.4): if one fails, the
//! launcher ends the connected ones.

use std::collections::BTreeMap;

use canele_control::{JobInfo, ToLauncher};
use canele_sys::ids::Rank;

use crate::Error;
use crate::engine::Engine;

/// Counts the connections of this rank with each other world of this job, by the world's first rank.
#[derive(Debug, Default)]
pub(crate) struct ConnectedWorlds(BTreeMap<u32, u32>);

impl ConnectedWorlds {
    /// Counts one more; returns true if it is the first.
    fn add(&mut self, world: u32) -> bool {
        let count = self.0.entry(world).or_default();
        *count += 1;
        *count == 1
    }

    /// Counts one less; returns true if it was the last.
    fn remove(&mut self, world: u32) -> bool {
        let Some(count) = self.0.get_mut(&world) else { return false };
        *count -= 1;
        let was_last = *count == 0;
        if was_last {
            self.0.remove(&world);
        }
        was_last
    }
}

/// Returns the worlds of `ranks` other than that of `me`, by their first ranks. Worlds of other jobs end by
/// themselves and are left out.
fn other_worlds(job: &JobInfo, me: Rank, ranks: impl Iterator<Item = Rank>) -> Vec<u32> {
    let mut worlds = Vec::new();
    let own = job.world_of(me.0);
    let mut last = own.clone();
    for rank in ranks.filter(|rank| !own.contains(&rank.0)) {
        if !last.contains(&rank.0) {
            last = job.world_of(rank.0);
            worlds.extend(job.is_own(rank.0).then_some(last.start));
        }
    }
    worlds.sort_unstable();
    worlds.dedup();
    worlds
}

impl Engine {
    /// Connects this rank with the worlds of these ranks; returns those that are not its own, to be
    /// disconnected later.
    ///
    /// # Errors
    /// `Forked`; the launcher is gone.
    pub fn connect_worlds(&self, ranks: impl Iterator<Item = Rank>) -> Result<Vec<u32>, Error> {
        let mut core = self.lock()?;
        let membership = &mut core.membership;
        let worlds = other_worlds(&membership.job, self.rank(), ranks);
        for &world in &worlds {
            if membership.worlds.add(world) {
                membership.launcher.send(&ToLauncher::SetConnected { world, is_connected: true })?;
            }
        }
        Ok(worlds)
    }

    /// Ends one connection with each of these worlds, as [`Self::connect_worlds`] returned them. Returns true
    /// if it was the last one with one of them; the launcher learns of that.
    ///
    /// # Errors
    /// `Forked`; the launcher is gone.
    pub fn disconnect_worlds(&self, worlds: &[u32]) -> Result<bool, Error> {
        let mut core = self.lock()?;
        let membership = &mut core.membership;
        let mut is_any_last = false;
        for &world in worlds {
            if membership.worlds.remove(world) {
                is_any_last = true;
                membership.launcher.send(&ToLauncher::SetConnected { world, is_connected: false })?;
            }
        }
        Ok(is_any_last)
    }
}

#[cfg(test)]
mod tests {
    use canele_control::{Host, JobRank, SpawnedWorld};

    use super::*;

    #[test]
    fn the_first_connection_and_the_last_are_told() {
        let mut worlds = ConnectedWorlds::default();
        assert_eq!([worlds.add(4), worlds.add(4), worlds.add(7)], [true, false, true]);
        assert_eq!([4, 4, 4, 9].map(|world| worlds.remove(world)), [false, true, false, false]);
        assert!(worlds.add(4));
    }

    #[test]
    fn other_worlds_are_those_of_this_job() {
        let mut job = JobInfo::new(vec![Host::this(2)]);
        let origin = Some(JobRank { job: 9, rank: 0 });
        for (first, origin) in [(2, None), (4, origin), (6, None)] {
            job.spawned.push(SpawnedWorld { first, hosts: vec![0, 0], origin, ..SpawnedWorld::default() });
        }
        let of = |me, ranks: &[u32]| other_worlds(&job, Rank(me), ranks.iter().copied().map(Rank));
        assert_eq!(of(0, &[0, 1]), [0; 0]);
        assert_eq!(of(1, &[0, 7, 2, 6, 3, 5, 4]), [2, 6]);
        assert_eq!(of(3, &[2, 0, 1]), [0]);
    }
}
