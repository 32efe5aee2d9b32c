//! The counts of a client's requests.

/// Counts of a client's accesses and messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests for pages, including those for pages not found.
    pub requests: u64,
    /// Pages that were fetched for reading.
    pub read_faults: u64,
    /// Pages that were fetched for writing.
    pub write_faults: u64,
    /// Pages that were fetched before they were accessed ([`Client::prefetch`](crate::Client::prefetch)).
    pub prefetched: u64,
    /// Requests to a server that did not have the page.
    pub not_found: u64,
    /// Pages that were written back.
    pub written_back: u64,
}

impl Traffic {
    /// The number of its numbers.
    pub const NUMBERS: usize = 6;

    /// Returns its numbers, for a sum over the clients element by element.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let Self { requests, read_faults, write_faults, prefetched, not_found, written_back } = *self;
        [requests, read_faults, write_faults, prefetched, not_found, written_back]
    }

    /// Makes it from [`Self::numbers`], or from the sums of those of several clients.
    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let [requests, read_faults, write_faults, prefetched, not_found, written_back] = numbers;
        Self { requests, read_faults, write_faults, prefetched, not_found, written_back }
    }
}
