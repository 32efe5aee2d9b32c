//! The state of one peer: the links to it, the messages that wait for it, and the credit between the two.
//!
//! Answers (cts, fin, credit) are kept here until there is room for them: at most a few per request under
//! way. State that only peers with several links or recoverable links need lies apart (`multipath.rs`): there
//! may be many thousand peers.

mod path;

use canele_mem::window::Window;
use std::collections::VecDeque;

use canele_rail::{Caps, Header, MAX_INLINE};
use canele_sys::ids::{FlowId, LinkId, RequestId, Tag};

use crate::backlog::Backlog;
use crate::bounds::BoundedCounts;
use crate::choice::{self, Begin, Limits, Path, RegionAccess};
use crate::credit::Credit;
use crate::multipath::Multipath;
use crate::pull::Pulls;
use crate::request::Mode;
use crate::sequencer::PUTS;
use crate::wire::{Cts, FinStatus, Kind, LinkClosed, Pull, Put, fin_words, withdraw_word};
pub use path::{PeerEnd, ReceivePath, SendPath};

/// An answer, or another short packet, to be sent in a cell that is reserved for control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reply {
    /// Asks for the data of an announced message.
    Cts(Cts),
    /// Reports the end of a message.
    Fin(RequestId, FinStatus),
    /// Allows this number of further bytes to be sent unannounced.
    Credit(u64),
    /// Asks for an answer behind everything sent before.
    Fence(u64),
    /// The answer to a fence.
    Fenced(u64),
    /// A small put.
    Put(Put),
    /// A link was closed here.
    LinkClosed(LinkClosed),
    /// A message that was announced with this envelope is wanted back.
    Withdraw(RequestId, FlowId, Tag),
    /// Asks for announced messages, as there is room for them.
    Pull(Pull),
}

impl Reply {
    /// Writes its bytes beside a header, and returns the header.
    pub fn write(&self, inline: Window<'_>) -> Header {
        let words = |words: &[u64]| inline.write_words(0, words);
        match self {
            Self::Cts(cts) => words(&cts.to_words()),
            Self::Fin(request, ending) => words(&fin_words(*request, *ending)),
            Self::Credit(number) | Self::Fence(number) | Self::Fenced(number) => words(&[*number]),
            Self::Put(put) => {
                return Put::fill(inline, put.place, put.notice, &put.data().as_flattened()[..put.len]);
            }
            Self::LinkClosed(link_closed) => words(&link_closed.to_words()),
            Self::Pull(pull) => pull.write(inline),
            Self::Withdraw(request, flow, tag) => {
                words(&[withdraw_word(*request)]);
                return Header { flow: flow.0, tag: tag.0, ..Kind::Withdraw.header(1) };
            }
        }
        Header { inline_len: self.bytes() as u8, ..self.kind().header(0) }
    }

    /// Returns the number of its bytes beside a header.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Cts(_) => Cts::BYTES,
            Self::Fin(..) | Self::LinkClosed(_) => 16,
            Self::Credit(_) | Self::Fence(_) | Self::Fenced(_) | Self::Withdraw(..) => 8,
            Self::Put(_) => MAX_INLINE,
            Self::Pull(pull) => pull.bytes(),
        }
    }

    /// Returns its kind of packet.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Cts(_) => Kind::Cts,
            Self::Fin(..) => Kind::Fin,
            Self::Credit(_) => Kind::Credit,
            Self::Fence(_) => Kind::Fence,
            Self::Fenced(_) => Kind::Fenced,
            Self::Put(_) => Kind::Put,
            Self::LinkClosed(_) => Kind::LinkClosed,
            Self::Withdraw(..) => Kind::Withdraw,
            Self::Pull(_) => Kind::Pull,
        }
    }

    /// Returns the flow in whose order it must be handled; `None` if its order does not matter.
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
    /// The path of a message for it.
    send_path: SendPath,
    /// The path by which a receive may take a message of it.
    receive_path: ReceivePath,
    /// The links to it, the fastest first; one, if messages carry no numbers.
    links: Vec<LinkId>,
    /// True if nothing more comes from it.
    pub silent: bool,
    /// True if it is in the list of peers with packets to be sent.
    pub listed: bool,
    /// The access of this rank to the peer's regions, and of the peer to those of this rank.
    pub regions: RegionAccess,
    /// The lengths up to which a message to it goes unannounced.
    pub limits: Limits,
    /// The chunk counters of the link from this peer that are in use, one bit each.
    pub chunk_counters: u8,
    /// The credit for unannounced messages, in both directions.
    pub credit: Credit,
    /// Counts of the other things that this rank holds for it.
    pub held: BoundedCounts,
    /// The numbers of messages and the state of lost links, if messages carry numbers.
    pub(crate) multipath: Option<Box<Multipath>>,
    /// Answers to be sent.
    pub replies: VecDeque<Reply>,
    /// Messages to be sent, once any had to wait.
    pub backlog: Option<Box<Backlog>>,
    /// Announced messages that are asked for ahead, in either direction, once there were any.
    pub pulls: Option<Box<Pulls>>,
}

impl Peer {
    /// Makes a peer that was never touched, with the credit that each begins with in either direction.
    pub fn untouched(credit: u64) -> Self {
        Self { credit: Credit::new(credit), ..Self::default() }
    }

    /// Makes a peer that is touched now and was as `untouched` before.
    pub fn touched(untouched: &Self) -> Self {
        Self { send_path: untouched.send_path, credit: untouched.credit, ..Self::default() }
    }

    /// Returns the link, if a message of `len` bytes may go straight to it.
    #[inline(always)]
    pub fn straight_for(&mut self, len: usize) -> Option<(&mut Self, LinkId)> {
        let link = self.send_path.straight().filter(|_| self.credit.can_pay(len))?;
        Some((self, link))
    }

    /// Decides the first step of a send to it, posted or submitted, before a link is chosen: `max_bulk` is
    /// the longest bulk that all links carry. A link that takes a message out of the backlog decides by
    /// [`Peer::path_over`].
    #[inline(always)]
    pub fn begin(&self, max_bulk: usize, len: usize, mode: Mode) -> Begin {
        choice::begin(&self.path(max_bulk), len, mode, false)
    }

    /// Returns the values that decide how messages to it travel in packets of up to `max_bulk` bytes.
    #[inline]
    pub fn path(&self, max_bulk: usize) -> Path {
        Path { limits: self.limits, max_bulk, numbered: self.is_numbered(), regions: self.regions }
    }

    /// Returns the path over one of its links, which may carry more in one packet than every link does. A
    /// message may go whole over it and announced or in several packets over another one.
    pub fn path_over(&self, link: &Caps) -> Path {
        self.path(link.max_bulk)
    }

    /// Returns its backlog, made if there is none.
    pub fn backlog(&mut self) -> &mut Backlog {
        self.backlog.get_or_insert_default()
    }

    /// Returns true if messages wait.
    pub fn has_messages(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_empty())
    }

    /// Returns true if messages wait, or pieces of large ones.
    pub fn has_backlog(&self) -> bool {
        self.backlog.as_ref().is_some_and(|backlog| !backlog.is_empty() || backlog.has_streams())
    }

    /// Returns true if it is time to return credit, or if the peer lacked credit and its window may grow.
    pub fn is_credit_due(&self) -> bool {
        self.credit.is_return_due() || self.pulls.as_ref().is_some_and(|pulls| pulls.lacked > 0)
    }

    /// Returns true if a packet waits to be sent, or credit is to be given.
    pub fn has_work(&self) -> bool {
        self.is_credit_due() || self.has_outgoing()
    }

    /// Returns true if a packet waits to be sent.
    pub fn has_outgoing(&self) -> bool {
        !self.replies.is_empty()
            || self.has_backlog()
            || self.pulls.as_ref().is_some_and(|pulls| pulls.has_asked())
            || self.has_numbered_waiting()
    }

    /// Returns a free chunk counter, if there is one.
    pub fn free_chunk_counter(&self) -> Option<u8> {
        let free = self.chunk_counters.trailing_ones();
        ((free as usize) < canele_rail::CHUNK_COUNTERS).then_some(free as u8)
    }
}
