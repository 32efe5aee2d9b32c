//! The numbers that messages of a pair carry where their rails lose the order among them, and what has come too early.
//!
//! Owns both ends' numbers for every flow. Never looks into a message. Numbers are given when a message leaves its backlog,
//! in the order of its flow; puts and fences have a sequence of their own.

use std::collections::HashMap;

use canele_sys::ids::{FlowId, RequestId, Tag};

use crate::slab::Key;
use crate::wire::Put;

/// The flow of puts and fences.
pub const PUTS: FlowId = FlowId(u32::MAX);

/// Something that has come before what stands before it.
pub enum Early {
    /// A message, kept in the table of unexpected ones but not to be found there yet.
    Message(Tag, Key),
    /// A put.
    Put(Put),
    /// A fence.
    Fence(u64),
    /// The sender's request of a message that is wanted back.
    Withdraw(Tag, RequestId),
}

/// What a number says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// It is the next.
    Due,
    /// Others come before it.
    Early,
    /// It has come before.
    Twice,
}

/// The numbers of one peer's flows.
#[derive(Default)]
pub struct Order {
    flows: Vec<Numbers>,
    puts: Numbers,
    early: HashMap<(FlowId, u32), Early>,
}

/// Of one flow: the next to be sent, the next to come.
#[derive(Clone, Copy, Default)]
struct Numbers {
    next: u32,
    due: u32,
}

impl Order {
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

    /// The number of the next message to be sent on a flow, or of the next put or fence.
    #[inline]
    pub fn next(&mut self, flow: FlowId) -> u32 {
        self.numbers(flow).next
    }

    /// It was sent.
    #[inline]
    pub fn sent(&mut self, flow: FlowId) {
        let numbers = self.numbers(flow);
        numbers.next = numbers.next.wrapping_add(1);
    }

    /// The number of the message that is to come next on a flow.
    #[inline]
    pub fn due(&mut self, flow: FlowId) -> u32 {
        self.numbers(flow).due
    }

    /// It has come.
    #[inline]
    pub fn came(&mut self, flow: FlowId) {
        let numbers = self.numbers(flow);
        numbers.due = numbers.due.wrapping_add(1);
    }

    /// What a number that has come on a flow says.
    #[inline]
    pub fn turn(&mut self, flow: FlowId, number: u32) -> Turn {
        match number.wrapping_sub(self.due(flow)) {
            0 => Turn::Due,
            ahead if ahead < 1 << 31 && !self.early.contains_key(&(flow, number)) => Turn::Early,
            _ => Turn::Twice,
        }
    }

    /// Keeps what came too early.
    pub fn keep(&mut self, flow: FlowId, number: u32, early: Early) {
        self.early.insert((flow, number), early);
    }

    /// What was kept and is due now on a flow.
    pub fn take_due(&mut self, flow: FlowId) -> Option<Early> {
        if self.early.is_empty() {
            return None;
        }
        let due = self.due(flow);
        let early = self.early.remove(&(flow, due))?;
        self.came(flow);
        Some(early)
    }

    /// How many came too early and wait.
    pub fn early(&self) -> usize {
        self.early.len()
    }

    /// Everything that came too early and now never will be due.
    pub fn drain(&mut self) -> impl Iterator<Item = Early> + '_ {
        self.early.drain().map(|(_, early)| early)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_early_waits_for_its_turn() {
        let (mut order, flow) = (Order::default(), FlowId(2));
        assert_eq!(order.turn(flow, 1), Turn::Early);
        order.keep(flow, 1, Early::Fence(11));
        assert!(order.take_due(flow).is_none());
        assert_eq!(order.turn(flow, 1), Turn::Twice);
        assert_eq!(order.turn(flow, 0), Turn::Due);
        order.came(flow);
        assert!(matches!(order.take_due(flow), Some(Early::Fence(11))));
        assert_eq!((order.due(flow), order.early()), (2, 0));
        assert_eq!(order.turn(flow, 1), Turn::Twice);
    }

    #[test]
    fn numbers_wrap() {
        let (mut order, flow) = (Order::default(), FlowId(0));
        order.numbers(flow).due = u32::MAX;
        assert_eq!(order.turn(flow, 0), Turn::Early);
        assert_eq!(order.turn(flow, u32::MAX), Turn::Due);
        order.came(flow);
        assert_eq!(order.turn(flow, 0), Turn::Due);
        assert_eq!(order.turn(flow, u32::MAX), Turn::Twice);
    }

    #[test]
    fn flows_and_puts_have_numbers_of_their_own() {
        let mut order = Order::default();
        order.sent(FlowId(3));
        order.sent(PUTS);
        order.sent(PUTS);
        assert_eq!([FlowId(0), FlowId(3), PUTS].map(|flow| order.next(flow)), [0, 1, 2]);
    }
}
