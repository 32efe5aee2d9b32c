//! Links between ranks of this job and ranks of other jobs that are reached over sockets: each gets the
//! addresses of the other.
//!
//! Owns the progress of each pair. It does not know over which launcher a message travels.

use std::collections::HashSet;

use canele_control::{FromLauncher, RailAddress};

use super::job::Job;

/// The addresses of a rank of this job, for one of another job.
#[derive(Debug, PartialEq, Eq)]
pub struct Reachable {
    /// The rank of this job.
    pub own: u32,
    /// The rank of the other job, as this job numbers it.
    pub peer: u32,
    /// The addresses of the first rank, for each of its rails.
    pub rails: Vec<RailAddress>,
}

/// Pairs of ranks, of which one asks for a link; the rank of this job comes first.
#[derive(Debug, Default)]
pub(super) struct ElsewhereLinks {
    out: Vec<Reachable>,
    /// Pairs whose first rank's addresses were sent to the other job.
    sent: HashSet<(u32, u32)>,
    /// Pairs whose first rank was informed of the other's addresses.
    told: HashSet<(u32, u32)>,
}

impl Job {
    /// Sends both ranks of a pair that asks for a link the known addresses of the other.
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

    /// Handles the addresses of a rank of another job that asks for a link with one of this job, or was asked
    /// for one.
    pub fn handle_reachable(&mut self, Reachable { own, peer, rails }: Reachable) {
        self.member_mut(peer).addresses.get_or_insert(rails);
        self.note_link(own, peer);
        self.introduce_elsewhere(own, peer);
    }

    /// Takes the messages for other jobs.
    pub fn take_reachable(&mut self) -> Vec<Reachable> {
        std::mem::take(&mut self.elsewhere.out)
    }
}
