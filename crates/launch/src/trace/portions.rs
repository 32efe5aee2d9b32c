//! Waits in portions: a thread that waits for the same event again and again, each time with a short
//! deadline, is drawn as waiting once.
//!
//! ```text
//!   recorded   ├── wait ──┤├── wait ──┤├─ wait ─┤      a program of Python looks for signals after each portion
//!   drawn      ├───────────── wait ─────────────┤
//! ```

use std::collections::{HashMap, HashSet};

use canele_trace::{Event, EventKind};

/// The longest gap between two portions is the time of the earlier one divided by this number.
const LONGEST_GAP: u64 = 8;

/// Returns the positions of the events that only separate two portions of a wait. `next` has for each event
/// the position of the next one in its thread.
pub fn separators(events: &[Event], next: &[Option<usize>]) -> HashSet<usize> {
    let mut begun: HashMap<u16, Event> = HashMap::new();
    let mut separators = HashSet::new();
    for (at, event) in events.iter().enumerate() {
        match event.kind {
            EventKind::WaitBegin => {
                begun.insert(event.thread, *event);
            }
            EventKind::WaitEnd => {
                let Some(begin) = begun.remove(&event.thread) else { continue };
                let Some(following) = next[at] else { continue };
                let gap_ns = events[following].at_ns.saturating_sub(event.at_ns);
                let took_ns = event.at_ns.saturating_sub(begin.at_ns);
                if is_same_wait(&begin, &events[following]) && gap_ns <= took_ns / LONGEST_GAP {
                    separators.extend([at, following]);
                }
            }
            // The end of a slice ends the waits inside of it.
            EventKind::CallEnd | EventKind::CollectiveEnd => {
                begun.remove(&event.thread);
            }
            _ => {}
        }
    }
    separators
}

/// Returns true if two events begin a wait for the same operation.
fn is_same_wait(one: &Event, other: &Event) -> bool {
    Event { at_ns: 0, ..*one } == Event { at_ns: 0, ..*other }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(at_ns: u64, peer: u32) -> Event {
        Event { at_ns, peer, ..Event::new(EventKind::WaitBegin) }
    }

    fn of(kind: EventKind, at_ns: u64) -> Event {
        Event { at_ns, ..Event::new(kind) }
    }

    fn found(events: &[Event]) -> Vec<usize> {
        let next: Vec<_> = (0..events.len()).map(|at| (at + 1 < events.len()).then_some(at + 1)).collect();
        let mut places: Vec<_> = separators(events, &next).into_iter().collect();
        places.sort_unstable();
        places
    }

    #[test]
    fn portions_of_a_wait_are_separated_by_short_gaps() {
        use EventKind::{CallEnd, Sent, WaitEnd};
        let end = |at_ns| of(WaitEnd, at_ns);
        assert_eq!(
            found(&[begin(100, 1), end(180), begin(190, 1), end(270), begin(280, 1), end(281)]),
            [1, 2, 3, 4]
        );
        assert!(found(&[begin(100, 1), end(180), begin(191, 1), end(200)]).is_empty(), "a long gap");
        assert!(found(&[begin(100, 1), end(180), begin(190, 2), end(200)]).is_empty(), "another peer");
        assert!(found(&[begin(100, 1), end(180), of(Sent, 181), begin(190, 1), end(200)]).is_empty());
        assert!(found(&[begin(100, 1), of(CallEnd, 150), end(180), begin(190, 1), end(200)]).is_empty());
        assert!(found(&[begin(100, 1), end(180)]).is_empty(), "the last event");
    }
}
