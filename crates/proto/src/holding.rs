//! The requests, messages and memory that a rank holds at the moment: for tests, and for people who look for
//! memory.

use canele_sys::ids::Rank;

use crate::Proto;
use crate::credit::credit_cost;
use crate::unexpected::{Body, KeptPayload};

/// The state that a rank holds. All zero when every operation has been taken and every message received.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Holding {
    /// Requests that were not taken yet.
    pub requests: usize,
    /// Messages without a receive, announced ones included.
    pub unexpected: usize,
    /// The credit of those kept here, in bytes: at most what the job agreed on.
    pub unexpected_bytes: u64,
    /// Memory allocated for their payload, in bytes.
    pub unexpected_memory: u64,
    /// Chunk counters in use.
    pub chunk_counters: u32,
    /// Answers that wait for room.
    pub replies: usize,
    /// Verbs under way, and calls whose verb has completed.
    pub verbs: usize,
}

impl Proto {
    /// Returns the state that is held now. Visits every message, so not for the short path.
    pub fn holding(&self) -> Holding {
        let mut holding = Holding {
            requests: self.requests.len(),
            unexpected: self.incoming.len() + self.arrived_requests.len(),
            chunk_counters: self.peers.iter().map(|peer| peer.chunk_counters.count_ones()).sum(),
            replies: self.peers.iter().map(|peer| peer.replies.len()).sum(),
            verbs: self.verbs.len(),
            ..Holding::default()
        };
        for message in self.incoming.iter() {
            match &message.body {
                Body::Here(KeptPayload::Long(data)) | Body::Coming { data, .. } => {
                    holding.unexpected_bytes += credit_cost(data.len());
                    holding.unexpected_memory += data.capacity() as u64;
                }
                Body::Here(_) | Body::Pulled(_) | Body::Claimed(..) => {
                    holding.unexpected_bytes += credit_cost(message.body.len());
                }
                Body::Announced(_) | Body::Own(..) => {}
            }
        }
        for request in &self.arrived_requests {
            holding.unexpected_bytes += credit_cost(request.payload.len());
        }
        holding
    }

    /// Returns the bytes that may be sent to a peer unannounced, and the bytes of its credit that are still
    /// to be given back.
    pub fn credit(&self, peer: Rank) -> (u64, u64) {
        let peer = &self.peers[peer.0 as usize];
        (peer.credit.sendable(), peer.credit.to_return())
    }

    /// Returns the credit that a peer has been given, in bytes: its own, under way, charged here or still to
    /// be given back.
    pub fn credit_window(&self, peer: Rank) -> u64 {
        self.peers[peer.0 as usize].credit.window()
    }

    /// Returns the credit that all ranks have been given, in bytes.
    pub fn credit_given(&self) -> u64 {
        (0..self.peers.len()).map(|rank| self.peers[rank].credit.window()).sum()
    }
}
