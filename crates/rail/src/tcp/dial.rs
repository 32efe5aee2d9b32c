//! The attempt to connect to one peer, by all its addresses.
//!
//! Owns the connections until the handshake of one is over. Never tries an address twice. The next one is tried as soon as
//! one has failed or kept silent for a moment (as RFC 8305), so one that swallows everything does not hold up the others.

use std::net::{IpAddr, SocketAddr};

use canele_sys::ids::Rank;

use super::handshake::{Credentials, Handshake};
use super::lost::Failure;
use super::meeting::{Meeting, nonce};
use super::watch::Watch;

/// How long an address is tried alone.
pub const ALONE_NS: u64 = 250_000_000;

/// An address of a peer, and the one of this machine to reach it from.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// Where from, if that matters.
    pub from: Option<IpAddr>,
    /// Where to.
    pub to: SocketAddr,
}

/// An attempt under way.
pub struct Dial {
    pub peer: Rank,
    /// Of successive attempts to connect to the peer, which it is.
    number: u32,
    ways: std::vec::IntoIter<Way>,
    meetings: Vec<Meeting>,
    failures: Vec<(SocketAddr, Failure)>,
    since_ns: Option<u64>,
    next_ns: u64,
}

/// What meetings need of their owner.
pub struct Around<'a> {
    pub credentials: &'a Credentials,
    pub watch: &'a Watch,
    /// The next key.
    pub keys: &'a mut u64,
    /// Keys of sockets that are ready.
    pub ready: &'a [u64],
    pub now_ns: Option<u64>,
    pub patience_ns: u64,
}

impl Around<'_> {
    pub fn new_key(&mut self) -> u64 {
        *self.keys += 1;
        *self.keys
    }
}

impl Dial {
    pub fn new(peer: Rank, number: u32, ways: Vec<Way>) -> Self {
        let ways = ways.into_iter();
        Self { peer, number, ways, meetings: vec![], failures: vec![], since_ns: None, next_ns: u64::MAX }
    }

    /// Goes on as far as is possible without waiting; gives the connection, or why there is none.
    pub fn step(&mut self, around: &mut Around<'_>) -> Option<Result<Meeting, Vec<(SocketAddr, Failure)>>> {
        for meeting in std::mem::take(&mut self.meetings) {
            if !around.ready.contains(&meeting.key) {
                self.meetings.push(meeting);
            } else if let Some(over) = self.move_on(meeting, around) {
                return Some(Ok(over));
            }
        }
        // Each turn uses up an address.
        while self.is_next_due(around) {
            let Some(way) = self.ways.next() else { break };
            match self.connect(way, around) {
                Ok(meeting) => {
                    if let Some(over) = self.move_on(meeting, around) {
                        return Some(Ok(over));
                    }
                }
                Err(failure) => self.failures.push((way.to, failure)),
            }
        }
        self.lose_patience(around);
        let over = self.meetings.is_empty() && self.ways.len() == 0;
        over.then(|| Err(std::mem::take(&mut self.failures)))
    }

    fn is_next_due(&mut self, around: &Around<'_>) -> bool {
        let due = self.meetings.is_empty() || around.now_ns.is_some_and(|now_ns| now_ns >= self.next_ns);
        if due {
            self.next_ns = u64::MAX;
        }
        if let Some(now_ns) = around.now_ns {
            self.next_ns = self.next_ns.min(now_ns.saturating_add(ALONE_NS));
        }
        due
    }

    fn connect(&self, way: Way, around: &mut Around<'_>) -> Result<Meeting, Failure> {
        let handshake = Handshake::initiate(around.credentials, self.peer, self.number, nonce()?);
        Meeting::connect(way.from, way.to, handshake, around.new_key())
    }

    /// Gives the connection if it is made; keeps it unless it failed.
    fn move_on(&mut self, mut meeting: Meeting, around: &Around<'_>) -> Option<Meeting> {
        match meeting.step(around.watch) {
            Ok(()) if meeting.handshake.is_over() => return Some(meeting),
            Ok(()) => self.meetings.push(meeting),
            Err(failure) => self.failures.push((meeting.address, failure)),
        }
        None
    }

    /// After the patience with all of it, silent addresses have failed.
    fn lose_patience(&mut self, around: &Around<'_>) {
        let Some(now_ns) = around.now_ns else { return };
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if now_ns.saturating_sub(since_ns) >= around.patience_ns {
            let silent = self.meetings.drain(..).map(|meeting| meeting.address);
            let untried = self.ways.by_ref().map(|way| way.to);
            self.failures.extend(silent.chain(untried).map(|address| (address, Failure::Silent)));
        }
    }
}
