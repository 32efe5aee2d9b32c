//! Rings of spawned ranks: an inbox has slices for the ranks at the start of the job, so what a spawned rank sends, or is sent, lies in
//! a slice with a file of its own, which the sender makes and the launcher hands to the receiver.
//!
//! ```text
//!   rank 0                              spawned rank 5
//!   Outgoing ──▶ [file made by 0] ──────▶ Incoming
//!   Incoming ◀────── [file made by 5] ◀── Outgoing
//! ```
//! Everything else is as in an inbox: its layout, how memory is reserved, who is woken how. Such a file is gone with the two.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::{Memfd, SegmentError};

use super::inbox::Inbox;
use super::outgoing::LinkOptions;
use super::{Incoming, Link, Outgoing, Shm};
use crate::ConnectError;

/// A new ring to the owner of an inbox, and its file.
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
    /// Whether what this rank and a peer send each other lies in slices of their inboxes.
    pub(super) fn have_slices(&self, peer: Rank) -> bool {
        self.slice_of_pair(peer).is_some()
    }

    /// The number of the slice that this rank writes in the inbox of a peer; none if one of them has no slices.
    pub(super) fn slice_of_pair(&self, peer: Rank) -> Option<usize> {
        let slice = |rank: Rank| self.here.binary_search(&rank.0).ok();
        slice(peer).and(slice(self.me))
    }

    /// Whether a rank is of this host.
    pub(super) fn is_here(&self, rank: Rank) -> bool {
        rank == self.me || self.here.binary_search(&rank.0).is_ok() || self.spawned.contains(&rank.0)
    }

    /// From now on there is this rank of this host, which was spawned.
    pub fn add_rank(&mut self, peer: Rank) {
        let number = self.number(peer);
        self.spawned.push(peer.0);
        if self.links.len() <= number {
            self.links.resize_with(number + 1, Link::default);
        }
    }

    /// A ring of this rank's that is to be handed to its receiver.
    pub fn take_ring(&mut self) -> Option<(Rank, Arc<Memfd>)> {
        self.rings.pop()
    }

    /// Maps a ring in which packets of `peer`, which was introduced, come. One of a peer that is gone is dropped.
    ///
    /// # Errors
    /// It is no ring of this layout; it cannot be mapped.
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

    /// A rank of a host that had none at the start of the job.
    fn spawned(me: u32) -> Shm {
        Shm::open(Rank(me), [], 64, 16 << 10, usize::MAX).unwrap()
    }

    fn introduce(to: &mut Shm, peer: &Shm) {
        to.add_rank(peer.me);
        let inbox = peer.inbox_fd().try_clone_to_owned().unwrap();
        to.introduce(peer.me, inbox, None).unwrap();
    }

    /// Opens the link from one rank to the other and sends a packet over it, with a bulk that names the sender.
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
