//! Senders that have arrived at the inbox of this rank. Decides when their slices are mapped, and trusts no
//! bit that they write.

use canele_sys::ids::{LinkId, Rank};

use super::Shm;
use super::incoming::Incoming;

impl Shm {
    /// Accepts the peers that have arrived since the last call. Costs two loads if there are none.
    #[inline(always)]
    pub fn accept(&mut self) {
        let arrivals = self.inbox.arrivals();
        if arrivals != self.arrivals_seen {
            self.accept_arrived(arrivals);
        }
    }

    #[cold]
    fn accept_arrived(&mut self, arrivals: u32) {
        self.arrivals_seen = arrivals;
        // Spawned ranks have no slices in the inbox.
        for word in 0..self.accepted.len() {
            let mut new = self.inbox.arrived(word) & !self.accepted[word];
            while new != 0 {
                let slice = 64 * word + new.trailing_zeros() as usize;
                new &= new - 1;
                self.accept_one(slice);
            }
        }
    }

    fn accept_one(&mut self, number: usize) {
        // Peers write the bits, so there may be more bits than senders.
        let Some(peer) = self.here.get(number).copied().map(Rank) else { return };
        let place = self.number(peer);
        let Some(link) = self.links.get_mut(place) else { return };
        // Without its inbox, the launcher's message about this peer is unread, or the link is closed.
        let Some(peer_inbox) = &link.peer_inbox else { return };
        self.accepted[number / 64] |= 1 << (number % 64);
        if link.incoming.is_none() {
            let slice = (self.inbox.pages().clone(), self.inbox.layout.slice_start(number));
            let how = (self.rewinds, self.single_copy);
            match Incoming::open(slice, self.inbox.layout, (peer, peer_inbox), how) {
                Ok(incoming) => link.incoming = Some(incoming),
                Err(error) => link.unreadable = Some(error),
            }
            self.incoming.push(LinkId::in_memory(peer));
        }
    }
}
