//! Operations under way, and their outcomes.

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_mem::chunk_counter::Generation;
use canele_sys::device::{MemoryKind, MemoryKinds};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::matching::{PostedId, Want};
use crate::slab::Key;
use crate::wire::BufferPlace;

/// The mode of a send: it decides when the send completes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Completes when its memory may be used again.
    #[default]
    Standard,
    /// Completes only after its receive has been matched.
    Synchronous,
    /// Completes as a standard send; the program promises that the receive is posted already.
    Ready,
    /// Completes as a standard send. The receiver asks for the message whatever becomes of this rank's other
    /// operations. So the send may wait for the receiver's request if that is faster.
    Expected,
}

/// The result of a request to withdraw an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancel {
    /// The operation has ended with [`Failure::Cancelled`].
    Done,
    /// Its receiver is asked: it ends with [`Failure::Cancelled`], or as if it had not been asked.
    Asked,
    /// Its message has been matched, or it has ended.
    TooLate,
}

/// The envelope and length of a received message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// Its sender.
    pub source: Rank,
    /// The tag it was sent with.
    pub tag: Tag,
    /// Its length in bytes.
    pub bytes: usize,
}

/// A description of an operation, for reports to users.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PointToPoint {
    /// A send.
    Send {
        /// Its receiver.
        to: Rank,
        /// The tag it is sent with.
        tag: Tag,
    },
    /// A receive of a message that this want accepts.
    Receive(Want),
}

/// A description of an operation that has not ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PendingOperation {
    /// True for a send; false for a receive.
    pub is_send: bool,
    /// The other rank; `None` means any.
    pub peer: Option<Rank>,
    /// Its flow; `None` for a receive that has its message.
    pub flow: Option<FlowId>,
    /// Its tag; `None` means any.
    pub tag: Option<Tag>,
    /// Length of the message in bytes, or of the buffer for it.
    pub bytes: usize,
    /// True once both ends have found each other: data moves.
    pub is_moving: bool,
}

impl PointToPoint {
    pub(crate) fn of_receive(from: Rank, tag: Tag) -> Self {
        Self::Receive(Want { source: Some(from), tag: Some(tag) })
    }
}

/// The reason for which an operation failed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// The message is longer than the buffer; nothing was written.
    #[error(
        "a message of {message} bytes from {source_rank} with {tag} does not fit in a buffer of {buffer} bytes: receive it with a buffer of at least {message} bytes (probe tells the length)"
    )]
    Truncated {
        /// Length of the message in bytes.
        message: usize,
        /// Length of the buffer in bytes.
        buffer: usize,
        /// Its sender.
        source_rank: Rank,
        /// Its tag.
        tag: Tag,
    },
    /// The peer died.
    #[error("{0} is gone: it ended before it had finished its job, or its memory is corrupted")]
    PeerFailed(Rank),
    /// The peer cannot be reached.
    #[error("{0} cannot be reached: {1}")]
    Unreachable(Rank, Box<str>),
    /// A rank found that another one broke the protocol, most likely because its memory is corrupted. The two
    /// communicate no more. Each still communicates with all other ranks, but not in collectives.
    #[error("{by} accepts nothing more from {of}: {why}")]
    CutOff {
        /// The rank that found it.
        by: Rank,
        /// The rank that broke the protocol: this rank itself, unless a collective fails.
        of: Rank,
        /// The fault.
        why: Box<str>,
    },
    /// The peer left the job in good order, so nothing more comes from it or can reach it.
    #[error("{0} has finished: it takes part in no more communication")]
    PeerFinished(Rank),
    /// The operation waited for a message from any source, and no rank is left that could send one.
    #[error("all other ranks have finished or died: no message can come any more")]
    NoSenderLeft,
    /// The route of the message takes no memory of this kind. Nothing of it was accessed.
    #[error("the buffer is {memory}, which {route} does not take: copy it to memory of the host first")]
    Memory {
        /// The kind of memory.
        memory: MemoryKind,
        /// The route of the message: the name of a driver, or this library itself.
        route: &'static str,
    },
    /// The operation was cancelled.
    #[error("the operation was cancelled")]
    Cancelled,
    /// A member has revoked the group that communicates on the flow.
    #[error("the group that communicates on flow {} was revoked: its members agree on who is left, and go on as another group", flow.0)]
    Revoked {
        /// The flow, or the one before.
        flow: FlowId,
    },
    /// This rank has finished the job meanwhile.
    #[error("the job was finished by this rank: no more calls")]
    Finished,
    /// A region is not there any more.
    #[error("a region of {0} is gone")]
    RegionLost(Rank),
}

/// The kinds of memory that the protocols move: they copy with the processor of this rank.
const MOVED: MemoryKinds = MemoryKinds::HOST;

impl Failure {
    /// Returns the failure of a route with this name that takes these kinds; `None` if it moves the memory.
    #[inline]
    pub(crate) fn of_memory(memory: MemoryKind, takes: MemoryKinds, route: &'static str) -> Option<Self> {
        let is_moved = (takes & MOVED).contains(memory.as_set());
        (!is_moved).then_some(Self::Memory { memory, route })
    }
}

/// A buffer that returns to its caller.
pub enum Buffer {
    /// The buffer of a send.
    Out(OutBuffer),
    /// The buffer of a receive.
    In(InBuffer),
    /// No buffer: the library kept the data.
    None,
}

impl Buffer {
    /// Returns true if a rail still holds part of it.
    pub(crate) fn is_shared(&self) -> bool {
        match self {
            Self::Out(buffer) => buffer.is_shared(),
            Self::In(buffer) => buffer.is_shared(),
            Self::None => false,
        }
    }
}

/// The outcome of an operation, with its buffer.
pub struct Outcome {
    /// The status or the failure. A send's status names the receiver.
    pub result: Result<Status, Failure>,
    /// The memory that was lent.
    pub buffer: Buffer,
}

/// A send under way.
pub(crate) struct Send {
    pub(crate) to: Rank,
    pub(crate) flow: FlowId,
    pub(crate) tag: Tag,
    pub(crate) mode: Mode,
    /// Its number among the sends that the observer got.
    pub(crate) number: u64,
    /// Its level of priority.
    pub(crate) level: u8,
    /// True once its receiver was asked to give it back: it is not to be pulled any more.
    pub(crate) asked_back: bool,
    /// True if it is announced, and its receiver is to read it from memory.
    pub(crate) fetched: bool,
    pub(crate) buffer: OutBuffer,
}

/// A receive that has its message.
pub(crate) struct Receive {
    pub(crate) from: Rank,
    pub(crate) tag: Tag,
    pub(crate) buffer: InBuffer,
    /// Length of the message.
    pub(crate) len: usize,
    /// True if both ends began to copy it and it is sent in pieces now. The sender may still report that it
    /// has copied its part.
    pub(crate) was_shared: bool,
}

impl Receive {
    pub(crate) fn new(from: Rank, tag: Tag, buffer: InBuffer, len: usize) -> Self {
        Self { from, tag, buffer, len, was_shared: false }
    }
}

/// The reaction of a receiver to a message that both ends began to copy and did not copy to the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fallback {
    /// The sender cannot write: the receiver reads all of it.
    ReadAlone,
    /// The sender's memory cannot be reached: the sender sends it in pieces.
    Pieces,
}

/// A transfer copied by both ends.
#[derive(Clone, Copy)]
pub(crate) struct Share {
    /// The place of the other end's buffer.
    pub(crate) far: BufferPlace,
    pub(crate) chunk_counter: u8,
    pub(crate) generation: Generation,
    pub(crate) piece: usize,
    /// The fallback of the receiver once neither end copies any more, if the message is not complete then.
    pub(crate) fallback: Option<Fallback>,
}

impl Share {
    pub(crate) fn pieces(&self, len: usize) -> u32 {
        len.div_ceil(self.piece) as u32
    }

    /// Returns the offset of a piece, and its length.
    pub(crate) fn piece_at(&self, piece: u32, len: usize) -> (usize, usize) {
        let at = piece as usize * self.piece;
        (at, self.piece.min(len - at))
    }
}

/// The event that an operation waits for, with its data.
pub(crate) enum State {
    /// A send in the backlog, and its key there.
    ExpectRoom(Send, Key),
    /// A send that was announced.
    ExpectCts(Send),
    /// A send in pieces: the receiver's request, unless it is a multi-fragment eager message; bytes sent.
    Streaming(Send, Option<RequestId>, usize),
    /// A send that this side writes into the receiver's region: place, receiver's request, bytes written.
    Writing(Send, RegionAddress, RequestId, usize),
    /// A send copied by both ends: the receiver's request.
    SharingOut(Send, Box<Share>, RequestId),
    /// A send whose receiver reports when it has all data.
    ExpectFin(Send),
    /// A send to this rank itself that waits for its receive.
    ExpectSelf(Send),
    /// A receive that waits for its message.
    ExpectMessage { want: Want, flow: FlowId, posted: PostedId, buffer: InBuffer },
    /// A receive whose pieces come or are written by the sender: bytes so far.
    ExpectPieces(Receive, usize),
    /// A receive that this side copies from the sender's memory: place, sender's request, bytes read.
    Reading(Receive, BufferPlace, RequestId, usize),
    /// A receive that is to be copied by both ends, if the rail has a chunk counter for it: place, sender's
    /// request.
    ToShare(Receive, BufferPlace, RequestId),
    /// A receive copied by both ends: the sender's request.
    SharingIn(Receive, Box<Share>, RequestId),
    /// The operation has ended, but a rail still holds part of its buffer.
    Closing(Outcome),
    /// The operation has ended; the outcome waits to be taken.
    Done(Outcome),
    /// Between two states.
    Moving,
}

impl State {
    /// Returns the flow of a send that has not ended.
    pub(crate) fn sends_on(&self) -> Option<FlowId> {
        match self {
            Self::ExpectRoom(s, _) | Self::ExpectCts(s) | Self::Streaming(s, ..) | Self::Writing(s, ..) => {
                Some(s.flow)
            }
            Self::SharingOut(s, ..) | Self::ExpectFin(s) | Self::ExpectSelf(s) => Some(s.flow),
            _ => None,
        }
    }

    /// Returns the peer without which it cannot end.
    pub(crate) fn peer(&self) -> Option<Rank> {
        match self {
            Self::ExpectRoom(s, _) | Self::ExpectCts(s) | Self::Streaming(s, ..) | Self::Writing(s, ..) => {
                Some(s.to)
            }
            Self::SharingOut(s, ..) | Self::ExpectFin(s) | Self::ExpectSelf(s) => Some(s.to),
            Self::ExpectPieces(r, _)
            | Self::Reading(r, ..)
            | Self::ToShare(r, ..)
            | Self::SharingIn(r, ..) => Some(r.from),
            Self::ExpectMessage { want, .. } => want.source,
            Self::Closing(_) | Self::Done(_) | Self::Moving => None,
        }
    }

    /// Returns true if it receives from any source.
    pub(crate) fn is_any_source(&self) -> bool {
        matches!(self, Self::ExpectMessage { want, .. } if want.source.is_none())
    }
}

/// Returns the state of a send that has ended.
pub(crate) fn sent(send: Send, result: Result<(), Failure>) -> State {
    let status = Status { source: send.to, tag: send.tag, bytes: send.buffer.len() };
    State::Done(Outcome { result: result.map(|()| status), buffer: Buffer::Out(send.buffer) })
}

/// Returns the state of a receive that has ended.
pub(crate) fn received(receive: Receive, result: Result<(), Failure>) -> State {
    let status = Status { source: receive.from, tag: receive.tag, bytes: receive.len };
    State::Done(Outcome { result: result.map(|()| status), buffer: Buffer::In(receive.buffer) })
}
