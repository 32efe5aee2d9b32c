//! Links between ranks of this job and ranks of other jobs that are reached over sockets: each is told where the other listens.
//!
//! Owns what was said of which pair. Through which launcher it goes is not known here.

use std::collections::HashSet;

use canele_control::{FromLauncher, RailAddress};

use super::job::Job;

/// Where a rank of this job listens, for one of another job.
#[derive(Debug, PartialEq, Eq)]
pub struct Reachable {
    /// The rank of this job.
    pub own: u32,
    /// That of the other, as this job numbers it.
    pub peer: u32,
    /// Where the first listens, for each of its rails.
    pub rails: Vec<RailAddress>,
}

/// Pairs of ranks, that of this job first, one of which wants a link.
#[derive(Debug, Default)]
pub(super) struct ElsewhereLinks {
    out: Vec<Reachable>,
    /// The other job was told where the first listens.
    sent: HashSet<(u32, u32)>,
    /// The first was told where the other listens.
    told: HashSet<(u32, u32)>,
}

impl Job {
    /// Tells both of a pair that wants a link where the other listens, as far as that is known.
    pub(super) fn introduce_elsewhere(&mut self, own: u32, peer: u32) {
        let Some(rails) = self.member(own).addresses.clone() else { return };
        if self.elsewhere.sent.insert((own, peer)) {
            self.elsewhere.out.push(Reachable { own, peer, rails });
        }
        if let Some(rails) = self.member(peer).addresses.clone()
            && self.elsewhere.told.insert((own, peer))
        {
            self.tell(own, FromLauncher::Reach { rank: peer, rails });
        }
    }

    /// A rank of another job listens there, and wants a link with one of this job, or was wanted by it.
    pub fn handle_reachable(&mut self, Reachable { own, peer, rails }: Reachable) {
        self.member_mut(peer).addresses.get_or_insert(rails);
        self.note_link(own, peer);
        self.introduce_elsewhere(own, peer);
    }

    /// Takes what other jobs are to be told.
    pub fn take_reachable(&mut self) -> Vec<Reachable> {
        std::mem::take(&mut self.elsewhere.out)
    }
}
