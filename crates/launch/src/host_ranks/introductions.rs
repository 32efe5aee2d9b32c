//! Introductions between ranks of this host and ranks of other jobs on it: their inboxes, rings and regions
//! go through the launchers of both jobs.
//!
//! Owns the pending exchanges between them. Ranks of other jobs have numbers of this job, after its own
//! ranks.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use canele_control::{FromLauncher, PeerInbox};

use super::HostRanks;
use super::local_ranks::LocalRanks;
use crate::connected::ToJob;

/// The reason why two ranks cannot reach each other.
const NO_DESCRIPTOR: &str = "the launcher between them could open no more files: raise the limit where the job is started, `ulimit -n`";

/// A job, the message for its launcher, and the descriptors of the message.
pub type Introduction = (u64, ToJob, Vec<Rc<OwnedFd>>);

/// The pending exchanges between ranks of this job and of others.
#[derive(Debug, Default)]
pub(super) struct Introductions {
    out: Vec<Introduction>,
    /// Inboxes of ranks of other jobs for ranks of this one that have none yet.
    waiting: Vec<(u32, u32, Vec<OwnedFd>)>,
    /// Pairs, the rank of this job first, for which this rank's inbox was sent. `taken` has the pairs whose
    /// other inbox has come.
    sent: HashSet<(u32, u32)>,
    taken: HashSet<(u32, u32)>,
    /// Regions that ranks have asked for: the asking rank, the owner, the id.
    asked: HashSet<(u32, u32, u64)>,
}

impl LocalRanks {
    /// Returns true for a rank of another job on this host.
    pub(super) fn is_elsewhere(&self, rank: u32) -> bool {
        rank < self.info.ranks() && !self.info.is_own(rank) && !self.info.is_behind_sockets(rank)
    }

    fn tell_job_of(&mut self, peer: u32, message: impl FnOnce(u32) -> ToJob, descriptors: Vec<Rc<OwnedFd>>) {
        let process = self.info.process(peer);
        self.introductions.out.push((process.job, message(process.rank), descriptors));
    }

    /// Requests a link between a rank and one of another job.
    pub(super) fn connect_elsewhere(&mut self, from: u32, peer: u32) {
        // If both ask at once, the first request informs both.
        if self.links.insert((from.min(peer), from.max(peer))) {
            self.tell_job_of(peer, |to| ToJob::Link { from, to }, Vec::new());
            self.send_inbox(from, peer);
        }
    }

    /// Sends the inbox of a rank to one of another job, once there is an inbox and the two have asked for a
    /// link.
    fn send_inbox(&mut self, own: u32, peer: u32) {
        let Some(inbox) = self.inbox_of(own) else { return };
        if self.introductions.sent.insert((own, peer)) {
            let has_event = inbox.len() > 1;
            self.tell_job_of(peer, |to| ToJob::Inbox { from: own, to, has_event }, inbox);
        }
    }

    /// Exchanges the new inbox of a rank with ranks of other jobs.
    pub(super) fn introduce_elsewhere(&mut self, own: u32) {
        let mut wanted: Vec<u32> =
            self.links.iter().filter(|(one, _)| *one == own).map(|(_, other)| *other).collect();
        wanted.retain(|peer| self.is_elsewhere(*peer));
        wanted.into_iter().for_each(|peer| self.send_inbox(own, peer));
        let waiting = std::mem::take(&mut self.introductions.waiting);
        let (now, later) = waiting.into_iter().partition(|(_, to, _)| *to == own);
        self.introductions.waiting = later;
        let now: Vec<_> = now;
        now.into_iter().for_each(|(from, to, inbox)| self.hand_over(from, to, inbox));
    }

    fn hand_over(&mut self, from: u32, to: u32, inbox: Vec<OwnedFd>) {
        if inbox.is_empty() {
            return self.part(to, from);
        }
        let peers = vec![PeerInbox { rank: from, has_event: inbox.len() > 1 }];
        let inbox = inbox.into_iter().map(Rc::new).collect();
        self.send(to, FromLauncher::Peers { peers }, inbox);
    }

    /// Sends the ring that a rank has made for one of another job, with which it has a link.
    pub(super) fn send_ring(&mut self, from: u32, to: u32, ring: OwnedFd) {
        self.tell_job_of(to, |to| ToJob::Ring { from, to }, vec![Rc::new(ring)]);
    }

    /// Requests a region of a rank of another job.
    pub(super) fn find_region_elsewhere(&mut self, from: u32, owner: u32, id: u64) {
        if self.introductions.asked.insert((from, owner, id)) {
            self.tell_job_of(owner, |owner| ToJob::FindRegion { from, owner, id }, Vec::new());
        }
    }

    fn link_with(&mut self, from: u32, to: u32) {
        if !self.is_released(to) && self.links.insert((from.min(to), from.max(to))) {
            self.send_inbox(to, from);
        }
    }

    /// Separates two ranks because this process had no descriptor for a message between them; the peer may be
    /// of another job. Both learn that they cannot reach each other, and communicate with all other ranks.
    pub(super) fn part(&mut self, own: u32, peer: u32) {
        let cut = |by, of| FromLauncher::CutOff { by, of, what: NO_DESCRIPTOR.into() };
        if self.of(own).is_inside() {
            self.send(own, cut(peer, own), Vec::new());
        }
        if self.is_elsewhere(peer) {
            let what = NO_DESCRIPTOR.into();
            self.tell_job_of(peer, |of| ToJob::CutOff { by: own, of, what }, Vec::new());
        } else if self.of(peer).is_inside() {
            self.send(peer, cut(own, peer), Vec::new());
        }
    }

    /// Takes an inbox, which is empty if there was no descriptor for all of it.
    fn take_inbox(&mut self, from: u32, to: u32, inbox: Vec<OwnedFd>) -> Option<()> {
        if self.is_released(to) {
            return Some(());
        }
        // An inbox is taken once for each pair that has asked for a link.
        if !self.links.contains(&(from.min(to), from.max(to))) || !self.introductions.taken.insert((to, from))
        {
            return None;
        }
        match self.inbox_of(to) {
            Some(_) => self.hand_over(from, to, inbox),
            None => self.introductions.waiting.push((from, to, inbox)),
        }
        Some(())
    }

    fn take_ring(&mut self, from: u32, to: u32, ring: Option<OwnedFd>) -> Option<()> {
        if self.is_released(to) {
            return Some(());
        }
        if !self.introductions.taken.contains(&(to, from)) {
            return None;
        }
        match ring {
            None => self.part(to, from),
            Some(ring) if self.of(to).is_inside() => {
                self.send(to, FromLauncher::Ring { from }, vec![Rc::new(ring)]);
            }
            Some(_) => {}
        }
        Some(())
    }

    /// Tells a rank of another job, which keeps a region, that its owner has dropped it.
    pub(super) fn tell_dropped_elsewhere(&mut self, to: u32, owner: u32, id: u64) {
        self.tell_job_of(to, |to| ToJob::RegionDropped { owner, to, id }, Vec::new());
    }

    fn find_region_for(&mut self, from: u32, owner: u32, id: u64) {
        // The asking rank may not keep the region, which is not known here; it ignores superfluous messages.
        let region = self.regions.find((owner, id), Some(from));
        let found = region.is_some();
        self.tell_job_of(from, |to| ToJob::Region { owner, to, id, found }, region.into_iter().collect());
    }

    fn take_region(
        &mut self,
        (owner, id): (u32, u64),
        to: u32,
        found: bool,
        region: Option<OwnedFd>,
    ) -> Option<()> {
        if self.is_released(to) {
            return Some(());
        }
        // A region that was found may come without its descriptor if this process had no room for one: the
        // rank learns the reason.
        if !self.introductions.asked.remove(&(to, owner, id)) || region.is_some() && !found {
            return None;
        }
        self.send(to, FromLauncher::Region { owner, id, found }, region.map(Rc::new).into_iter().collect());
        Some(())
    }
}

impl LocalRanks {
    /// Ends the requests for regions of a job that no longer answers; the asking ranks learn that no region
    /// was found.
    fn end_questions_to(&mut self, job: u64) {
        let asked = std::mem::take(&mut self.introductions.asked);
        let (ended, others) =
            asked.into_iter().partition(|(_, owner, _)| self.info.process(*owner).job == job);
        self.introductions.asked = others;
        let ended: HashSet<_> = ended;
        for (from, owner, id) in ended {
            self.send(from, FromLauncher::Region { owner, id, found: false }, Vec::new());
        }
    }
}

impl Introductions {
    /// Ends all exchanges of a rank of this job that has ended.
    pub(super) fn release(&mut self, rank: u32) {
        self.waiting.retain(|(_, to, _)| *to != rank);
        self.sent.retain(|(own, _)| *own != rank);
        self.taken.retain(|(own, _)| *own != rank);
        self.asked.retain(|(from, ..)| *from != rank);
    }
}

impl LocalRanks {
    fn take_dropped(&mut self, owner: u32, to: u32, id: u64) {
        if self.of(to).is_inside() {
            self.send(to, FromLauncher::RegionDropped { owner, id }, Vec::new());
        }
    }
}

/// Handlers of other jobs' messages about their ranks. The rank of the other job is the first of the two
/// named ones. Methods return none if a message breaks the rules.
impl HostRanks {
    /// Takes the messages for other jobs, in order.
    pub fn take_introductions(&mut self) -> Vec<Introduction> {
        std::mem::take(&mut self.local_ranks.introductions.out)
    }

    fn with_local(&mut self, act: impl FnOnce(&mut LocalRanks) -> Option<()>) -> Option<()> {
        let done = act(&mut self.local_ranks);
        self.post();
        done
    }

    /// Handles the request of a rank of another job for a link.
    pub fn link_with(&mut self, from: u32, to: u32) -> Option<()> {
        self.with_local(|local| {
            local.link_with(from, to);
            Some(())
        })
    }

    /// Takes the inbox of a rank of another job, and its event if it has one. Both are empty if this process
    /// had no descriptor for all of it.
    pub fn take_inbox(&mut self, from: u32, to: u32, inbox: Vec<OwnedFd>) -> Option<()> {
        self.with_local(|local| local.take_inbox(from, to, inbox))
    }

    /// Takes a ring of a rank of another job; none if this process had no descriptor for it.
    pub fn take_ring(&mut self, from: u32, to: u32, ring: Option<OwnedFd>) -> Option<()> {
        self.with_local(|local| local.take_ring(from, to, ring))
    }

    /// Handles the request of a rank of another job for a region.
    pub fn find_region_for(&mut self, from: u32, owner: u32, id: u64) -> Option<()> {
        self.with_local(|local| {
            local.find_region_for(from, owner, id);
            Some(())
        })
    }

    /// Notes that a rank of another job has dropped a region that one of this job may keep.
    pub fn take_dropped(&mut self, owner: u32, to: u32, id: u64) -> Option<()> {
        self.with_local(|local| {
            local.take_dropped(owner, to, id);
            Some(())
        })
    }

    /// Ends the requests to another job, which no longer answers.
    pub fn end_questions_to(&mut self, job: u64) {
        self.local_ranks.end_questions_to(job);
        self.post();
    }

    /// Forgets a rank of another job that keeps no region any more.
    pub fn forget_keeper(&mut self, rank: u32) {
        self.local_ranks.regions.forget_keeper(rank);
    }

    /// Takes another job's answer to a request for a region.
    pub fn take_region(
        &mut self,
        region: (u32, u64),
        to: u32,
        found: bool,
        memory: Option<OwnedFd>,
    ) -> Option<()> {
        self.with_local(|local| local.take_region(region, to, found, memory))
    }
}

#[cfg(test)]
mod tests {
    use canele_control::{Handed, Host, JobInfo, JobRank, RankSet, SpawnedWorld, ToLauncher, VERSION};
    use canele_rail::shm::Shm;
    use canele_sys::ids::Rank;

    use super::*;

    const JOB: u64 = 7;

    /// Returns a started rank 0 of this job and rank 1, which is rank 5 of another job; they have a link.
    fn linked() -> LocalRanks {
        let mut all = LocalRanks::new(JobInfo::new(vec![Host::this(1)]), RankSet::from(0..1)).unwrap();
        all.handle(0, ToLauncher::Hello { version: VERSION }, None).unwrap();
        let origin = Some(JobRank { job: JOB, rank: 5 });
        let world = SpawnedWorld { first: 1, hosts: vec![0], origin, ..SpawnedWorld::default() };
        all.grow(world, std::iter::empty()).unwrap();
        all.handle(0, ToLauncher::Connect { peers: vec![1] }, None).unwrap();
        all.introductions.out.clear();
        all
    }

    fn send_own_inbox(all: &mut LocalRanks) {
        let rail = Shm::open(Rank(0), 0..1, 64, 0, 0).unwrap();
        let inbox: Handed = rail.inbox_fd().try_clone_to_owned().unwrap().into();
        all.handle(0, ToLauncher::Inbox { settings: Vec::new() }, Some(inbox)).unwrap();
        all.take_messages();
    }

    /// Asserts that both know that they cannot reach each other, and that no other rank was informed.
    fn assert_parted(all: &mut LocalRanks) {
        let what = String::from(NO_DESCRIPTOR);
        let told: Vec<_> = all.take_messages().into_iter().map(|told| (told.to, told.message)).collect();
        assert_eq!(told, [(0, FromLauncher::CutOff { by: 1, of: 0, what })]);
        let out = std::mem::take(&mut all.introductions.out);
        let cut = |introduction: &Introduction| matches!(introduction, (JOB, ToJob::CutOff { by: 0, of: 5, what }, _) if what == NO_DESCRIPTOR);
        assert_eq!(out.iter().filter(|introduction| cut(introduction)).count(), 1, "{out:?}");
    }

    #[test]
    fn an_inbox_of_another_job_without_its_descriptor_parts_two_ranks() {
        let mut all = linked();
        send_own_inbox(&mut all);
        assert_eq!(all.take_inbox(1, 0, Vec::new()), Some(()));
        assert_parted(&mut all);
        let mut early = linked();
        early.take_messages();
        assert_eq!(early.take_inbox(1, 0, Vec::new()), Some(()));
        assert!(early.take_messages().is_empty(), "the rank has not begun");
        let rail = Shm::open(Rank(0), 0..1, 64, 0, 0).unwrap();
        let inbox: Handed = rail.inbox_fd().try_clone_to_owned().unwrap().into();
        early.handle(0, ToLauncher::Inbox { settings: Vec::new() }, Some(inbox)).unwrap();
        assert_parted(&mut early);
    }

    #[test]
    fn a_ring_between_jobs_without_its_descriptor_parts_two_ranks() {
        let mut all = linked();
        send_own_inbox(&mut all);
        assert_eq!(all.take_ring(1, 0, None), None, "its inbox comes first");
        let rail = Shm::open(Rank(0), 0..1, 64, 0, 0).unwrap();
        let inbox = rail.inbox_fd().try_clone_to_owned().unwrap();
        assert_eq!(all.take_inbox(1, 0, vec![inbox]), Some(()));
        all.take_messages();
        assert_eq!(all.take_ring(1, 0, None), Some(()));
        assert_parted(&mut all);
        assert_eq!(all.handle_truncated(0, ToLauncher::Ring { to: 1 }), Ok(None));
        assert_parted(&mut all);
        assert!(all.handle_truncated(0, ToLauncher::Ring { to: 9 }).is_err());
    }

    #[test]
    fn who_asks_for_a_region_of_another_job_is_answered_whatever_becomes_of_it() {
        let mut all = linked();
        let find = |id| ToLauncher::FindRegion { owner: 1, id, is_kept: true };
        let answers = |all: &mut LocalRanks| {
            let told = all.take_messages().into_iter();
            told.map(|told| (told.to, told.message, told.descriptors.len())).collect::<Vec<_>>()
        };
        answers(&mut all);
        all.handle(0, find(3), None).unwrap();
        // The launcher had no descriptor for it: the rank only learns that the region exists.
        assert_eq!(all.take_region((1, 3), 0, true, None), Some(()));
        assert_eq!(answers(&mut all), [(0, FromLauncher::Region { owner: 1, id: 3, found: true }, 0)]);
        all.handle(0, find(4), None).unwrap();
        all.end_questions_to(JOB + 1);
        assert!(answers(&mut all).is_empty());
        all.end_questions_to(JOB);
        assert_eq!(answers(&mut all), [(0, FromLauncher::Region { owner: 1, id: 4, found: false }, 0)]);
        assert_eq!(all.take_region((1, 4), 0, false, None), None, "once");
    }
}
