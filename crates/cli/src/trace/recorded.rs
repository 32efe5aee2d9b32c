//! The contents of a trace: ranks with their slices, messages, accesses and operations.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// The programs of the job.
    pub command: String,
    pub ranks: BTreeMap<u32, RankTrace>,
    /// The messages of which both ends are known, by their numbers.
    pub messages: BTreeMap<u64, TracedMessage>,
    /// The largest difference between the clocks of two hosts, in µs.
    pub clock_uncertainty: f64,
    /// Texts that many events share.
    pub(super) texts: HashSet<Rc<str>>,
    /// The unfinished non-blocking collectives, while a file is read: the index of each by its rank and
    /// identifier.
    pub(super) under_way: HashMap<(u32, String), usize>,
}

impl Trace {
    /// Returns the largest difference between the clocks of two ranks, in µs. Ranks of one host have the same
    /// clock.
    pub fn clock_error(&self, one: u32, other: u32) -> f64 {
        let host = |rank| self.ranks.get(&rank).map(|rank| &rank.host);
        if host(one) == host(other) { 0.0 } else { self.clock_uncertainty }
    }
}

/// The records of a rank.
#[derive(Debug, Default)]
pub struct RankTrace {
    pub host: String,
    /// The number of events for which there was no room.
    pub missing: u64,
    pub slices: Vec<Slice>,
    pub sends: Vec<Transfer>,
    pub receives: Vec<Transfer>,
    pub accesses: Vec<Access>,
    pub operations: Vec<Operation>,
    /// The number of bytes that were sent in pieces, by the number of the rail.
    pub pieces: BTreeMap<u8, u64>,
}

/// A call, a collective or a wait. Times are in µs.
#[derive(Clone, Debug)]
pub struct Slice {
    pub kind: SliceKind,
    pub name: Rc<str>,
    pub thread: u32,
    pub start: f64,
    pub end: f64,
    /// The rank that a wait waits for.
    pub peer: Option<u32>,
    /// The communicator or flow of a collective.
    pub flow: Option<Rc<str>>,
    /// The place of the call in the program.
    pub site: Option<Rc<str>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceKind {
    Call,
    Collective,
    Wait,
}

/// One end of a message.
#[derive(Debug)]
pub struct Transfer {
    pub at: f64,
    pub thread: u32,
    pub peer: u32,
    pub bytes: u64,
    pub message: Option<u64>,
    pub protocol: Rc<str>,
    pub rail: Option<u8>,
    /// The place of the send in the program, if the send is outside of any call.
    pub site: Option<Rc<str>>,
    /// The collective that the message belongs to.
    pub collective: Option<Rc<str>>,
}

/// A one-sided access: a put, a get, an accumulate.
#[derive(Debug)]
pub struct Access {
    pub at: f64,
    pub thread: u32,
    pub name: Rc<str>,
    pub peer: u32,
    pub bytes: u64,
}

/// A non-blocking collective, from its start to its end. Times are in µs.
#[derive(Debug)]
pub struct Operation {
    pub name: Rc<str>,
    pub start: f64,
    /// The end; equal to the start if the end is not in the trace.
    pub end: f64,
    pub bytes: u64,
}

/// A message.
#[derive(Clone, Copy, Default, Debug)]
pub struct TracedMessage {
    pub from: u32,
    pub to: u32,
    /// The threads of the sender and, next, of the receiver.
    pub from_thread: u32,
    pub to_thread: u32,
    pub sent_at: f64,
    pub received_at: f64,
    pub bytes: u64,
}
