//! Resources that are freed after the end of spawned ranks: a job may spawn any number of them, one after the
//! other.
//!
//! Owns the decision when no living rank can ask for resources of such a rank. Its inbox is freed at once:
//! its peers have it, or are told of its end. Its regions stay while a rank lives that had a link with it,
//! because messages that it has sent may lie in them. Ranks of the job's start keep everything, so that their
//! last counters can be shown.

use super::local_ranks::LocalRanks;

impl LocalRanks {
    /// Returns true for a spawned rank whose inbox and links were freed after its end.
    pub(super) fn is_released(&self, rank: u32) -> bool {
        rank >= self.info.size && self.has(rank) && self.of(rank).ended
    }

    /// Handles the end of a rank's process.
    pub fn handle_ended(&mut self, rank: u32) {
        self.of_mut(rank).ended = true;
        self.regions.forget_keeper(rank);
        if self.is_released(rank) {
            self.of_mut(rank).inbox = None;
            self.introductions.release(rank);
            self.left_behind.push(rank);
        }
        self.release_left_behind();
    }

    /// Frees regions and links of ended ranks whose linked ranks have all ended.
    fn release_left_behind(&mut self) {
        for rank in std::mem::take(&mut self.left_behind) {
            if self.regions.has_any_of(rank) && self.has_living_peer(rank) {
                self.left_behind.push(rank);
                continue;
            }
            self.regions.remove_all_of(rank);
            self.links.retain(|(one, other)| *one != rank && *other != rank);
        }
    }

    /// Returns true if a rank that is in the library had a link with this one. Ranks of other jobs count
    /// while the job lasts.
    fn has_living_peer(&self, rank: u32) -> bool {
        let lives = |peer: u32| !self.has(peer) || self.of(peer).is_inside();
        self.links.iter().any(|&(one, other)| match rank {
            _ if one == rank => lives(other),
            _ if other == rank => lives(one),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::rc::{Rc, Weak};

    use canele_control::{FromLauncher, Handed, Host, JobInfo, RankSet, SpawnedWorld, ToLauncher, VERSION};
    use canele_rail::shm::Shm;
    use canele_sys::ids::Rank;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    /// Returns a job of one rank, which begins.
    fn job() -> LocalRanks {
        let mut all = LocalRanks::new(JobInfo::new(vec![Host::this(1)]), RankSet::from(0..1)).unwrap();
        begin(&mut all, 0);
        all
    }

    fn begin(all: &mut LocalRanks, rank: u32) {
        all.handle(rank, ToLauncher::Hello { version: VERSION }, None).unwrap();
        let rail = Shm::open(Rank(rank), 0..1, 64, 0, 0).unwrap();
        let inbox: Handed = rail.inbox_fd().try_clone_to_owned().unwrap().into();
        all.handle(rank, ToLauncher::Inbox { settings: Vec::new() }, Some(inbox)).unwrap();
    }

    /// Spawns one rank, which begins and gets a link with rank 0; returns its number.
    fn spawn(all: &mut LocalRanks) -> u32 {
        let first = all.info.ranks();
        let world = SpawnedWorld { first, hosts: vec![0], parents: vec![0], ..SpawnedWorld::default() };
        all.grow(world, std::iter::once(first)).unwrap();
        begin(all, first);
        all.handle(first, ToLauncher::Connect { peers: vec![0] }, None).unwrap();
        first
    }

    fn add_region(all: &mut LocalRanks, rank: u32, id: u64) {
        let memory = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        all.handle(rank, ToLauncher::Region { id }, Some(memory.into())).unwrap();
    }

    fn region(all: &mut LocalRanks, owner: u32, id: u64) -> Weak<std::os::fd::OwnedFd> {
        all.regions.find((owner, id), None).as_ref().map(Rc::downgrade).unwrap_or_default()
    }

    #[test]
    fn nothing_is_kept_of_spawned_ranks_that_have_ended() {
        let mut all = job();
        for _ in 0..200 {
            let child = spawn(&mut all);
            let inbox = Rc::downgrade(&all.inbox_of(child).unwrap()[0]);
            add_region(&mut all, child, 7);
            all.handle(child, ToLauncher::DropRegion { id: 7 }, None).unwrap();
            all.handle(child, ToLauncher::Finished, None).unwrap();
            all.handle_ended(child);
            all.take_messages();
            assert_eq!(inbox.strong_count(), 0);
        }
        assert!(all.links.is_empty() && all.left_behind.is_empty());
        assert!(all.of(0).notifier().is_some(), "ranks of the start keep their counters");
    }

    #[test]
    fn spawned_ranks_that_have_ended_keep_no_region_of_others() {
        let mut all = job();
        add_region(&mut all, 0, 7);
        for _ in 0..20 {
            let child = spawn(&mut all);
            all.handle(child, ToLauncher::FindRegion { owner: 0, id: 7, is_kept: true }, None).unwrap();
            all.handle(child, ToLauncher::Finished, None).unwrap();
            all.handle_ended(child);
        }
        assert_eq!(all.regions.remove((0, 7)), Some(Vec::new()));
    }

    #[test]
    fn a_ring_that_there_is_no_descriptor_for_parts_two_ranks_and_ends_neither() {
        let mut all = job();
        let child = spawn(&mut all);
        all.take_messages();
        assert_eq!(all.handle_truncated(child, ToLauncher::Ring { to: 0 }), Ok(None));
        let told = all.take_messages();
        let cut = |told: &super::super::local_ranks::ControlMessage| match &told.message {
            FromLauncher::CutOff { by, of, what } if what.contains("ulimit -n") => (told.to, *by, *of),
            other => panic!("{other:?}"),
        };
        assert_eq!(told.iter().map(cut).collect::<Vec<_>>(), [(child, 0, child), (0, child, 0)]);
        assert!(all.handle_truncated(0, ToLauncher::Ring { to: 0 }).is_err());
    }

    #[test]
    fn regions_of_the_dead_stay_while_a_peer_lives_and_no_rank_is_blamed() {
        let mut all = job();
        let (dead, other) = (spawn(&mut all), spawn(&mut all));
        all.handle(other, ToLauncher::Connect { peers: vec![dead] }, None).unwrap();
        add_region(&mut all, dead, 7);
        all.handle_ended(dead);
        let memory = region(&mut all, dead, 7);
        all.take_messages();
        assert_eq!(memory.strong_count(), 1, "messages for the living may lie in it");
        // This was under way to the dead rank when it ended.
        let ring = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        all.handle(0, ToLauncher::Ring { to: dead }, Some(ring.into())).unwrap();
        all.handle(0, ToLauncher::Connect { peers: vec![dead] }, None).unwrap();
        assert!(all.take_messages().iter().all(|told| !matches!(told.message, FromLauncher::Peers { .. })));
        all.handle_ended(other);
        assert_eq!(memory.strong_count(), 1, "rank 0 lives");
        all.handle(0, ToLauncher::Finished, None).unwrap();
        all.handle_ended(0);
        assert_eq!(memory.strong_count(), 0);
        assert!(all.left_behind.is_empty());
    }
}
