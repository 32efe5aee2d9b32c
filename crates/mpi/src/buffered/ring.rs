//! The parts of the attached memory that are in use. Owns no memory, only the account.
//!
//! ```text
//!   0        used                              tail                        bytes
//!   |   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒      ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒|           free            |
//! ```
//!
//! The standard promises room for the entries of a ring queue, each a message and its overhead. Such a queue
//! continues at the start when the end is too near. This ring allocates in the same way, but frees a
//! completed entry at once. If the ring has no room, any gap is used, without overhead.

use std::collections::BTreeMap;

use super::OVERHEAD;

/// Data begins at multiples of this many bytes, if there is overhead to use.
const ALIGNMENT: usize = 16;

/// The allocated parts of the memory.
#[derive(Debug)]
pub(super) struct Ring {
    /// Address of the memory.
    address: usize,
    bytes: usize,
    /// End of the last entry in ring order.
    tail: usize,
    /// Start and end of each allocated entry.
    entries: BTreeMap<usize, usize>,
}

impl Ring {
    /// Makes a ring whose memory is all free.
    pub(super) fn new(address: usize, bytes: usize) -> Self {
        Self { address, bytes, tail: 0, entries: BTreeMap::new() }
    }

    /// Returns the size of the memory in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Frees an entry.
    pub(super) fn release(&mut self, entry: usize) {
        self.entries.remove(&entry).expect("a piece comes back to its pool, once");
    }

    /// Allocates an entry for a message; returns the offsets of the entry and of its data.
    pub(super) fn reserve(&mut self, len: usize) -> Option<(usize, usize)> {
        let with_overhead = len.checked_add(OVERHEAD)?;
        let ring = [self.tail, 0].into_iter().find(|&start| self.is_free(start, with_overhead));
        if let Some(start) = ring {
            self.tail = start + with_overhead;
            self.entries.insert(start, self.tail);
            // The overhead of a message exceeds the bytes that alignment can take.
            let address = self.address.wrapping_add(start);
            return Some((start, start + address.wrapping_neg() % ALIGNMENT));
        }
        // An entry of zero bytes would be ambiguous: another one may have the same offset.
        let bare = len.max(1);
        let start = self.gap(bare)?;
        self.entries.insert(start, start + bare);
        Some((start, start))
    }

    fn is_free(&self, start: usize, len: usize) -> bool {
        let Some(end) = start.checked_add(len).filter(|&end| end <= self.bytes) else { return false };
        self.entries.range(..end).next_back().is_none_or(|(_, &used)| used <= start)
    }

    /// Returns the first gap of at least this length.
    fn gap(&self, len: usize) -> Option<usize> {
        let starts = [0].into_iter().chain(self.entries.values().copied());
        starts.into_iter().find(|&start| self.is_free(start, len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The queue by which the standard says what there is room for: only what ended at its head makes room.
    struct Queue {
        bytes: usize,
        tail: usize,
        /// Start, end, and whether it has ended.
        entries: Vec<(usize, usize, bool)>,
    }

    impl Queue {
        fn reserve(&mut self, len: usize) -> Option<usize> {
            let gone = self.entries.iter().take_while(|entry| entry.2).count();
            self.entries.drain(..gone);
            let fits = |start: usize| {
                let end = start + len + OVERHEAD;
                end <= self.bytes && self.entries.iter().all(|entry| entry.1 <= start || end <= entry.0)
            };
            let start = [self.tail, 0].into_iter().find(|&start| fits(start))?;
            self.tail = start + len + OVERHEAD;
            self.entries.push((start, self.tail, false));
            Some(start)
        }

        fn release(&mut self, start: usize) {
            let mut entries = self.entries.iter_mut();
            entries.find(|entry| entry.0 == start && !entry.2).unwrap().2 = true;
        }
    }

    #[derive(Clone, Debug)]
    enum Event {
        Reserve(usize),
        Release(proptest::sample::Index),
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let event = prop_oneof![
            3 => (0usize..1500).prop_map(Event::Reserve),
            2 => any::<proptest::sample::Index>().prop_map(Event::Release),
        ];
        proptest::collection::vec(event, 0..80)
    }

    proptest! {
        #[test]
        fn there_is_room_whenever_the_standard_says_so(
            bytes in 0usize..9000, address in 0usize..40, events in events(),
        ) {
            let mut ring = Ring::new(address, bytes);
            let mut queue = Some(Queue { bytes, tail: 0, entries: Vec::new() });
            let mut out: Vec<(usize, usize, usize)> = Vec::new();
            for event in events {
                match event {
                    Event::Reserve(len) => {
                        let place = ring.reserve(len);
                        // Once there was no room by the standard, it promises nothing.
                        if let Some(promised) = queue.as_mut().map(|queue| queue.reserve(len)) {
                            match promised {
                                Some(entry) => prop_assert_eq!(place.map(|place| place.0), Some(entry)),
                                None => queue = None,
                            }
                        }
                        if let Some((entry, start)) = place {
                            prop_assert!(start + len <= bytes);
                            prop_assert!(out.iter().all(|&(_, s, n)| s + n <= start || start + len <= s));
                            prop_assert!(queue.is_none() || (address + start) % ALIGNMENT == 0);
                            out.push((entry, start, len));
                        }
                    }
                    Event::Release(which) if !out.is_empty() => {
                        let (entry, ..) = out.swap_remove(which.index(out.len()));
                        ring.release(entry);
                        queue.as_mut().into_iter().for_each(|queue| queue.release(entry));
                    }
                    Event::Release(_) => {}
                }
            }
            out.iter().for_each(|&(entry, ..)| ring.release(entry));
            prop_assert!(bytes == 0 || ring.reserve(bytes).is_some(), "all is free again");
        }
    }

    #[test]
    fn a_program_that_forgot_the_overhead_gets_what_there_is() {
        let mut ring = Ring::new(0, 100);
        let (first, second) = (ring.reserve(60).unwrap(), ring.reserve(40).unwrap());
        assert_eq!((first.1, second.1), (0, 60));
        assert_eq!((ring.reserve(1), ring.reserve(usize::MAX)), (None, None));
        ring.release(first.0);
        assert_eq!(ring.reserve(60), Some((0, 0)));
    }
}
