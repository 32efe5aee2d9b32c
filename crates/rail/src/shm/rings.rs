//! Rings of spawned ranks. An inbox has slices only for the ranks at the start of the job. Packets from or to
//! a spawned rank use a slice in a file of its own. The sender makes the file, and the launcher hands it to
//! the receiver.
//!
//! ```text
//!   rank 0                              spawned rank 5
//!   Outgoing ──▶ [file made by 0] ──────▶ Incoming
//!   Incoming ◀────── [file made by 5] ◀── Outgoing
//! ```
//! Layout, reservation of memory and waking are those of an inbox. The file is freed with the two ends.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::{Memfd, SegmentError};

use super::inbox::Inbox;
use super::outgoing::LinkOptions;
use super::{Incoming, Link, Outgoing, Shm};
use crate::ConnectError;

/// Opens a new ring to the owner of an inbox, and returns its file.
pub(super) fn open(
    inbox: &Inbox,
    options: LinkOptions,
) -> (Result<Outgoing, SegmentError>, Option<Arc<Memfd>>) {
    let file = match Memfd::create("canele-ring", inbox.layout.slice_bytes()) {
        Ok(file) => Arc::new(file),
        Err(error) => return (Err(error), None),
    };
    (Outgoing::open_slice((&file, 0), inbox, options), Some(file))
}

impl Shm {
    /// Returns true if this rank and a peer use slices of their inboxes.
    pub(super) fn have_slices(&self, peer: Rank) -> bool {
        self.slice_of_pair(peer).is_some()
    }

    /// Returns the number of this rank's slice in the inbox of a peer; none if one of them has no slices.
    pub(super) fn slice_of_pair(&self, peer: Rank) -> Option<usize> {
        let slice = |rank: Rank| self.here.binary_search(&rank.0).ok();
        slice(peer).and(slice(self.me))
    }

    /// Returns true if a rank is on this host.
    pub(super) fn is_here(&self, rank: Rank) -> bool {
        rank == self.me || self.here.binary_search(&rank.0).is_ok() || self.spawned.contains(&rank.0)
    }

    /// Adds a spawned rank of this host.
    pub fn add_rank(&mut self, peer: Rank) {
        let number = self.number(peer);
        self.spawned.push(peer.0);
        if self.links.len() <= number {
            self.links.resize_with(number + 1, Link::default);
        }
    }

    /// Takes a ring of this rank that its receiver needs.
    pub fn take_ring(&mut self) -> Option<(Rank, Arc<Memfd>)> {
        self.rings.pop()
    }

    /// Maps a ring over which the introduced `peer` sends. A ring of a dead peer is dropped.
    ///
    /// # Errors
    /// The file is no ring of this layout, or it cannot be mapped.
    pub fn adopt_ring(&mut self, peer: Rank, ring: OwnedFd) -> Result<(), ConnectError> {
        let (rewinds, single_copy) = (self.rewinds, self.single_copy);
        if self.have_slices(peer) {
            return Ok(());
        }
        let Some(link) = self.link_mut(peer) else { return Ok(()) };
        let Some(inbox) = link.peer_inbox.as_ref().filter(|_| link.incoming.is_none()) else { return Ok(()) };
        let (layout, how) = (inbox.layout, (rewinds && inbox.rewinds(), single_copy));
        let map = || {
            let file = Arc::new(Memfd::check(ring)?);
            let pages = file.map(0, layout.slice_bytes())?;
            pages.dont_fork()?;
            Incoming::open((Arc::new(pages), 0), layout, (peer, inbox), how)
        };
        let opened = map();
        link.incoming = Some(opened.map_err(|source| ConnectError::Memory { peer, source })?);
        self.incoming.push(LinkId::in_memory(peer));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Class, Header, Rail};

    /// Makes a rank of a host that had none at the start of the job.
    fn spawned(me: u32) -> Shm {
        Shm::open(Rank(me), [], 64, 16 << 10, usize::MAX).unwrap()
    }

    fn introduce(to: &mut Shm, peer: &Shm) {
        to.add_rank(peer.me);
        let inbox = peer.inbox_fd().try_clone_to_owned().unwrap();
        to.introduce(peer.me, inbox, None).unwrap();
    }

    /// Opens a link and sends a packet over it, with a bulk that names the sender.
    fn send(from: &mut Shm, to: &mut Shm) {
        let (me, peer) = (from.me, to.me);
        let link = from.open_link(peer).unwrap();
        let (receiver, ring) = from.take_ring().unwrap();
        assert_eq!(receiver, peer);
        to.adopt_ring(me, ring.fd().try_clone_to_owned().unwrap()).unwrap();
        let slot = from.claim(link, 1000, Class::Message).unwrap();
        slot.bulk.write(0, &[me.0 as u8; 1000]);
        from.commit(link, Header { kind: 1, tag: me.0, ..Header::default() });
    }

    fn assert_received(at: &mut Shm, from: Rank) {
        let link = LinkId::in_memory(from);
        assert_eq!(at.incoming(), [link]);
        let packet = at.poll(link).unwrap().unwrap();
        let mut bytes = [0; 1000];
        packet.bulk.read(0, &mut bytes);
        assert_eq!((packet.header.tag, bytes), (from.0, [from.0 as u8; 1000]));
        at.release(link);
        assert!(at.poll(link).unwrap().is_none());
    }

    #[test]
    fn ranks_spawned_on_a_host_that_had_none_reach_those_with_lower_numbers() {
        let (mut higher, mut lower) = (spawned(7), spawned(5));
        introduce(&mut higher, &lower);
        introduce(&mut lower, &higher);
        assert!(higher.is_introduced(Rank(5)) && lower.is_introduced(Rank(7)));
        send(&mut higher, &mut lower);
        send(&mut lower, &mut higher);
        assert_received(&mut lower, Rank(7));
        assert_received(&mut higher, Rank(5));
    }
}
