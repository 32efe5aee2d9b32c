//! The control path to ranks of this host: inboxes and rings come and go through the launcher, as descriptors.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::Memfd;

use super::{HOST, Set};
use crate::shm::StatsPage;
use crate::{ConnectError, Network, Rail};

impl<N: Network> Set<N> {
    /// Returns the files that peers of this host need to send to this rank: its inbox, then its event if it
    /// sleeps on descriptors.
    pub fn inbox(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(self.shm.inbox_fd()).chain(self.shm.event_fd()).collect()
    }

    /// Maps the inbox of a peer of this host, so that this rank can wake it and send to it. `event` is the
    /// peer's event if it sleeps on descriptors.
    ///
    /// # Errors
    /// The file is no inbox or has another layout, or no memory is left.
    pub fn adopt_inbox(
        &mut self,
        peer: Rank,
        inbox: OwnedFd,
        event: Option<OwnedFd>,
    ) -> Result<(), ConnectError> {
        self.shm.introduce(peer, inbox, event)
    }

    /// Opens the link to a peer of this host; `None` if its inbox is not mapped.
    ///
    /// # Errors
    /// No memory is left for the ring.
    pub fn open_host_link(&mut self, peer: Rank) -> Option<Result<LinkId, ConnectError>> {
        self.shm.is_introduced(peer).then(|| self.shm.open_link(peer))
    }

    /// Maps a ring, beside the inbox slices, over which a peer of this host sends.
    ///
    /// # Errors
    /// The file is no ring, or no memory is left.
    pub fn adopt_ring(&mut self, from: Rank, ring: OwnedFd) -> Result<(), ConnectError> {
        self.shm.adopt_ring(from, ring)
    }

    /// Takes a ring of this rank that its receiver needs.
    pub fn take_ring(&mut self) -> Option<(Rank, Arc<Memfd>)> {
        self.shm.take_ring()
    }

    /// Returns the links to peers of this host on which packets can leave.
    pub fn host_links(&self) -> &[LinkId] {
        self.shm.outgoing()
    }

    /// Ends the copies that this rank and a peer of its host share: afterwards the peer does not write into
    /// memory of this rank.
    pub fn end_shared_copies(&self, peer: Rank) {
        self.shm.end_shared_copies(peer);
    }

    /// Forgets a dead peer of this host, which may have been introduced without ever sending.
    pub fn forget_host_peer(&mut self, peer: Rank) {
        if self.shm.is_introduced(peer) {
            self.disconnect(LinkId::new(HOST, peer));
        }
    }

    /// Returns the memory in which this rank publishes its counters and waits.
    pub fn stats_page(&self) -> Arc<StatsPage> {
        self.shm.stats_page()
    }

    /// Marks this rank's counters as current, after they were written.
    pub fn mark_counted(&self) {
        self.shm.counted();
    }

    /// Returns the number of sleepers of this host that packets of this rank have woken.
    pub fn wakeups(&self) -> u64 {
        self.shm.wakeups()
    }

    /// Returns true if the launcher has notified this rank since the last call.
    #[inline(always)]
    pub fn take_notification(&mut self) -> bool {
        self.shm.take_notification()
    }

    /// Returns the value of [`Shm::is_processor_wanted`](crate::shm::Shm::is_processor_wanted).
    #[inline(always)]
    pub fn is_processor_wanted(&mut self, peer: Option<Rank>) -> bool {
        self.shm.is_processor_wanted(peer)
    }
}
