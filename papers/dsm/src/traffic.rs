//! What a client has asked for.

/// Counts of a client's accesses and messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests for pages, those that were not found included.
    pub requests: u64,
    /// Pages that were fetched because they were read.
    pub read_faults: u64,
    /// Pages that were fetched because they were to be written.
    pub write_faults: u64,
    /// Pages that were fetched before they were accessed ([`Client::prefetch`](crate::Client::prefetch)).
    pub prefetched: u64,
    /// Requests to a server that did not have the page.
    pub not_found: u64,
    /// Pages that were written back.
    pub written_back: u64,
}

impl Traffic {
    /// How many numbers it consists of.
    pub const NUMBERS: usize = 6;

    /// Its numbers, to be added up over the clients place by place.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let Self { requests, read_faults, write_faults, prefetched, not_found, written_back } = *self;
        [requests, read_faults, write_faults, prefetched, not_found, written_back]
    }

    /// From [`Self::numbers`], or the sums of those of several clients.
    pub fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let [requests, read_faults, write_faults, prefetched, not_found, written_back] = numbers;
        Self { requests, read_faults, write_faults, prefetched, not_found, written_back }
    }
}
