//! The launcher's side of an inbox. It notifies the owner, reads the owner's counters and waits, and touches
//! nothing else.

use std::os::fd::OwnedFd;

use canele_sys::counters::Counters;

use super::inbox::{Inbox, StatsPage};

/// A rank's inbox in the hands of its launcher.
#[derive(Debug)]
pub struct InboxNotifier {
    inbox: Inbox,
    page: StatsPage,
}

impl InboxNotifier {
    /// Maps the inbox that a rank sent; `event` is the rank's event if it sleeps on descriptors.
    ///
    /// # Errors
    /// Returns a text that says why the descriptor is no inbox or no event.
    pub fn map(inbox: OwnedFd, event: Option<OwnedFd>) -> Result<Self, String> {
        let (inbox, _) = Inbox::open(inbox, None)?;
        let inbox = inbox.with_event(event)?;
        Ok(Self { page: StatsPage(inbox.clone()), inbox })
    }

    /// Tells the rank to read its socket and to write its counters, and wakes it if it sleeps. Returns the number
    /// of this notification.
    pub fn notify(&self) -> u32 {
        self.inbox.notify()
    }

    /// Returns true if the rank has written its counters since the notification of this number.
    pub fn has_counted(&self, notification: u32) -> bool {
        self.inbox.has_counted(notification)
    }

    /// Returns the rank's counters by name, as it last wrote them.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let snapshot = Counters::new(self.page.counters()).snapshot();
        snapshot.iter().map(|(row, value)| (row.name, value)).collect()
    }

    /// Returns the waits of the rank's threads, in the bytes that it wrote last.
    pub fn waits(&self) -> Option<Vec<u8>> {
        self.page.waits().read()
    }
}
