//! The ring: events that were raised and that no tool has been told of yet. One that finds it full is counted and dropped.

use std::collections::VecDeque;

use super::{Raised, TABLE};

/// ToolEvents that it holds.
pub(super) const ROOM: usize = 1024;

/// See the module.
pub(super) struct EventRing {
    events: VecDeque<(u64, Raised)>,
    /// The number of the next event.
    next: u64,
    /// How many of each kind found no room.
    dropped: [u64; TABLE.len()],
}

impl EventRing {
    pub const fn new() -> Self {
        Self { events: VecDeque::new(), next: 0, dropped: [0; TABLE.len()] }
    }

    /// Keeps an event, or counts it.
    pub fn push(&mut self, event: Raised) {
        if self.events.len() < ROOM {
            self.events.push_back((self.next, event));
        } else {
            self.dropped[event.kind] += 1;
        }
        self.next += 1;
    }

    /// Takes the oldest event, with its number.
    pub fn pop(&mut self) -> Option<(u64, Raised)> {
        self.events.pop_front()
    }

    /// The number of the next event.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes how many of each kind found no room.
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
