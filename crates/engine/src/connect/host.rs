//! Links to ranks of this host: opened as soon as the peer's inbox is here.

use std::os::fd::OwnedFd;

use canele_control::{Handed, MOST_INBOXES, PeerInbox};
use canele_sys::ids::Rank;
use rustix::process::{Resource, getrlimit};

use crate::lane::Lane;

/// The number of descriptors that a lane needs for a moment to take over memory of peers. Each peer that
/// sleeps on descriptors needs one more.
const FOR_A_MOMENT: usize = 2 * MOST_INBOXES;

/// Returns true if this process may open the files of a further lane in a job of so many ranks, with a link
/// to each.
pub(crate) fn has_descriptors_for_lane(ranks: u32) -> bool {
    let Some(limit) = getrlimit(Resource::Nofile).current else { return true };
    // If they cannot be counted none may be left.
    let open = std::fs::read_dir("/proc/self/fd").map(Iterator::count);
    open.is_ok_and(|open| (open + FOR_A_MOMENT) as u64 + u64::from(ranks) <= limit)
}

impl Lane {
    /// Handles inboxes of peers, for which this process may have had too few descriptors left.
    pub fn handle_inboxes(&mut self, peers: &[PeerInbox], mut descriptors: impl Iterator<Item = OwnedFd>) {
        for peer in peers {
            let memory = descriptors.next();
            let event = if peer.has_event { descriptors.next() } else { None };
            match memory {
                Some(memory) if event.is_some() == peer.has_event => {
                    self.handle_inbox(Rank(peer.rank), Handed { memory, event });
                }
                _ => self.handle_no_descriptor(Rank(peer.rank)),
            }
        }
        self.rails.accept();
    }

    /// Handles a peer's inbox: one of the two wants to send to the other, so the link is opened both ways at
    /// once.
    pub fn handle_inbox(&mut self, peer: Rank, inbox: Handed) {
        if peer.0 as usize >= self.proto.ranks() {
            return;
        }
        self.counts.connections += 1;
        let Handed { memory, event } = inbox;
        match self.rails.adopt_inbox(peer, memory, event) {
            Ok(()) => drop(self.open_host_link(peer)),
            Err(error) => self.proto.handle_unreachable(peer, error.to_string()),
        }
    }

    /// Opens the link to a peer whose inbox is here; returns false if it is not.
    pub fn open_host_link(&mut self, peer: Rank) -> bool {
        match self.rails.open_host_link(peer) {
            None => return false,
            Some(Ok(link)) => self.proto.link_opened(&self.rails, peer, link),
            Some(Err(error)) => self.proto.handle_unreachable(peer, error.to_string()),
        }
        true
    }

    /// Handles the lack of a descriptor: this process cannot take over memory of a peer.
    #[cold]
    pub fn handle_no_descriptor(&mut self, peer: Rank) {
        if peer.0 as usize >= self.proto.ranks() {
            return;
        }
        let limit = getrlimit(Resource::Nofile).current.map_or("none".into(), |limit| limit.to_string());
        let why = format!(
            "this process has no descriptor left to take over its memory: the limit is {limit}; beside those of the program \
             Canelé needs {} for a moment, and one for each rank of the host that sleeps on descriptors (raise the limit, \
             `ulimit -n`)",
            FOR_A_MOMENT
        );
        self.proto.handle_unreachable(peer, why);
    }
}
