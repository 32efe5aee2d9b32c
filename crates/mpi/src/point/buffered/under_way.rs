//! Buffered messages that are not known to have left.
//!
//! This module owns them in a queue, with the resources of each. The engine does not report that a message
//! has left; its completion must be queried. Each send queries only a few messages in turn, so its cost does
//! not grow with the queue.

use std::collections::VecDeque;

/// Messages under way: an identifier and the resources of each.
pub(super) struct UnderWay<P, H>(VecDeque<(P, H)>);

impl<P: Copy + PartialEq, H> UnderWay<P, H> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn push(&mut self, message: P, held: H) {
        self.0.push_back((message, held));
    }

    /// Returns the first message.
    pub(super) fn first(&self) -> Option<P> {
        self.0.front().map(|(message, _)| *message)
    }

    /// Removes a message and returns its resources; this is fast for the first message.
    pub(super) fn remove(&mut self, message: P) -> Option<H> {
        let at = self.0.iter().position(|(other, _)| *other == message)?;
        self.0.swap_remove_front(at).map(|(_, held)| held)
    }

    /// Queries at most `most` messages from the front and releases those that have completed. The others move
    /// to the back, so that all are queried in turn.
    pub(super) fn ask_some<E>(
        &mut self,
        most: usize,
        mut end_of: impl FnMut(P) -> Option<E>,
        mut give_up: impl FnMut(H, E),
    ) {
        for _ in 0..most.min(self.len()) {
            let Some((message, held)) = self.0.pop_front() else { return };
            match end_of(message) {
                Some(end) => give_up(held, end),
                None => self.0.push_back((message, held)),
            }
        }
    }

    /// Releases the completed messages at the front; returns true if none is left.
    pub(super) fn ask_front<E>(
        &mut self,
        mut end_of: impl FnMut(P) -> Option<E>,
        mut give_up: impl FnMut(H, E),
    ) -> bool {
        while let Some(message) = self.first() {
            let Some(end) = end_of(message) else { return false };
            if let Some((_, held)) = self.0.pop_front() {
                give_up(held, end);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_asks_for_few_messages_and_each_has_its_turn() {
        const ALL: u32 = 10_000;
        let (mut under_way, mut asked, mut given_up) = (UnderWay::new(), 0, Vec::new());
        for message in 0..ALL {
            let mut end_of = |_| -> Option<()> {
                asked += 1;
                None
            };
            under_way.ask_some(4, &mut end_of, |held: u32, ()| given_up.push(held));
            under_way.push(message, message);
        }
        assert!(asked <= 4 * ALL && given_up.is_empty());
        // All have ended: each is found by as many sends as they are, divided by the looks of one.
        for _ in 0..ALL / 4 {
            under_way.ask_some(4, |_| Some(()), |held, ()| given_up.push(held));
        }
        given_up.sort_unstable();
        assert!(given_up.into_iter().eq(0..ALL) && under_way.len() == 0);
    }

    #[test]
    fn a_flush_asks_for_no_message_behind_one_that_has_not_left() {
        let (mut under_way, mut asked) = (UnderWay::new(), Vec::new());
        (0..5).for_each(|message| under_way.push(message, message));
        let mut end_of = |message| {
            asked.push(message);
            (message < 2).then_some(())
        };
        assert!(!under_way.ask_front(&mut end_of, |_, ()| {}));
        assert_eq!((asked, under_way.first(), under_way.len()), (vec![0, 1, 2], Some(2), 3));
        assert_eq!((under_way.remove(4), under_way.remove(2), under_way.remove(7)), (Some(4), Some(2), None));
        assert!(under_way.ask_front(|_| Some(()), |_, ()| {}));
    }
}
