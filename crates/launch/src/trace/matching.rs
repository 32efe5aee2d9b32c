//! The pairing of sends with receives. Of the messages from one rank to another on one flow with one tag, the
//! n-th sent is the n-th received; withdrawn ones are left out.
//!
//! Owns the counts of all of them. A message has a number if both its ends were recorded. A withdrawn send is
//! identified by its position among all sends of its rank on its lane.

use std::collections::{HashMap, HashSet};

use canele_trace::{Event, EventKind, NO_TAG};

/// Sender, receiver, flow of a lane, and tag.
type Key = (u32, u32, (u8, u16), u32);

/// The value that stands for the flow of notices, which have none; their tags are their numbers.
const NOTICES: (u8, u16) = (u8::MAX, u16::MAX);

/// Numbers of the messages of a job.
#[derive(Debug, Default)]
pub struct MessageNumbers {
    series: HashMap<Key, Series>,
    /// The senders by rank and lane.
    senders: HashMap<(u32, u8), Sender>,
}

/// The number of sends of a rank on a lane, and those that were withdrawn.
#[derive(Debug, Default)]
struct Sender {
    /// The numbers of the withdrawn sends.
    withdrawn: HashSet<u64>,
    /// The number of sends that were counted so far.
    seen: u64,
}

impl Sender {
    /// Counts the next send; returns true if its message was not withdrawn.
    fn next_is_kept(&mut self) -> bool {
        self.seen += 1;
        !self.withdrawn.contains(&(self.seen - 1))
    }
}

/// The messages with the same key.
#[derive(Debug, Default)]
struct Series {
    sent: u64,
    received: u64,
    /// The number of the first message.
    first: u64,
    /// The number of messages of each end that have a number so far.
    next: [u64; 2],
}

impl MessageNumbers {
    /// Counts the messages of a rank.
    pub fn count(&mut self, rank: u32, events: &[Event]) {
        for event in events.iter().filter(|event| event.kind == EventKind::Withdrawn) {
            self.senders.entry((rank, event.lane)).or_default().withdrawn.insert(event.bytes);
        }
        for event in events {
            let flow = event.flow_of_lane();
            match event.kind {
                EventKind::Sent if self.senders.entry((rank, event.lane)).or_default().next_is_kept() => {
                    self.series.entry((rank, event.peer, flow, event.tag)).or_default().sent += 1;
                }
                EventKind::Matched => {
                    self.series.entry((event.peer, rank, flow, event.tag)).or_default().received += 1;
                }
                EventKind::Accessed if event.tag != NO_TAG => {
                    self.series.entry((rank, event.peer, NOTICES, event.tag)).or_default().sent += 1;
                }
                EventKind::Noticed => {
                    self.series.entry((event.peer, rank, NOTICES, event.tag)).or_default().received += 1;
                }
                _ => {}
            }
        }
        // The sends are counted a second time when the messages are numbered.
        self.senders.iter_mut().filter(|((of, _), _)| *of == rank).for_each(|(_, sender)| sender.seen = 0);
    }

    /// Numbers all messages, after all ranks have been counted.
    pub fn assign(&mut self) {
        let mut next = 1;
        let mut keys: Vec<Key> = self.series.keys().copied().collect();
        keys.sort_unstable();
        for key in keys {
            if let Some(series) = self.series.get_mut(&key) {
                series.first = next;
                next += series.sent.min(series.received);
            }
        }
    }

    /// Returns the number of the next message of an event, if both its ends are known.
    pub fn next(&mut self, rank: u32, event: &Event) -> Option<u64> {
        let is_sent = matches!(event.kind, EventKind::Sent | EventKind::Accessed);
        let is_notice = matches!(event.kind, EventKind::Accessed | EventKind::Noticed);
        let (from, to) = if is_sent { (rank, event.peer) } else { (event.peer, rank) };
        if event.kind == EventKind::Sent && !self.senders.get_mut(&(rank, event.lane))?.next_is_kept() {
            return None;
        }
        let flow = if is_notice { NOTICES } else { event.flow_of_lane() };
        let series = self.series.get_mut(&(from, to, flow, event.tag))?;
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
    fn a_withdrawn_send_has_no_number_wherever_it_is_among_those_of_its_key() {
        use EventKind::{Matched, Sent, Withdrawn};
        let sent = [event(Sent, 1, 8), event(Sent, 1, 7), event(Sent, 1, 7), event(Sent, 1, 7)];
        let receives = [event(Matched, 0, 8), event(Matched, 0, 7), event(Matched, 0, 7)];
        for withdrawn in 1..sent.len() {
            let withdrawal = Event { bytes: withdrawn as u64, ..event(Withdrawn, 1, 7) };
            let sends = [&sent[..], &[withdrawal]].concat();
            let mut all = MessageNumbers::default();
            all.count(0, &sends);
            all.count(1, &receives);
            all.assign();
            let mut expected = vec![Some(3), Some(1), Some(2)];
            expected.insert(withdrawn, None);
            assert_eq!(numbers(&mut all, 0, &sends), expected);
            assert_eq!(numbers(&mut all, 1, &receives), [Some(3), Some(1), Some(2)]);
        }
    }
    #[test]
    fn lanes_count_for_themselves() {
        use EventKind::{Matched, Sent, Withdrawn};
        let on = |lane, event| Event { lane, ..event };
        // The first send of lane 1 was withdrawn; flows and tags are equal.
        let withdrawal = on(1, Event { bytes: 0, ..event(Withdrawn, 1, 7) });
        let sends =
            [on(1, event(Sent, 1, 7)), on(0, event(Sent, 1, 7)), on(1, event(Sent, 1, 7)), withdrawal];
        let receives = [on(1, event(Matched, 0, 7)), on(0, event(Matched, 0, 7))];
        let mut all = MessageNumbers::default();
        all.count(0, &sends);
        all.count(1, &receives);
        all.assign();
        assert_eq!(numbers(&mut all, 0, &sends), [None, Some(1), Some(2)]);
        assert_eq!(numbers(&mut all, 1, &receives), [Some(2), Some(1)]);
    }
}
