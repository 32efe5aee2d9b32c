//! Reordering by sequence number, if the rails of a pair lose the order among its messages.
//!
//! Owns both ends' numbers for every flow. Never reads a message. Numbers are given when a message leaves its
//! backlog, in the order of its flow; puts and fences have a sequence of their own.

use std::collections::HashMap;

use canele_sys::ids::{FlowId, RequestId, Tag};

use crate::slab::Key;
use crate::wire::Put;

/// The flow of puts and fences.
pub const PUTS: FlowId = FlowId(u32::MAX);

/// A message that has come before its predecessors.
pub enum OutOfOrder {
    /// A message, kept in the table of unexpected ones but not to be found there yet.
    Message(Tag, Key),
    /// A put.
    Put(Put),
    /// A fence.
    Fence(u64),
    /// A withdrawal: the tag, and the sender's request.
    Withdraw(Tag, RequestId),
}

/// The meaning of a sequence number that has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SequenceCheck {
    /// The message is the next one.
    Next,
    /// Others come before it.
    OutOfOrder,
    /// The number has come before.
    Duplicate,
}

/// The sequence numbers of one peer's flows, and its out-of-order messages.
#[derive(Default)]
pub struct Sequencer {
    flows: Vec<Numbers>,
    puts: Numbers,
    out_of_order: HashMap<(FlowId, u32), OutOfOrder>,
}

/// The numbers of one flow: the next to be sent, the next to come.
#[derive(Clone, Copy, Default)]
struct Numbers {
    next: u32,
    next_expected: u32,
}

impl Sequencer {
    #[inline]
    fn numbers(&mut self, flow: FlowId) -> &mut Numbers {
        if flow == PUTS {
            return &mut self.puts;
        }
        let at = flow.0 as usize;
        if at >= self.flows.len() {
            self.flows.resize(at + 1, Numbers::default());
        }
        &mut self.flows[at]
    }

    /// Returns the number of the next message to be sent on a flow, or of the next put or fence.
    #[inline]
    pub fn next(&mut self, flow: FlowId) -> u32 {
        self.numbers(flow).next
    }

    /// Notes that this message was sent.
    #[inline]
    pub fn sent(&mut self, flow: FlowId) {
        let numbers = self.numbers(flow);
        numbers.next = numbers.next.wrapping_add(1);
    }

    /// Returns the number of the next message on a flow, and counts it as sent.
    #[inline]
    pub fn take_next(&mut self, flow: FlowId) -> u32 {
        let number = self.next(flow);
        self.sent(flow);
        number
    }

    /// Returns the sequence number of the message that is to come next on a flow.
    #[inline]
    pub fn next_expected(&mut self, flow: FlowId) -> u32 {
        self.numbers(flow).next_expected
    }

    /// Notes that this message has come.
    #[inline]
    pub fn advance(&mut self, flow: FlowId) {
        let numbers = self.numbers(flow);
        numbers.next_expected = numbers.next_expected.wrapping_add(1);
    }

    /// Compares a number that has come on a flow with the expected one.
    #[inline]
    pub fn check(&mut self, flow: FlowId, number: u32) -> SequenceCheck {
        match number.wrapping_sub(self.next_expected(flow)) {
            0 => SequenceCheck::Next,
            ahead if ahead < 1 << 31 && !self.out_of_order.contains_key(&(flow, number)) => {
                SequenceCheck::OutOfOrder
            }
            _ => SequenceCheck::Duplicate,
        }
    }

    /// Keeps an out-of-order message.
    pub fn keep(&mut self, flow: FlowId, number: u32, out_of_order: OutOfOrder) {
        self.out_of_order.insert((flow, number), out_of_order);
    }

    /// Takes the out-of-order message that is now the next one of its flow.
    pub fn take_next_expected(&mut self, flow: FlowId) -> Option<OutOfOrder> {
        if self.out_of_order.is_empty() {
            return None;
        }
        let next_expected = self.next_expected(flow);
        let out_of_order = self.out_of_order.remove(&(flow, next_expected))?;
        self.advance(flow);
        Some(out_of_order)
    }

    /// Returns the number of out-of-order messages that wait.
    pub fn out_of_order(&self) -> usize {
        self.out_of_order.len()
    }

    /// Removes and returns all out-of-order messages, whose predecessors never come.
    pub fn drain(&mut self) -> impl Iterator<Item = OutOfOrder> + '_ {
        self.out_of_order.drain().map(|(_, out_of_order)| out_of_order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_early_waits_for_its_turn() {
        let (mut sequencer, flow) = (Sequencer::default(), FlowId(2));
        assert_eq!(sequencer.check(flow, 1), SequenceCheck::OutOfOrder);
        sequencer.keep(flow, 1, OutOfOrder::Fence(11));
        assert!(sequencer.take_next_expected(flow).is_none());
        assert_eq!(sequencer.check(flow, 1), SequenceCheck::Duplicate);
        assert_eq!(sequencer.check(flow, 0), SequenceCheck::Next);
        sequencer.advance(flow);
        assert!(matches!(sequencer.take_next_expected(flow), Some(OutOfOrder::Fence(11))));
        assert_eq!((sequencer.next_expected(flow), sequencer.out_of_order()), (2, 0));
        assert_eq!(sequencer.check(flow, 1), SequenceCheck::Duplicate);
    }

    #[test]
    fn numbers_wrap() {
        let (mut sequencer, flow) = (Sequencer::default(), FlowId(0));
        sequencer.numbers(flow).next_expected = u32::MAX;
        assert_eq!(sequencer.check(flow, 0), SequenceCheck::OutOfOrder);
        assert_eq!(sequencer.check(flow, u32::MAX), SequenceCheck::Next);
        sequencer.advance(flow);
        assert_eq!(sequencer.check(flow, 0), SequenceCheck::Next);
        assert_eq!(sequencer.check(flow, u32::MAX), SequenceCheck::Duplicate);
    }

    #[test]
    fn flows_and_puts_have_numbers_of_their_own() {
        let mut sequencer = Sequencer::default();
        sequencer.sent(FlowId(3));
        sequencer.sent(PUTS);
        sequencer.sent(PUTS);
        assert_eq!([FlowId(0), FlowId(3), PUTS].map(|flow| sequencer.next(flow)), [0, 1, 2]);
    }
}
