//! Finds for each message that had to wait the event with which it left.

use std::collections::{HashMap, VecDeque};

use canele_trace::{Event, EventKind, MessageVariant};

/// A send whose message has not left yet.
struct Waiting {
    /// The number of the send among the sends of its rank on its lane.
    number: u64,
    bytes: u64,
    /// The position of its event.
    at: usize,
}

/// Maps the position of each send that had to wait to the event of its departure.
pub fn departures(events: &[Event]) -> HashMap<usize, Event> {
    let mut waiting: HashMap<(u32, (u8, u16), u32), VecDeque<Waiting>> = HashMap::new();
    let mut left = HashMap::new();
    let mut numbers: HashMap<u8, u64> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        let envelope = (event.peer, event.flow_of_lane(), event.tag);
        match event.kind {
            EventKind::Sent => {
                let number = numbers.entry(event.lane).or_default();
                if event.variant == MessageVariant::Undecided as u8 {
                    let send = Waiting { number: *number, bytes: event.bytes, at };
                    waiting.entry(envelope).or_default().push_back(send);
                }
                *number += 1;
            }
            EventKind::Withdrawn => {
                let Some(others) = waiting.get_mut(&envelope) else { continue };
                // A message that was announced has already left.
                if let Ok(withdrawn) = others.binary_search_by_key(&event.bytes, |send| send.number) {
                    others.remove(withdrawn);
                }
            }
            EventKind::Departed if event.variant != MessageVariant::Streamed as u8 => {
                let Some(others) = waiting.get_mut(&envelope) else { continue };
                let first = others.iter().position(|send| send.bytes == event.bytes);
                if let Some(send) = first.and_then(|first| others.remove(first)) {
                    left.insert(send.at, *event);
                }
            }
            _ => {}
        }
    }
    left
}
