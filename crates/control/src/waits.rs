//! The waits of a rank's threads, as the rank reports them in shared memory, for people who look at the job.
//!
//! Owns the shape, the encoding and the checks of the record. It is trusted only after it was decoded and
//! found within bounds. Decides nothing.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The waits of the threads of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The threads that wait, at most [`Waits::MOST_THREADS`].
    pub threads: Vec<ThreadWait>,
    /// The number of further threads that wait.
    pub threads_left_out: u32,
    /// Messages that no receive has asked for, the oldest of each flow first, at most
    /// [`Waits::MOST_UNEXPECTED`]. Messages of collectives are not among them.
    pub unexpected: Vec<UnexpectedMessage>,
    /// The number of further unexpected messages.
    pub unexpected_left_out: u64,
    /// Names that the program gave to flows in this report.
    pub names: Vec<(u32, String)>,
    /// The return addresses of the calls of the reporting thread, innermost first, in its process.
    pub calls: Vec<u64>,
    /// The index of that thread in `threads`; none if it does not wait.
    pub calls_of: Option<u32>,
}

/// The wait of one thread until any of these operations ends.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadWait {
    /// The time that it has waited, in ns.
    pub waited_ns: u64,
    /// The operations, at most [`Waits::MOST_OPERATIONS`].
    pub operations: Vec<WaitOperation>,
    /// The number of further operations.
    pub left_out: u32,
    /// True if something else may end the wait too: a deadline, or another thread of the program.
    pub ends_otherwise: bool,
}

/// An operation that a thread waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitOperation {
    /// A message that has not left, or has not been received.
    Send(WaitMessage),
    /// A message that has not arrived.
    Receive(WaitMessage),
    /// A message that has not arrived; a probe leaves it in place.
    Probe(WaitMessage),
    /// A collective to which other members have not contributed yet.
    Collective(WaitCollective),
    /// Another operation, in words that follow "waits for".
    Other {
        /// The words.
        what: Cow<'static, str>,
        /// The peer, if there is one.
        peer: Option<u32>,
    },
    /// A thread of the library that makes progress for the program.
    Library,
}

/// A message that a thread waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitMessage {
    /// The rank that it goes to or comes from; none: from any rank.
    pub peer: Option<u32>,
    /// The flow; none once the message has met its receive.
    pub flow: Option<u32>,
    /// The tag; none: any.
    pub tag: Option<u32>,
    /// The length in bytes, or that of the receive buffer.
    pub bytes: u64,
    /// True once the message has been matched and its data moves.
    pub moving: bool,
}

/// A collective that a thread waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitCollective {
    /// The operation, for example `barrier`.
    pub operation: Cow<'static, str>,
    /// The flow of the collective's messages.
    pub flow: u32,
    /// The number of the collective on that flow, from 1. Blocking and started collectives are counted apart.
    pub call: u32,
    /// True for a non-blocking collective, which the thread waits for later.
    pub started: bool,
    /// The members whose messages have not arrived, or that have not received this rank's, at most
    /// [`Waits::MOST_PEERS`].
    pub peers: Vec<u32>,
    /// The number of further members.
    pub peers_left_out: u32,
}

/// A message that no receive has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexpectedMessage {
    /// The sender.
    pub source: u32,
    /// The flow.
    pub flow: u32,
    /// The tag.
    pub tag: u32,
    /// The length in bytes.
    pub bytes: u64,
}

/// The position of a lane's number, above the bits of a flow's number on its lane.
const LANE_SHIFT: u32 = 24;

/// The record in memory. It holds start times, since elapsed times would go stale.
#[derive(Serialize, Deserialize)]
struct Record {
    waits: Waits,
    /// The start of each thread's wait, by the host's monotonic clock.
    since_ns: Vec<u64>,
}

impl Waits {
    /// Adds the waits on a further lane of the rank. The lane's flows get numbers that flows of other lanes
    /// do not have.
    pub fn add_lane(&mut self, lane: u8, mut of_lane: Waits) {
        let number = |flow: u32| u32::from(lane) << LANE_SHIFT | flow;
        let operations = of_lane.threads.iter_mut().flat_map(|thread| &mut thread.operations);
        for operation in operations {
            match operation {
                WaitOperation::Send(message)
                | WaitOperation::Receive(message)
                | WaitOperation::Probe(message) => message.flow = message.flow.map(number),
                WaitOperation::Collective(collective) => collective.flow = number(collective.flow),
                WaitOperation::Other { .. } | WaitOperation::Library => {}
            }
        }
        of_lane.unexpected.iter_mut().for_each(|message| message.flow = number(message.flow));
        of_lane.names.iter_mut().for_each(|(flow, _)| *flow = number(*flow));
        let places = self.threads.len()..Self::MOST_THREADS;
        let told = of_lane.calls_of.map(|thread| self.threads.len() as u32 + thread);
        if self.calls_of.is_none() && told.is_some_and(|thread| places.contains(&(thread as usize))) {
            (self.calls, self.calls_of) = (of_lane.calls, told);
        }
        let left_out = of_lane.threads.len().saturating_sub(places.len());
        self.threads_left_out = self.threads_left_out.saturating_add(of_lane.threads_left_out);
        self.threads_left_out = self.threads_left_out.saturating_add(left_out as u32);
        self.threads.extend(of_lane.threads.into_iter().take(places.len()));
        let room = Self::MOST_UNEXPECTED.saturating_sub(self.unexpected.len());
        let left_out = of_lane.unexpected.len().saturating_sub(room) as u64;
        self.unexpected_left_out = self.unexpected_left_out.saturating_add(of_lane.unexpected_left_out);
        self.unexpected_left_out = self.unexpected_left_out.saturating_add(left_out);
        self.unexpected.extend(of_lane.unexpected.into_iter().take(room));
        self.names.extend(of_lane.names);
    }

    /// The most threads in a report.
    pub const MOST_THREADS: usize = 4;
    /// The most operations of one thread in a report.
    pub const MOST_OPERATIONS: usize = 8;
    /// The most members of a collective in a report.
    pub const MOST_PEERS: usize = 8;
    /// The most messages in a report.
    pub const MOST_UNEXPECTED: usize = 8;
    /// The most calls in a report.
    pub const MOST_CALLS: usize = 48;
    /// The most bytes of a name or text in a report.
    pub const MOST_WORDS: usize = 80;

    /// Encodes these waits in at most `room` bytes; the least useful parts are left out. `since_ns` has the
    /// time at which each wait began.
    pub fn encode(mut self, since_ns: Vec<u64>, room: usize) -> Vec<u8> {
        for step in 0..3 {
            match step {
                1 => self.names.clear(),
                2 => self.calls.clear(),
                _ => {}
            }
            let record = Record { waits: self, since_ns: since_ns.clone() };
            match postcard::to_stdvec(&record) {
                Ok(bytes) if bytes.len() <= room => return bytes,
                _ => self = record.waits,
            }
        }
        Vec::new()
    }

    /// Decodes the waits in a record; none if it is invalid. `now_ns` is the present time of the clock that
    /// `encode` used.
    pub fn decode(record: &[u8], now_ns: u64) -> Option<Waits> {
        let (Record { mut waits, since_ns }, rest) = postcard::take_from_bytes(record).ok()?;
        if !rest.is_empty() || since_ns.len() != waits.threads.len() || !waits.is_sound() {
            return None;
        }
        for (wait, since) in waits.threads.iter_mut().zip(since_ns) {
            wait.waited_ns = now_ns.saturating_sub(since);
        }
        Some(waits)
    }

    fn is_sound(&self) -> bool {
        let operation = |operation: &WaitOperation| match operation {
            WaitOperation::Collective(collective) => {
                collective.operation.len() <= Self::MOST_WORDS && collective.peers.len() <= Self::MOST_PEERS
            }
            WaitOperation::Other { what, .. } => what.len() <= Self::MOST_WORDS,
            _ => true,
        };
        let thread = |wait: &ThreadWait| {
            wait.operations.len() <= Self::MOST_OPERATIONS && wait.operations.iter().all(operation)
        };
        self.threads.len() <= Self::MOST_THREADS
            && self.threads.iter().all(thread)
            && self.unexpected.len() <= Self::MOST_UNEXPECTED
            && self.names.iter().all(|(_, name)| name.len() <= Self::MOST_WORDS)
            && self.calls.len() <= Self::MOST_CALLS
            && self.calls_of.is_none_or(|of| (of as usize) < self.threads.len())
    }

    /// Returns the longest start of a text that fits and ends at a whole character.
    pub fn shortened(text: &str) -> &str {
        &text[..text.floor_char_boundary(Self::MOST_WORDS)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_on_lanes_are_told_together_and_their_flows_apart() {
        let mut all = waits();
        for lane in 1..=5 {
            all.add_lane(lane, waits());
        }
        assert_eq!((all.threads.len(), all.threads_left_out), (Waits::MOST_THREADS, 2));
        assert_eq!((all.unexpected.len(), all.unexpected_left_out), (6, 0));
        let flows: Vec<_> = all.unexpected.iter().map(|message| message.flow).collect();
        let names: Vec<_> = all.names.iter().map(|(flow, _)| *flow).collect();
        assert_eq!(names, flows);
        assert!(flows.is_sorted_by(|one, next| one < next));
        let waited = |thread: &ThreadWait| match thread.operations[0] {
            WaitOperation::Receive(message) => message.flow,
            _ => None,
        };
        assert_eq!(
            all.threads.iter().map(waited).collect::<Vec<_>>(),
            flows[..4].iter().map(|flow| Some(*flow)).collect::<Vec<_>>()
        );
        assert_eq!(all.calls_of, Some(0), "of the thread of the first lane");
        let mut none = Waits::default();
        none.add_lane(1, waits());
        assert_eq!((none.calls_of, none.calls.len()), (Some(0), Waits::MOST_CALLS));
    }

    fn waits() -> Waits {
        let message = WaitMessage { peer: Some(3), flow: Some(0), tag: Some(7), bytes: 8, moving: false };
        let operations = vec![WaitOperation::Receive(message), WaitOperation::Library];
        Waits {
            threads: vec![ThreadWait { waited_ns: 0, operations, left_out: 2, ends_otherwise: false }],
            unexpected: vec![UnexpectedMessage { source: 3, flow: 0, tag: 8, bytes: 8 }],
            names: vec![(0, "MPI_COMM_WORLD".into())],
            calls: vec![1 << 47; Waits::MOST_CALLS],
            calls_of: Some(0),
            ..Waits::default()
        }
    }

    #[test]
    fn waits_come_back_with_the_time_that_has_passed() {
        let record = waits().encode(vec![1000], 3000);
        let told = Waits::decode(&record, 5000).unwrap();
        assert_eq!(told.threads[0].waited_ns, 4000);
        let mut expected = waits();
        expected.threads[0].waited_ns = 4000;
        assert_eq!(told, expected);
        assert_eq!(Waits::decode(&record, 500).unwrap().threads[0].waited_ns, 0, "clocks do not go back");
    }

    #[test]
    fn where_there_is_little_room_the_least_needed_is_left_out() {
        let told = |room| Waits::decode(&waits().encode(vec![1], room), 1);
        let (all, without_calls) = (told(3000).unwrap(), told(100).unwrap());
        assert!(!all.names.is_empty() && !all.calls.is_empty());
        assert!(without_calls.calls.is_empty() && without_calls.threads.len() == 1);
        assert_eq!(told(3), None);
    }

    #[test]
    fn wild_records_are_none() {
        let whole = waits().encode(vec![1], 3000);
        assert_eq!(Waits::decode(&whole[..whole.len() - 1], 1), None, "cut");
        assert_eq!(Waits::decode(&[&whole[..], &[0]].concat(), 1), None, "longer than it says");
        assert_eq!(Waits::decode(&waits().encode(vec![], 3000), 1), None, "a thread without a time");
        let many = Waits { unexpected: vec![waits().unexpected[0]; 9], ..waits() };
        assert_eq!(Waits::decode(&many.encode(vec![1], 3000), 1), None);
        let no_waiters = Waits { calls_of: Some(1), ..waits() };
        assert_eq!(Waits::decode(&no_waiters.encode(vec![1], 3000), 1), None);
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut wild = whole.clone();
                wild[at] ^= 1 << bit;
                // A record of random bytes decodes to none or to waits within bounds.
                assert!(Waits::decode(&wild, 1).is_none_or(|waits| waits.is_sound()));
            }
        }
    }

    #[test]
    fn words_are_shortened_between_characters() {
        assert_eq!(Waits::shortened("short"), "short");
        let long = format!("a{}", "é".repeat(60));
        assert_eq!(Waits::shortened(&long).len(), 79);
    }
}
