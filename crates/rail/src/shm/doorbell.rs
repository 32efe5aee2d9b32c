//! The launcher's side of an inbox: it announces news and reads counters, and touches nothing else.

use std::os::fd::OwnedFd;

use canele_sys::counters::Counters;
use canele_sys::segment::Segment;

use super::CounterPage;
use super::inbox::Inbox;

/// A rank's inbox in the hands of its launcher.
#[derive(Debug)]
pub struct Doorbell {
    inbox: Inbox,
    page: CounterPage,
}

impl Doorbell {
    /// Maps the inbox a rank sent; `event` came with it if the rank sleeps on descriptors.
    ///
    /// # Errors
    /// A text that says why the descriptor is no inbox, or no event.
    pub fn map(inbox: OwnedFd, event: Option<OwnedFd>) -> Result<Self, String> {
        let segment = Segment::map(inbox).map_err(|e| e.to_string())?;
        let inbox = Inbox::open(segment, None)?.with_event(event)?;
        Ok(Self { page: CounterPage(inbox.clone()), inbox })
    }

    /// Tells the rank to read its socket and to write its counters, and wakes it if it sleeps. Gives the number of this
    /// ring.
    pub fn ring(&self) -> u32 {
        self.inbox.announce_news()
    }

    /// Whether the rank has written its counters since the ring of this number.
    pub fn has_counted(&self, ring: u32) -> bool {
        self.inbox.has_counted(ring)
    }

    /// The descriptor to hand to peers.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.inbox.segment().fd()
    }

    /// The rank's counters by name, as it last wrote them.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let snapshot = Counters::new(self.page.words()).snapshot();
        snapshot.iter().map(|(row, value)| (row.name, value)).collect()
    }
}
