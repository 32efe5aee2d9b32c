//! What is known of one peer: the link to it, what waits to be sent to it, and the credit between the two.
//!
//! Answers (cts, fin, credit) are kept here until there is room for them: at most a few per request under way.

use std::collections::VecDeque;

use canele_sys::ids::{LinkId, RequestId};

use crate::wire::{Cts, Ending, Put};

/// What an unexpected message costs its receiver beside its payload, in bytes of credit: its places in the two tables
/// it waits in, a little more than they take. With less, a flood of short messages takes more memory than its cap.
pub const ENTRY_BYTES: u64 = 160;

/// The credit a message of `len` bytes takes.
#[inline(always)]
pub fn cost(len: usize) -> u64 {
    ENTRY_BYTES + len as u64
}

/// How a peer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gone {
    /// It finished its part of the job.
    Finished,
    /// It died, or broke the protocol.
    Failed,
    /// There is no way to it from here.
    Unreachable,
    /// It lives, but found that this rank broke the protocol, and accepts nothing more from it.
    CutOff,
}

/// Something to be sent in one cell, from the cells reserved for control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reply {
    /// An announced message may come.
    Cts(Cts),
    /// It has come.
    Fin(RequestId, Ending),
    /// Asks for an answer behind everything sent before.
    Fence(u64),
    /// The answer.
    Fenced(u64),
    /// A small put.
    Put(Put),
}

/// One peer.
#[derive(Default)]
pub struct Peer {
    /// The link, once open.
    pub link: Option<LinkId>,
    /// Whether a message may go straight to the rail: the link is open, nothing waits, the peer lives
    /// (invariant I21).
    pub open: bool,
    /// Whether the engine was asked to open the link.
    pub wanted: bool,
    /// Why nothing more can be sent or received.
    pub gone: Option<Gone>,
    /// Nothing more comes from it.
    pub silent: bool,
    /// Bytes that may be sent unannounced.
    pub credit: u64,
    /// Bytes of credit to give back.
    pub owed: u64,
    /// What its unexpected messages kept here cost, in bytes of credit.
    pub held: u64,
    /// Answers to be sent.
    pub replies: VecDeque<Reply>,
    /// Messages in the order in which they were submitted.
    pub backlog: VecDeque<RequestId>,
    /// Messages that are being sent in pieces, the next to be served first.
    pub streams: VecDeque<RequestId>,
    /// Whether it is in the list of peers with something to send.
    pub listed: bool,
    /// Which tallies of the link from this peer are in use, one bit each.
    pub tallies: u8,
}

impl Peer {
    /// The link, if a message of `len` bytes may go straight to it.
    #[inline(always)]
    pub fn open_for(&mut self, len: usize) -> Option<(&mut Self, LinkId)> {
        match self.link {
            Some(link) if self.open && self.credit >= cost(len) => Some((self, link)),
            _ => None,
        }
    }

    /// Whether anything waits to be sent.
    pub fn has_work(&self, credit_step: u64) -> bool {
        !self.replies.is_empty()
            || !self.backlog.is_empty()
            || !self.streams.is_empty()
            || self.owed >= credit_step
    }

    /// Re-computes `open` after a change.
    pub fn refresh(&mut self) {
        self.open = self.link.is_some() && self.gone.is_none() && self.backlog.is_empty();
    }

    /// A free tally, if there is one.
    pub fn free_tally(&self) -> Option<u8> {
        let free = self.tallies.trailing_ones();
        ((free as usize) < canele_rail::TALLIES).then_some(free as u8)
    }
}
