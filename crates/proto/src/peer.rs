//! What is known of one peer: the links to it, what waits to be sent to it, and the credit between the two.
//!
//! Answers (cts, fin, credit) are kept here until there is room for them: at most a few per request under way. What only
//! peers with several links, or links that can be lost, need lies apart (`lines.rs`): there may be many thousand peers.

use std::collections::VecDeque;

use canele_rail::{Header, MAX_INLINE, Window};
use canele_sys::ids::{FlowId, LinkId, RequestId, Tag};

use crate::backlog::Backlog;
use crate::lines::Lines;
use crate::order::PUTS;
use crate::wire::{Buried, Cts, Ending, Kind, Put, fin_words, put_words, withdraw_word};

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
    /// So many bytes may be sent unannounced again.
    Credit(u64),
    /// Asks for an answer behind everything sent before.
    Fence(u64),
    /// The answer.
    Fenced(u64),
    /// A small put.
    Put(Put),
    /// A link was closed here.
    Buried(Buried),
    /// A message that was announced with this envelope is wanted back.
    Withdraw(RequestId, FlowId, Tag),
}

impl Reply {
    /// Writes it beside a header, which it gives.
    pub fn write(&self, inline: Window<'_>) -> Header {
        let words = |words: &[u64]| put_words(inline, words);
        match self {
            Self::Cts(cts) => words(&cts.to_words()),
            Self::Fin(request, ending) => words(&fin_words(*request, *ending)),
            Self::Credit(number) | Self::Fence(number) | Self::Fenced(number) => words(&[*number]),
            Self::Put(put) => return Put::fill(inline, put.place, put.notice, &put.data[..put.len]),
            Self::Buried(buried) => words(&buried.to_words()),
            Self::Withdraw(request, flow, tag) => {
                words(&[withdraw_word(*request)]);
                return Header { flow: flow.0, tag: tag.0, ..Kind::Withdraw.header(1) };
            }
        }
        Header { inline_len: self.bytes() as u8, ..self.kind().header(0) }
    }

    /// Bytes it takes beside a header.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Cts(_) => 40,
            Self::Fin(..) | Self::Buried(_) => 16,
            Self::Credit(_) | Self::Fence(_) | Self::Fenced(_) | Self::Withdraw(..) => 8,
            Self::Put(_) => MAX_INLINE,
        }
    }

    /// What kind of packet it is.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Cts(_) => Kind::Cts,
            Self::Fin(..) => Kind::Fin,
            Self::Credit(_) => Kind::Credit,
            Self::Fence(_) => Kind::Fence,
            Self::Fenced(_) => Kind::Fenced,
            Self::Put(_) => Kind::Put,
            Self::Buried(_) => Kind::Buried,
            Self::Withdraw(..) => Kind::Withdraw,
        }
    }

    /// The sequence within which it must be handled in the order in which it was sent.
    pub fn sequence(&self) -> Option<FlowId> {
        match self {
            Self::Put(_) | Self::Fence(_) => Some(PUTS),
            Self::Withdraw(_, flow, _) => Some(*flow),
            _ => None,
        }
    }
}

/// One peer.
#[derive(Default)]
pub struct Peer {
    /// The link that small messages take, once there is one.
    pub link: Option<LinkId>,
    /// Whether a message may go straight to the rail: the link is open, nothing waits, the peer lives
    /// (invariant I21).
    pub open: bool,
    /// Whether the engine was asked to open a link.
    pub wanted: bool,
    /// Why nothing more can be sent or received.
    pub gone: Option<Gone>,
    /// Nothing more comes from it.
    pub silent: bool,
    /// Whether it is in the list of peers with something to send.
    pub listed: bool,
    /// Whether its regions can be reached, and ours by it.
    pub one_sided: bool,
    /// Which tallies of the link from this peer are in use, one bit each.
    pub tallies: u8,
    /// Bytes that may be sent unannounced.
    pub credit: u64,
    /// Bytes of credit to give back.
    pub owed: u64,
    /// What its unexpected messages kept here cost, in bytes of credit.
    pub held: u64,
    /// Where messages carry numbers: those, and all links.
    pub lines: Option<Box<Lines>>,
    /// Answers to be sent.
    pub replies: VecDeque<Reply>,
    /// Messages to be sent, once any had to wait.
    pub backlog: Option<Box<Backlog>>,
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

    /// A message of `len` bytes was consumed. Credit goes back in steps of half the grant: says whether it is time.
    #[inline(always)]
    pub fn owe(&mut self, len: usize, grant: u64) -> bool {
        self.owed += cost(len);
        self.owed >= grant / 2
    }

    /// Link number `n` of those to the peer.
    pub fn link_at(&self, n: usize) -> Option<LinkId> {
        match &self.lines {
            Some(lines) => lines.links.get(n).copied(),
            None => self.link.filter(|_| n == 0),
        }
    }

    /// What waits for it.
    pub fn backlog(&mut self) -> &mut Backlog {
        self.backlog.get_or_insert_default()
    }

    /// Whether messages wait.
    pub fn has_messages(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_empty())
    }

    /// Whether messages wait, or pieces of large ones.
    pub fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_empty() || backlog.has_streams())
    }

    /// Whether anything waits to be sent.
    pub fn has_work(&self, credit_step: u64) -> bool {
        !self.replies.is_empty()
            || self.owed >= credit_step
            || self.has_backlog()
            || self.lines.as_ref().is_some_and(|lines| lines.wait())
    }

    /// Re-computes `open` after a change.
    pub fn refresh(&mut self) {
        let waits = self.has_messages();
        let before = self.lines.as_ref().is_some_and(|lines| lines.wait());
        // Beside pieces a strategy is asked: another link may be emptier, or the pieces too long.
        let beside = self.lines.is_some() && self.backlog.as_ref().is_some_and(|b| b.has_streams());
        self.open = self.link.is_some() && self.gone.is_none() && !waits && !before && !beside;
    }

    /// A free tally, if there is one.
    pub fn free_tally(&self) -> Option<u8> {
        let free = self.tallies.trailing_ones();
        ((free as usize) < canele_rail::TALLIES).then_some(free as u8)
    }
}
