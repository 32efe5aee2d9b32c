//! Which send belongs to which receive: of the messages from one rank to another on one flow with one tag the n-th that is sent is the n-th
//! that is received.
//!
//! Owns the counts of all of them. A message has a number if both its ends were recorded.

use std::collections::HashMap;

use canele_trace::{Event, EventKind};

/// Sender, receiver, flow and tag.
type Key = (u32, u32, u16, u32);

/// Numbers of the messages of a job.
#[derive(Debug, Default)]
pub struct MessageNumbers(HashMap<Key, Series>);

/// The messages that agree in all of the key.
#[derive(Debug, Default)]
struct Series {
    sent: u64,
    received: u64,
    /// The number of the first.
    first: u64,
    /// How many were numbered so far, by each end.
    next: [u64; 2],
    /// Sends that were withdrawn, as counted from the first.
    withdrawn: Vec<u64>,
    /// Sends, withdrawn ones among them.
    begun: u64,
}

impl MessageNumbers {
    /// Counts the messages of a rank.
    pub fn count(&mut self, rank: u32, events: &[Event]) {
        for event in events {
            match event.kind {
                EventKind::Sent => {
                    let series = self.0.entry((rank, event.peer, event.flow, event.tag)).or_default();
                    series.sent += 1;
                    series.begun += 1;
                }
                EventKind::Withdrawn => {
                    if let Some(series) = self.0.get_mut(&(rank, event.peer, event.flow, event.tag)) {
                        series.sent = series.sent.saturating_sub(1);
                        series.withdrawn.push(series.begun.saturating_sub(1));
                    }
                }
                EventKind::Matched => {
                    self.0.entry((event.peer, rank, event.flow, event.tag)).or_default().received += 1;
                }
                _ => {}
            }
        }
    }

    /// Numbers all messages. All ranks have been counted.
    pub fn assign(&mut self) {
        let mut next = 1;
        let mut keys: Vec<Key> = self.0.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(series) = self.0.get_mut(&key) {
                (series.first, series.begun) = (next, 0);
                next += series.sent.min(series.received);
            }
        }
    }

    /// The number of the next message of an event, if both its ends are known.
    pub fn next(&mut self, rank: u32, event: &Event) -> Option<u64> {
        let is_sent = event.kind == EventKind::Sent;
        let (from, to) = if is_sent { (rank, event.peer) } else { (event.peer, rank) };
        let series = self.0.get_mut(&(from, to, event.flow, event.tag))?;
        if is_sent {
            series.begun += 1;
            if series.withdrawn.contains(&(series.begun - 1)) {
                return None;
            }
        }
        let next = &mut series.next[usize::from(is_sent)];
        *next += 1;
        (*next <= series.sent.min(series.received)).then_some(series.first + *next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, peer: u32, tag: u32) -> Event {
        Event { peer, tag, ..Event::new(kind) }
    }

    fn numbers(numbers: &mut MessageNumbers, rank: u32, events: &[Event]) -> Vec<Option<u64>> {
        let messages = events.iter().filter(|event| event.kind != EventKind::Withdrawn);
        messages.map(|event| numbers.next(rank, event)).collect()
    }

    #[test]
    fn messages_are_numbered_alike_at_both_ends_and_what_has_no_other_end_is_not() {
        use EventKind::{Matched, Sent};
        let sends = [event(Sent, 1, 7), event(Sent, 1, 8), event(Sent, 1, 7), event(Sent, 1, 7)];
        let receives =
            [event(Matched, 0, 8), event(Matched, 0, 7), event(Matched, 0, 7), event(Matched, 2, 7)];
        let mut all = MessageNumbers::default();
        all.count(0, &sends);
        all.count(1, &receives);
        all.assign();
        assert_eq!(numbers(&mut all, 0, &sends), [Some(1), Some(3), Some(2), None]);
        assert_eq!(numbers(&mut all, 1, &receives), [Some(3), Some(1), Some(2), None]);
    }

    #[test]
    fn a_withdrawn_send_has_no_number() {
        use EventKind::{Matched, Sent, Withdrawn};
        let sends = [event(Sent, 1, 7), event(Sent, 1, 7), event(Withdrawn, 1, 7), event(Sent, 1, 7)];
        let receives = [event(Matched, 0, 7), event(Matched, 0, 7)];
        let mut all = MessageNumbers::default();
        all.count(0, &sends);
        all.count(1, &receives);
        all.assign();
        assert_eq!(numbers(&mut all, 0, &sends), [Some(1), None, Some(2)]);
        assert_eq!(numbers(&mut all, 1, &receives), [Some(1), Some(2)]);
    }
}
