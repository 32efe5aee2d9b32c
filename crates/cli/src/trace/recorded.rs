//! The contents of a trace: ranks with their slices, messages, accesses and operations.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// The programs of the job.
    pub command: String,
    pub ranks: BTreeMap<u32, RankTrace>,
    /// Messages both ends of which are known, by their numbers.
    pub messages: BTreeMap<u64, TracedMessage>,
    /// By how much the clocks of two hosts may be apart, in µs.
    pub clock_uncertainty: f64,
    /// Texts that many events share.
    pub(super) texts: HashSet<Rc<str>>,
    /// While a file is read: the places of non-blocking collectives that have not ended, by their ranks and identifiers.
    pub(super) under_way: HashMap<(u32, String), usize>,
}

impl Trace {
    /// By how much the clocks of two ranks may be apart, in µs. Ranks of one host have the same clock.
    pub fn clock_error(&self, one: u32, other: u32) -> f64 {
        let host = |rank| self.ranks.get(&rank).map(|rank| &rank.host);
        if host(one) == host(other) { 0.0 } else { self.clock_uncertainty }
    }
}

/// The records of a rank.
#[derive(Debug, Default)]
pub struct RankTrace {
    pub host: String,
    /// Events that found no room.
    pub missing: u64,
    pub slices: Vec<Slice>,
    pub sends: Vec<Transfer>,
    pub receives: Vec<Transfer>,
    pub accesses: Vec<Access>,
    pub operations: Vec<Operation>,
    /// Bytes that left in pieces, by the number of the rail.
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
    /// The rank that a wait is for.
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
    /// The place of a send outside of any call in the program.
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
    /// The start, where the end is not in the trace.
    pub end: f64,
    pub bytes: u64,
}

/// A message.
#[derive(Clone, Copy, Default, Debug)]
pub struct TracedMessage {
    pub from: u32,
    pub to: u32,
    /// The threads at both ends.
    pub from_thread: u32,
    pub to_thread: u32,
    pub sent_at: f64,
    pub received_at: f64,
    pub bytes: u64,
}
