//! Intercommunicators (MPI 5.0, §7.6).

use std::sync::Arc;

use canele_engine::Rank;
use canele_engine::collective::{Operation, Root, Shape};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

use super::agree::{NewFlow, both, decode, encode, leaders, names_of};
use super::named::Name;
use super::{Comm, Parts};
use crate::errhandler::Errhandler;
use crate::group::Group;
use crate::{Result, fail};

/// Returns a number that is unique in this process.
fn next_number() -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    CALLS.fetch_add(1, Relaxed)
}

impl Comm {
    /// Makes an intercommunicator of this group and another one. Only the leader passes `peers`: a
    /// communicator with the other leader, and its rank there.
    ///
    /// # Errors
    /// Fails if a member died or the groups overlap.
    pub fn create_between(&self, leader: usize, peers: Option<(&Comm, Rank)>, tag: u32) -> Result<Arc<Comm>> {
        self.check_call("MPI_Intercomm_create")?;
        let lane = self.engine.first_lane();
        let told = match peers {
            Some((peers, other)) if leader == self.rank() => {
                let own = next_number().to_le_bytes();
                let mine = [&own[..], &encode(lane, self.group())?].concat();
                [&own[..], &peers.swap(other, leaders(tag), mine)?].concat()
            }
            _ => Vec::new(),
        };
        let told = self.tell(leader, told)?;
        let Some((numbers, group)) = told.split_first_chunk::<16>() else {
            fail!(Internal, "the leader of the other group has sent {} bytes", told.len());
        };
        let remote = Arc::new(Group::new(decode(lane, group)?)?);
        // Threads may make several intercommunicators of the same members with one tag, on different
        // communicators. So each leader numbers its calls.
        let (own, other) = numbers.split_at(8);
        let all = both(lane, self.group(), &remote);
        let is_first = all.member(0) == self.group().member(0);
        let numbers = if is_first { [own, other] } else { [other, own] };
        let members = names_of(lane, &all)?;
        self.join(&remote, &format!("tag {tag}, {numbers:?}, {members:?}"), self.errhandler())
    }

    /// Makes an intercommunicator of this group and another one; collective over both.
    pub(crate) fn join(
        &self,
        remote: &Arc<Group>,
        name: &str,
        errhandler: Arc<Errhandler>,
    ) -> Result<Arc<Comm>> {
        if let Some(twice) = remote.members().iter().find(|rank| self.group().rank_of(**rank).is_some()) {
            fail!(Communicator, "{twice} of the job is in both groups: they must have no member in common");
        }
        // The lanes of both groups may differ.
        let lane = self.engine.first_lane();
        let all_members = both(lane, self.group(), remote);
        let flow = Name::new(name, "between groups").agree(lane, &all_members)?;
        let parts = self.parts(NewFlow::on(lane, flow), self.group().clone());
        Ok(Arc::new(Comm::new(Parts { remote: Some(remote.clone()), errhandler, ..parts })?))
    }

    /// Sends the bytes of one member to all members.
    pub(crate) fn tell(&self, root: usize, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        let mut length = [bytes.len() as u64];
        let tell = |bytes: &mut [u8]| {
            let shape = Shape::new(Operation::Broadcast(Root::At(root as u32)), bytes.len());
            self.engine.collective(self.collectives(), shape, None, &[], bytes)
        };
        tell(bytemuck::cast_slice_mut(&mut length))?;
        bytes.resize(length[0] as usize, 0);
        tell(&mut bytes)?;
        Ok(bytes)
    }

    /// Merges both groups into one; the members of the group that passed `high` come last.
    ///
    /// # Errors
    /// Fails if a member died or this is an intracommunicator.
    pub fn merge(&self, high: bool) -> Result<Arc<Comm>> {
        let remote = self.remote()?;
        self.check_call("MPI_Intercomm_merge")?;
        let (all, all_members) = (self.numbers_of_all(&[i64::from(high)])?, self.all_members());
        let theirs = all_members.rank_of(remote.member(0)).is_some_and(|n| all[n] != 0);
        let group = match (high, theirs) {
            (false, true) => self.group().union(remote),
            (true, false) => remote.union(self.group()),
            _ => all_members,
        };
        let new = self.new_flow()?;
        Ok(Arc::new(Comm::new(self.parts(new, Arc::new(group)))?))
    }

    /// Makes an intercommunicator of groups of both sides' members.
    pub(super) fn create_inter(&self, group: &Arc<Group>) -> Result<Option<Arc<Comm>>> {
        let mine = group.rank_of(self.engine.rank()).map_or(-1, |rank| rank as i64);
        let (all, all_members) = (self.numbers_of_all(&[mine])?, self.all_members());
        let place = |rank: &Rank| all[all_members.rank_of(*rank).expect("all members are there")];
        let mut members = self.remote()?.members().to_vec();
        members.retain(|rank| place(rank) >= 0);
        members.sort_by_key(place);
        let new = self.new_flow()?;
        self.member_of(new, group.clone(), Some(Arc::new(Group::new(members)?)), None)
    }
}
