//! The ring of raised events that were not reported to a tool yet. An event that finds it full is counted and
//! dropped.

use std::collections::VecDeque;

use super::{Raised, TABLE};

/// Capacity in events.
pub(super) const ROOM: usize = 1024;

/// The ring of raised events.
pub(super) struct EventRing {
    events: VecDeque<(u64, Raised)>,
    /// The number of the next event.
    next: u64,
    /// Number of dropped events of each kind.
    dropped: [u64; TABLE.len()],
}

impl EventRing {
    pub const fn new() -> Self {
        Self { events: VecDeque::new(), next: 0, dropped: [0; TABLE.len()] }
    }

    /// Stores an event, or counts it as dropped.
    pub fn push(&mut self, event: Raised) {
        if self.events.len() < ROOM {
            self.events.push_back((self.next, event));
        } else {
            self.dropped[event.kind] += 1;
        }
        self.next += 1;
    }

    /// Removes the oldest event; returns it with its number.
    pub fn pop(&mut self) -> Option<(u64, Raised)> {
        self.events.pop_front()
    }

    /// Returns the number of the next event.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the number of dropped events of each kind, and resets it.
    pub fn take_dropped(&mut self) -> [u64; TABLE.len()] {
        std::mem::replace(&mut self.dropped, [0; TABLE.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted_by_kind() {
        let mut ring = EventRing::new();
        let event = |kind| Raised { kind, at_ns: 0, values: [0; 4] };
        (0..ROOM).for_each(|_| ring.push(event(1)));
        (0..3).for_each(|_| ring.push(event(2)));
        assert_eq!(ring.pop(), Some((0, event(1))));
        ring.push(event(3));
        assert_eq!(ring.take_dropped(), [0, 0, 3, 0]);
        assert_eq!(ring.take_dropped(), [0; 4]);
        assert_eq!(ring.next(), ROOM as u64 + 4);
        let last = std::iter::from_fn(|| ring.pop()).last();
        assert_eq!(last, Some((ROOM as u64 + 3, event(3))), "numbers go on");
    }
}
