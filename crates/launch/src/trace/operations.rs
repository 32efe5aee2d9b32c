//! The collective that a message belongs to, and the names of non-blocking collectives that are under way.
//!
//! A non-blocking collective and its messages have one flow and one tag. A message belongs to a blocking
//! collective if it has the collective's flow and its thread is inside of the collective.

use std::collections::{HashMap, VecDeque};

use canele_trace::Event;

/// The flow on a lane, and the tag.
type OperationKey = ((u8, u16), u32);

/// The non-blocking collectives of a rank.
#[derive(Default)]
pub struct Operations {
    under_way: HashMap<OperationKey, VecDeque<u64>>,
    /// The number of the name of each collective, also of those that have ended.
    names: HashMap<OperationKey, u16>,
    started: u64,
}

impl Operations {
    fn key(event: &Event) -> OperationKey {
        (event.flow_of_lane(), event.tag)
    }

    /// Notes that a collective has begun; returns its number.
    pub fn start(&mut self, event: &Event) -> u64 {
        self.started += 1;
        self.names.insert(Self::key(event), event.name);
        self.under_way.entry(Self::key(event)).or_default().push_back(self.started);
        self.started
    }

    /// Notes the end of the collective that began first with this flow and tag; returns its number.
    pub fn complete(&mut self, event: &Event) -> Option<u64> {
        self.under_way.get_mut(&Self::key(event))?.pop_front()
    }

    /// Returns the number of the name of the collective that a message belongs to: a non-blocking one, or the
    /// one that its thread is inside of.
    pub fn of_message(&self, message: &Event, inside: Option<&Event>) -> Option<u16> {
        let blocking = inside.filter(|begun| begun.flow_of_lane() == message.flow_of_lane());
        self.names.get(&Self::key(message)).copied().or(blocking.map(|begun| begun.name))
    }
}

#[cfg(test)]
mod tests {
    use canele_trace::EventKind;

    use super::*;

    fn event(kind: EventKind, tag: u32, name: u16) -> Event {
        Event { flow: 5, tag, name, ..Event::new(kind) }
    }

    #[test]
    fn messages_belong_to_the_collective_with_their_flow_and_tag_or_to_the_one_around_them() {
        let mut all = Operations::default();
        let message = event(EventKind::Sent, 9, 0);
        assert_eq!(all.of_message(&message, None), None);
        assert_eq!(all.start(&event(EventKind::CollectiveStarted, 9, 3)), 1);
        let blocking = event(EventKind::CollectiveBegin, 0, 4);
        assert_eq!(all.of_message(&message, Some(&blocking)), Some(3));
        assert_eq!(all.of_message(&event(EventKind::Sent, 8, 0), Some(&blocking)), Some(4));
        assert_eq!(all.of_message(&Event { flow: 6, ..message }, Some(&blocking)), None);
        assert_eq!(all.complete(&event(EventKind::CollectiveCompleted, 9, 0)), Some(1));
        assert_eq!(all.complete(&event(EventKind::CollectiveCompleted, 9, 0)), None);
    }
}
