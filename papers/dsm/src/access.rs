//! The holder of each page's write access, and the clients that wait for it. Knows no messages.

use std::collections::{BTreeMap, VecDeque};

/// A server's answer to a request for write access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteVerdict {
    /// The client holds the page from now on.
    Granted,
    /// This client holds the page, and the request must not be deferred.
    HeldBy(u32),
    /// The client gets the page once the clients before it gave it up.
    Deferred,
}

/// Write access to the pages of one server. No client holds a page without an entry.
#[derive(Debug, Default)]
pub(crate) struct AccessTable {
    held: BTreeMap<u32, Hold>,
}

#[derive(Debug)]
struct Hold {
    writer: u32,
    /// Clients in the order of their requests, without duplicates.
    waiting: VecDeque<u32>,
}

impl AccessTable {
    /// Handles a client's request for write access; `None` if the client already holds the page or waits for
    /// it.
    pub fn request(&mut self, page: u32, client: u32, deferrable: bool) -> Option<WriteVerdict> {
        let Some(hold) = self.held.get_mut(&page) else {
            self.held.insert(page, Hold { writer: client, waiting: VecDeque::new() });
            return Some(WriteVerdict::Granted);
        };
        if hold.writer == client || hold.waiting.contains(&client) {
            return None;
        }
        if !deferrable {
            return Some(WriteVerdict::HeldBy(hold.writer));
        }
        hold.waiting.push_back(client);
        Some(WriteVerdict::Deferred)
    }

    /// Returns true if `client` holds `page`.
    pub fn is_held_by(&self, page: u32, client: u32) -> bool {
        self.held.get(&page).is_some_and(|hold| hold.writer == client)
    }

    /// Ends the holder's access to a page; returns the client that holds it next.
    pub fn release(&mut self, page: u32) -> Option<u32> {
        let hold = self.held.get_mut(&page)?;
        match hold.waiting.pop_front() {
            Some(next) => hold.writer = next,
            None => drop(self.held.remove(&page)),
        }
        self.held.get(&page).map(|hold| hold.writer)
    }

    /// Removes a client, which gives up all pages that it holds or waits for. Returns the pages that other
    /// clients got, each with its client.
    pub fn remove_client(&mut self, client: u32) -> Vec<(u32, u32)> {
        self.held.values_mut().for_each(|hold| hold.waiting.retain(|waiting| *waiting != client));
        let own: Vec<u32> =
            self.held.iter().filter(|(_, hold)| hold.writer == client).map(|(page, _)| *page).collect();
        own.into_iter().filter_map(|page| Some((page, self.release(page)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use WriteVerdict::{Deferred, Granted, HeldBy};

    #[test]
    fn a_page_goes_to_those_who_wait_in_their_order() {
        let mut table = AccessTable::default();
        assert_eq!(table.request(7, 1, true), Some(Granted));
        assert_eq!(table.request(7, 2, false), Some(HeldBy(1)));
        assert_eq!(table.request(7, 3, true), Some(Deferred));
        assert_eq!(table.request(7, 2, true), Some(Deferred));
        assert!(table.is_held_by(7, 1) && !table.is_held_by(7, 3) && !table.is_held_by(8, 1));
        assert_eq!(table.release(7), Some(3));
        assert_eq!(table.release(7), Some(2));
        assert_eq!(table.release(7), None);
        assert_eq!(table.release(7), None, "it is not held");
        assert_eq!(table.request(7, 3, false), Some(Granted));
    }

    #[test]
    fn no_rank_asks_twice() {
        let mut table = AccessTable::default();
        table.request(7, 1, true);
        table.request(7, 2, true);
        assert_eq!(table.request(7, 1, true), None);
        assert_eq!(table.request(7, 2, true), None);
    }

    #[test]
    fn a_client_that_leaves_holds_nothing_and_waits_for_nothing() {
        let mut table = AccessTable::default();
        for (page, client) in [(1, 5), (2, 5), (3, 6), (1, 6), (3, 5)] {
            table.request(page, client, true);
        }
        assert_eq!(table.remove_client(5), [(1, 6)]);
        assert_eq!(table.request(2, 9, false), Some(Granted));
        assert_eq!(table.release(3), None);
    }
}
