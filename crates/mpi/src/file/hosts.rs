//! The hosts of a file's members, and the aggregators, which access the file for all members.

use std::sync::Arc;

use canele_engine::Rank;

use crate::comm::Comm;
use crate::{Class, Error, Result};

/// The mapping of members to hosts.
pub(super) struct Hosts {
    /// Host number of each member.
    of: Vec<usize>,
    /// The members of each host, in the order of their ranks.
    members: Vec<Vec<usize>>,
}

impl Hosts {
    /// Returns the hosts of a communicator's members.
    pub fn of(comm: &Comm) -> Self {
        Self::from_names(comm.group().members().iter().map(|rank: &Rank| comm.engine().host_of(*rank)))
    }

    /// Returns the hosts of members with these host names; hosts are numbered by first appearance.
    fn from_names(names: impl Iterator<Item = usize>) -> Self {
        let (mut known, mut of, mut members) = (Vec::new(), Vec::new(), Vec::<Vec<usize>>::new());
        for (rank, name) in names.enumerate() {
            let host = known.iter().position(|one| *one == name).unwrap_or_else(|| {
                known.push(name);
                members.push(Vec::new());
                known.len() - 1
            });
            of.push(host);
            members[host].push(rank);
        }
        Self { of, members }
    }

    /// Makes a communicator of the members on this host.
    pub fn members_here(&self, comm: &Arc<Comm>) -> Result<Arc<Comm>> {
        if self.count() == 1 {
            return Ok(comm.clone());
        }
        // The file revokes both communicators together; both lie on the same lane.
        let made = comm.split_by_color(Some(self.of[comm.rank()] as u32), 0, Comm::new_flow)?;
        made.ok_or_else(|| Error::new(Class::Internal, "a member is on no host"))
    }

    /// Returns the number of hosts.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Returns the host of a member.
    pub fn host_of(&self, rank: usize) -> usize {
        self.of[rank]
    }

    /// Returns the members of a host.
    pub fn members(&self, host: usize) -> &[usize] {
        &self.members[host]
    }

    /// Returns the aggregators of a collective call: the first member of each host, then the second, and so
    /// on. The default is one per host.
    pub fn aggregators(&self, cb_nodes: usize) -> Vec<usize> {
        let wanted = if cb_nodes == 0 { self.count() } else { cb_nodes.min(self.of.len()) };
        let mut chosen: Vec<(usize, usize)> =
            self.members.iter().flat_map(|ranks| ranks.iter().copied().enumerate()).collect();
        chosen.sort_unstable();
        chosen.into_iter().take(wanted).map(|(_, rank)| rank).collect()
    }

    /// Returns the member of a host that carries a part to or from its aggregator on another host. Parts are
    /// distributed over the members.
    pub fn carrier(&self, host: usize, part: usize) -> usize {
        let members = &self.members[host];
        members[part % members.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregators_are_on_as_many_hosts_as_can_be() {
        let hosts = Hosts::from_names([7, 7, 3, 7, 3].into_iter());
        assert_eq!((hosts.count(), hosts.members(0), hosts.members(1)), (2, &[0, 1, 3][..], &[2, 4][..]));
        assert_eq!(hosts.aggregators(0), [0, 2]);
        assert_eq!(hosts.aggregators(1), [0]);
        assert_eq!(hosts.aggregators(4), [0, 2, 1, 4]);
        assert_eq!(hosts.aggregators(9), [0, 2, 1, 4, 3]);
        let carriers: Vec<_> = (0..4).map(|part| hosts.carrier(0, part)).collect();
        assert_eq!(carriers, [0, 1, 3, 0]);
    }
}
