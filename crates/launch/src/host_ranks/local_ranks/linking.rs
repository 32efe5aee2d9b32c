//! Links between ranks of this host: each of the two gets the other's inbox. Owns the time of the exchange.

use canele_control::{FromLauncher, PeerInbox, ToLauncher};

use super::LocalRanks;

impl LocalRanks {
    /// Links a rank with those of `peers` that are on this host; returns its request for the other peers.
    pub(super) fn handle_connect(&mut self, from: u32, peers: &[u32]) -> Result<Option<ToLauncher>, String> {
        if let Some(peer) = peers.iter().find(|&&peer| peer >= self.info.ranks() || peer == from) {
            return Err(format!("asked for a link with rank {peer} of {}", self.info.ranks()));
        }
        let (others, peers): (Vec<u32>, Vec<u32>) = peers.iter().partition(|&&peer| self.is_elsewhere(peer));
        others.into_iter().for_each(|peer| self.connect_elsewhere(from, peer));
        let (here, elsewhere): (Vec<u32>, Vec<u32>) = peers.iter().partition(|&&peer| self.has(peer));
        here.into_iter().for_each(|peer| self.connect(from, peer));
        Ok((!elsewhere.is_empty()).then_some(ToLauncher::Connect { peers: elsewhere }))
    }

    fn connect(&mut self, from: u32, peer: u32) {
        // A rank that asks for a link with an ended rank learns of that end.
        if self.is_released(peer) {
            return;
        }
        // If both ask at once, the first request informs both.
        if self.links.insert((from.min(peer), from.max(peer))) {
            self.introduce(from, peer);
            self.introduce(peer, from);
        }
    }

    /// Gives `to` the inbox of `peer`, once both have sent theirs.
    pub(super) fn introduce(&mut self, to: u32, peer: u32) {
        if let (Some(_), Some(inbox)) = (&self.of(to).inbox, &self.of(peer).inbox) {
            let peers = vec![PeerInbox { rank: peer, has_event: inbox.event.is_some() }];
            let descriptors = self.inbox_of(peer).unwrap_or_default();
            self.send(to, FromLauncher::Peers { peers }, descriptors);
        }
    }
}
