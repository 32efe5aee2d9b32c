//! The control path to ranks of this host: inboxes and rings come and go through the launcher, as descriptors.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::segment::Memfd;

use super::{HOST, Set};
use crate::shm::StatsPage;
use crate::{ConnectError, Network, Rail};

impl<N: Network> Set<N> {
    /// Returns what peers of this host need to send to this rank: the file of its inbox, then its event if it sleeps on descriptors.
    pub fn inbox(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(self.shm.inbox_fd()).chain(self.shm.event_fd()).collect()
    }

    /// Maps the inbox of a peer of this host, so that it can be woken and sent to; `event` came with it if the peer sleeps on descriptors.
    ///
    /// # Errors
    /// It is no inbox, or one of another layout; no memory is left.
    pub fn adopt_inbox(
        &mut self,
        peer: Rank,
        inbox: OwnedFd,
        event: Option<OwnedFd>,
    ) -> Result<(), ConnectError> {
        self.shm.introduce(peer, inbox, event)
    }

    /// Opens the link to a peer of this host whose inbox is mapped; `None` if it is not.
    ///
    /// # Errors
    /// No memory is left for the ring.
    pub fn open_host_link(&mut self, peer: Rank) -> Option<Result<LinkId, ConnectError>> {
        self.shm.is_introduced(peer).then(|| self.shm.open_link(peer))
    }

    /// Maps a ring over which a peer of this host sends, beside its inbox slices.
    ///
    /// # Errors
    /// It is no ring, or no memory is left.
    pub fn adopt_ring(&mut self, from: Rank, ring: OwnedFd) -> Result<(), ConnectError> {
        self.shm.adopt_ring(from, ring)
    }

    /// Takes a ring of this rank that is to be handed to its receiver.
    pub fn take_ring(&mut self) -> Option<(Rank, Arc<Memfd>)> {
        self.shm.take_ring()
    }

    /// The links to peers of this host on which packets can leave.
    pub fn host_links(&self) -> &[LinkId] {
        self.shm.outgoing()
    }

    /// Ends what this rank and a peer of its host copy together: the peer writes no more into memory of this rank.
    pub fn end_shared_copies(&self, peer: Rank) {
        self.shm.end_shared_copies(peer);
    }

    /// Forgets a peer of this host that is gone, which may have been introduced and never have sent anything.
    pub fn forget_host_peer(&mut self, peer: Rank) {
        if self.shm.is_introduced(peer) {
            self.disconnect(LinkId::new(HOST, peer));
        }
    }

    /// The memory in which this rank tells of itself.
    pub fn stats_page(&self) -> Arc<StatsPage> {
        self.shm.stats_page()
    }

    /// Says that this rank's counters are of now, after they were written.
    pub fn mark_counted(&self) {
        self.shm.counted();
    }

    /// Counts the sleepers of this host that packets of this rank have woken.
    pub fn wakeups(&self) -> u64 {
        self.shm.wakeups()
    }

    /// True if the launcher has notified this rank since the last call.
    #[inline(always)]
    pub fn take_notification(&mut self) -> bool {
        self.shm.take_notification()
    }

    /// As [`Shm::is_processor_wanted`](crate::shm::Shm::is_processor_wanted).
    #[inline(always)]
    pub fn is_processor_wanted(&mut self, peer: Option<Rank>) -> bool {
        self.shm.is_processor_wanted(peer)
    }
}
