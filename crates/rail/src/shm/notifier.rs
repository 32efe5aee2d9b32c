//! The launcher's side of an inbox: it notifies the owner and reads what that tells of itself, and touches nothing else.

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
    /// Maps the inbox a rank sent; `event` came with it if the rank sleeps on descriptors.
    ///
    /// # Errors
    /// A text that says why the descriptor is no inbox, or no event.
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

    /// True if the rank has written its counters since the notification of this number.
    pub fn has_counted(&self, notification: u32) -> bool {
        self.inbox.has_counted(notification)
    }

    /// The rank's counters by name, as it last wrote them.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        let snapshot = Counters::new(self.page.counters()).snapshot();
        snapshot.iter().map(|(row, value)| (row.name, value)).collect()
    }

    /// What the rank's threads wait for, as it last told, in the bytes that it wrote.
    pub fn waits(&self) -> Option<Vec<u8>> {
        self.page.waits().read()
    }
}
