//! The launcher's side of an inbox: it notifies the owner and reads counters, and touches nothing else.

use std::os::fd::OwnedFd;

use canele_sys::counters::Counters;

use super::inbox::{CounterPage, Inbox};

/// A rank's inbox in the hands of its launcher.
#[derive(Debug)]
pub struct InboxNotifier {
    inbox: Inbox,
    page: CounterPage,
}

impl InboxNotifier {
    /// Maps the inbox a rank sent; `event` came with it if the rank sleeps on descriptors.
    ///
    /// # Errors
    /// A text that says why the descriptor is no inbox, or no event.
    pub fn map(inbox: OwnedFd, event: Option<OwnedFd>) -> Result<Self, String> {
        let (inbox, _) = Inbox::open(inbox, None)?;
        let inbox = inbox.with_event(event)?;
        Ok(Self { page: CounterPage(inbox.clone()), inbox })
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
        let snapshot = Counters::new(self.page.words()).snapshot();
        snapshot.iter().map(|(row, value)| (row.name, value)).collect()
    }
}
