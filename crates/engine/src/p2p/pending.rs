//! Handles of non-blocking operations under way, and their completions.

use canele_mem::buffer::Divided;
use canele_proto::CoalescedSend;
use canele_proto::request::{Buffer, Outcome};
use canele_proto::slab::Key;
use canele_sys::ids::{FlowId, RequestId};

use crate::core::Core;
use crate::lanes::LaneSet;
use crate::{Error, Status};

/// A non-blocking operation under way, of any lane of this rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    pub(crate) kind: PendingKind,
    /// The number of its lane.
    pub(crate) lane: u8,
}

/// Its handle in the protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingKind {
    Request(RequestId),
    /// A short send that was coalesced.
    Coalesced(CoalescedSend),
    Collective(Key),
    /// A call of this rank to the owner of memory.
    Rma(Key),
}

impl From<RequestId> for Pending {
    fn from(request: RequestId) -> Self {
        Self::new(PendingKind::Request(request))
    }
}

impl Pending {
    /// Makes the handle of an operation of a rank's first lane.
    pub(crate) fn new(kind: PendingKind) -> Self {
        Self { kind, lane: 0 }
    }

    /// Returns this handle for the lane of this number.
    #[inline(always)]
    pub(crate) fn on_lane(self, lane: u8) -> Self {
        Self { lane, ..self }
    }

    /// Returns its request, if a wait for it depends on the end of that alone.
    pub(crate) fn request(self) -> Option<RequestId> {
        match self.kind {
            PendingKind::Request(id) => Some(id),
            _ => None,
        }
    }

    pub(crate) fn collective(key: Key) -> Self {
        Self::new(PendingKind::Collective(key))
    }

    pub(crate) fn rma(key: Key) -> Self {
        Self::new(PendingKind::Rma(key))
    }

    /// Returns the number of its lane.
    pub fn lane(self) -> u8 {
        self.lane
    }

    /// Returns its lane as a set, for a caller that makes progress on those of several operations.
    pub fn lanes(self) -> LaneSet {
        LaneSet::default().with(self.lane)
    }

    /// Returns true for a collective.
    pub fn is_collective(self) -> bool {
        matches!(self.kind, PendingKind::Collective(_))
    }

    /// Returns true if no memory of the caller is lent to it: then no thread need wait for its end.
    pub fn is_free(self) -> bool {
        matches!(self.kind, PendingKind::Coalesced(_))
    }

    /// Returns true for a receive from any source that has no message yet.
    pub(crate) fn is_from_any_source(self, core: &Core) -> bool {
        matches!(self.kind, PendingKind::Request(id) if core.lane.proto.is_from_any_source(id))
    }

    /// Returns true for such a receive if a death is not acknowledged: its waiter is informed.
    pub(crate) fn is_in_doubt(self, core: &mut Core) -> bool {
        matches!(self.kind, PendingKind::Request(id) if core.lane.proto.why_pending(id).is_some())
    }

    /// Ends it, if it is such a receive; returns true if it was.
    pub(crate) fn give_up(self, core: &mut Core) -> bool {
        matches!(self.kind, PendingKind::Request(id) if core.lane.proto.give_up(id))
    }

    /// Returns true if it has ended, its completion taken or not.
    #[inline]
    pub(crate) fn has_ended(self, core: &Core) -> bool {
        match self.kind {
            PendingKind::Request(id) => core.lane.proto.is_over(id),
            PendingKind::Coalesced(send) => core.lane.proto.take_coalesced(send).is_some(),
            PendingKind::Collective(key) => core.collectives.has_ended(key),
            PendingKind::Rma(key) => core.rma.origin.has_ended(key),
        }
    }

    /// Takes its completion; returns `None` while it is under way.
    pub(crate) fn take(self, core: &mut Core) -> Option<Completion> {
        let outcome = match self.kind {
            PendingKind::Request(id) => core.lane.proto.take(id),
            PendingKind::Coalesced(send) => core.lane.proto.take_coalesced(send),
            PendingKind::Collective(key) => return core.collectives.take_ended(key),
            PendingKind::Rma(key) => return core.rma.origin.take(key).map(Completion::from),
        };
        outcome.map(Completion::from)
    }
}

/// The result of starting a send that needs no memory of its caller any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// The message is on its way.
    Done,
    /// The message leaves as soon as it can.
    Posted(Pending),
    /// Nothing was sent: the message must be lent.
    Busy,
}

/// The error of an operation that was not started, with the buffer that was lent to it.
pub type NotStarted<B> = Box<(Error, B)>;

/// The result of a non-blocking operation, with the buffer that was lent to it.
pub struct Completion {
    /// The status or the error.
    pub result: Result<Status, Error>,
    /// The memory.
    pub buffer: Buffer,
    /// The output of a collective, if it has one.
    pub output: Option<Box<Divided>>,
}

impl Completion {
    /// Makes the completion of an agreement on these flows, each with the number of its lane.
    pub(crate) fn of_flows(flows: &[(u8, FlowId)], status: Status) -> Self {
        let words: Vec<u32> = flows.iter().flat_map(|(lane, flow)| [u32::from(*lane), flow.0]).collect();
        let output = Some(Box::new(Divided::from(bytemuck::cast_slice(&words))));
        Self { result: Ok(status), buffer: Buffer::None, output }
    }

    /// Returns the flows that an agreement ended with, each with the number of its lane; none if it failed.
    pub fn flows(&self) -> Vec<(u8, FlowId)> {
        let bytes =
            self.output.as_ref().filter(|_| self.result.is_ok()).map_or(&[][..], |output| output.bytes());
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word)).collect();
        words.as_chunks().0.iter().map(|[lane, flow]| (*lane as u8, FlowId(*flow))).collect()
    }
}

impl From<Outcome> for Completion {
    fn from(outcome: Outcome) -> Self {
        Self { result: outcome.result.map_err(Error::from), buffer: outcome.buffer, output: None }
    }
}
