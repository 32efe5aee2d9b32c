//! The backlog: messages that wait to be sent to one peer, of all flows, and large ones that are under way in
//! pieces (NewMadeleine's window).
//!
//! Owns the order in which messages may leave. Never reads a message, and knows a rail only by its number.
//! Each step costs the same for a backlog of any length: messages stand in linked lists, one for each rail
//! policy and level.
//!
//! ```text
//!   policy   the rails that may take it: any, one that is preferred, one that is required
//!   level    its priority, 0 to 7; in a level, in the order of submission
//!   flow     messages of one flow never overtake each other: an urgent one raises those before it
//! ```

mod list;
mod streams;

use std::collections::VecDeque;

use canele_sys::ids::{FlowId, RequestId};
use rustc_hash::FxHashMap;

use crate::request::Mode;
use crate::slab::{Key, Slab};
use list::{Chain, Links, List};

/// Levels of priority.
pub const LEVELS: usize = 8;
/// The level of messages without a given priority.
pub const ORDINARY: u8 = 3;
/// The age guard: after so many more urgent messages, one message of a waiting level goes first.
pub const GUARD: u32 = 64;

/// The number of pieces that are kept short after a more urgent message has left: another one may follow.
pub const SHORT_PIECES: u32 = 512;

/// The rails that may take the messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RailPolicy {
    /// Any rail.
    #[default]
    Any,
    /// This rail; others while it has no room.
    Prefer(u8),
    /// Only this rail.
    Require(u8),
}

/// The messages that a rail takes now, beside those that require it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Messages that prefer it: others would arrive sooner over another rail.
    Own,
    /// Messages that prefer it, and all that prefer no rail.
    Open,
    /// Messages that prefer another rail too, because that has no room.
    Guests,
    /// All messages, even those that require another rail: the peer has one link, and no rail was to be
    /// chosen.
    All,
}

/// A message in the backlog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// Its request.
    pub request: RequestId,
    /// Its flow.
    pub flow: FlowId,
    /// Its length in bytes.
    pub bytes: usize,
    /// The send mode: it decides when the send is complete.
    pub mode: Mode,
    /// True if its memory lies in a region.
    pub region: bool,
    /// Its priority, below [`LEVELS`].
    pub level: u8,
    /// The rails that may take it.
    pub policy: RailPolicy,
}

#[derive(Clone, Copy)]
struct Entry {
    waiting: Waiting,
    /// The number of messages that had joined, including this one.
    stamp: u64,
    /// Its neighbours among messages of its policy and level.
    queue: Links,
    /// Its neighbours among messages of its flow.
    flow: Links,
}

/// The lists of one rail policy.
struct Queue {
    policy: RailPolicy,
    levels: [List; LEVELS],
    /// The levels that hold a message, one bit each.
    filled: u8,
    /// For each level, the number of more urgent messages that left since a message of this level left.
    passed: [u32; LEVELS],
}

/// The messages that wait for one peer.
#[derive(Default)]
pub struct Backlog {
    entries: Slab<Entry>,
    queues: Vec<Queue>,
    /// The last message of each flow that has messages here.
    flows: FxHashMap<FlowId, Key>,
    joined: u64,
    /// The number of messages that were drawn and are neither discarded nor put back.
    drawn: usize,
    /// Messages under way in pieces, by level; each list begins with the next one to be served.
    streams: [VecDeque<RequestId>; LEVELS],
    /// Bytes of these messages that have not left.
    streaming: usize,
    /// True if the last packet carried a piece.
    piece_was_last: bool,
    /// The number of packets without a piece since then, while messages went on in pieces.
    pieces_passed: u32,
    /// The number of pieces that are still to be short.
    short_pieces: u32,
}

/// The order in which messages are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum By {
    /// The message that has waited longest goes first.
    Arrival,
    /// The most urgent message goes first, with the age guard.
    Priority,
}

impl Backlog {
    /// Returns the number of waiting messages.
    pub fn len(&self) -> usize {
        self.entries.len() - self.drawn
    }

    /// Returns true if no message waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if the backlog holds no state: it may be dropped and made anew for the next message.
    pub fn is_unused(&self) -> bool {
        self.is_empty() && self.drawn == 0 && !self.has_streams() && self.short_pieces == 0
    }

    /// Adds a message. Waiting messages of its flow rise to its level, or it rises to theirs. It takes their
    /// policy, so that a flow waits in one list.
    pub fn join(&mut self, mut waiting: Waiting) -> Key {
        let last = self.flows.get(&waiting.flow).copied();
        if let Some(last) = last {
            let before = self.entry(last).waiting;
            waiting.policy = before.policy;
            self.raise(last, waiting.level);
            waiting.level = waiting.level.max(before.level);
        }
        self.joined += 1;
        let entry = Entry { waiting, stamp: self.joined, queue: Links::default(), flow: Links::default() };
        let key = self.entries.insert(entry);
        let queue = self.queue(waiting.policy);
        self.queues[queue].push_back(&mut self.entries, waiting.level, key);
        List { first: last, last }.push_back::<InFlow>(&mut self.entries, key);
        self.flows.insert(waiting.flow, key);
        key
    }

    /// Raises `last` and the messages of its flow before it to `level`, if they are less urgent.
    fn raise(&mut self, last: Key, level: u8) {
        let mut lower = Vec::new();
        let mut at = Some(last);
        while let Some(key) = at.filter(|key| self.entry(*key).waiting.level < level) {
            lower.push(key);
            at = self.entry(key).flow.before;
        }
        // The oldest first, so that they stay in order.
        for key in lower.into_iter().rev() {
            let Waiting { policy, level: was, .. } = self.entry(key).waiting;
            let queue = self.queue(policy);
            self.queues[queue].remove(&mut self.entries, was, key);
            self.queues[queue].push_back(&mut self.entries, level, key);
            self.entry_mut(key).waiting.level = level;
        }
    }

    /// Returns the message that goes next over rail `rail`.
    pub fn next(&self, rail: u8, takes: Takes, by: By) -> Option<(Key, Waiting)> {
        let open = self.queues.iter().filter(|queue| match queue.policy {
            RailPolicy::Any => takes != Takes::Own,
            RailPolicy::Prefer(preferred) => preferred == rail || matches!(takes, Takes::Guests | Takes::All),
            RailPolicy::Require(required) => required == rail || takes == Takes::All,
        });
        let heads = open.filter_map(|queue| queue.next(&self.entries, by));
        // Mostly there is one list. Equally urgent messages of several policies go by arrival.
        let key = heads.min_by_key(|(level, key)| (by.rank(*level), self.entry(*key).stamp))?.1;
        Some((key, self.entry(key).waiting))
    }

    /// Returns true if a message waits that prefers a rail.
    pub fn has_choosy(&self) -> bool {
        self.queues.iter().any(|queue| matches!(queue.policy, RailPolicy::Prefer(_)) && queue.filled != 0)
    }

    /// Removes a message from the lists to send it. The caller then discards it ([`Backlog::discard`]) or
    /// puts it back.
    pub fn draw(&mut self, key: Key) -> Waiting {
        let waiting = self.entry(key).waiting;
        let queue = self.queue(waiting.policy);
        self.queues[queue].remove(&mut self.entries, waiting.level, key);
        self.queues[queue].count(waiting.level);
        if self.stream_level().is_some_and(|level| level < waiting.level) {
            self.short_pieces = SHORT_PIECES;
        }
        let Links { before, after } = self.entry(key).flow;
        List::default().remove::<InFlow>(&mut self.entries, key);
        match (after, before) {
            (None, Some(before)) => _ = self.flows.insert(waiting.flow, before),
            (None, None) => _ = self.flows.remove(&waiting.flow),
            (Some(_), _) => {}
        }
        // The entry keeps its place, in case the message is put back.
        self.entry_mut(key).flow.after = after;
        self.drawn += 1;
        waiting
    }

    /// Puts a drawn message back in its place. The message drawn last comes back first.
    pub fn put_back(&mut self, key: Key) {
        let Entry { waiting, flow: Links { after, .. }, .. } = *self.entry(key);
        let queue = self.queue(waiting.policy);
        self.queues[queue].push_front(&mut self.entries, waiting.level, key);
        self.queues[queue].count_back(waiting.level);
        match after {
            Some(after) => self.entry_mut(after).flow.before = Some(key),
            None => _ = self.flows.insert(waiting.flow, key),
        }
        self.drawn -= 1;
    }

    /// Forgets a drawn message that is on its way.
    pub fn discard(&mut self, key: Key) {
        self.entries.remove(key);
        self.drawn -= 1;
    }

    /// Removes a message that was cancelled.
    pub fn cancel(&mut self, key: Key) {
        self.draw(key);
        self.discard(key);
    }

    fn queue(&mut self, policy: RailPolicy) -> usize {
        self.queues.iter().position(|queue| queue.policy == policy).unwrap_or_else(|| {
            self.queues.push(Queue { policy, levels: Default::default(), filled: 0, passed: [0; LEVELS] });
            self.queues.len() - 1
        })
    }

    fn entry(&self, key: Key) -> &Entry {
        self.entries.get(key).expect("lists hold what waits")
    }

    fn entry_mut(&mut self, key: Key) -> &mut Entry {
        self.entries.get_mut(key).expect("lists hold what waits")
    }
}

impl By {
    /// Returns the position of a level in this order; the lowest goes first.
    fn rank(self, level: usize) -> usize {
        match self {
            Self::Arrival => 0,
            Self::Priority => LEVELS - level,
        }
    }
}

impl Queue {
    fn push_back(&mut self, entries: &mut Slab<Entry>, level: u8, key: Key) {
        self.levels[level as usize].push_back::<InQueue>(entries, key);
        self.filled |= 1 << level;
    }

    fn push_front(&mut self, entries: &mut Slab<Entry>, level: u8, key: Key) {
        self.levels[level as usize].push_front::<InQueue>(entries, key);
        self.filled |= 1 << level;
    }

    fn remove(&mut self, entries: &mut Slab<Entry>, level: u8, key: Key) {
        let list = &mut self.levels[level as usize];
        list.remove::<InQueue>(entries, key);
        self.filled &= !(u8::from(list.first.is_none()) << level);
    }

    /// Returns the next message, and the level by which it is compared with those of other policies.
    fn next(&self, entries: &Slab<Entry>, by: By) -> Option<(usize, Key)> {
        let most_urgent = self.filled.checked_ilog2()? as usize;
        let head = |level: usize| self.levels[level].first;
        if self.filled.is_power_of_two() {
            return Some((most_urgent, head(most_urgent)?));
        }
        let levels = (0..=most_urgent).filter(|level| self.filled >> level & 1 == 1);
        match by {
            // Usually all messages are at one level, unless the strategy has changed.
            By::Arrival => {
                let heads = levels.filter_map(head);
                heads.min_by_key(|key| entries.get(*key).map(|entry| entry.stamp)).map(|key| (0, key))
            }
            By::Priority => match levels.rev().skip(1).find(|level| self.passed[*level] >= GUARD) {
                // It counts as the most urgent level. Otherwise messages of another policy could keep it
                // waiting.
                Some(aged) => Some((LEVELS - 1, head(aged)?)),
                None => Some((most_urgent, head(most_urgent)?)),
            },
        }
    }

    /// Undoes [`Queue::count`] for a message of `level` that is put back.
    fn count_back(&mut self, level: u8) {
        self.passed[..level as usize].iter_mut().for_each(|passed| *passed = passed.saturating_sub(1));
    }

    /// Counts a message of `level` that leaves.
    fn count(&mut self, level: u8) {
        self.passed[level as usize] = 0;
        let lower = self.filled & ((1 << level) - 1);
        if lower == 0 {
            return;
        }
        for (at, passed) in self.passed[..level as usize].iter_mut().enumerate() {
            *passed = if lower >> at & 1 == 1 { *passed + 1 } else { 0 };
        }
    }
}

struct InQueue;
struct InFlow;

impl Chain for InQueue {
    type Entry = Entry;
    fn links(entry: &mut Entry) -> &mut Links {
        &mut entry.queue
    }
}

impl Chain for InFlow {
    type Entry = Entry;
    fn links(entry: &mut Entry) -> &mut Links {
        &mut entry.flow
    }
}

#[cfg(test)]
mod tests;
