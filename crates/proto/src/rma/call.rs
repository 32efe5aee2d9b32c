//! A call: one request of this rank to the owner of memory, from its submission until its outcome is taken.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_mem::layout::Layout;
use canele_rail::FetchOp;
use canele_sys::device::{MemoryKind, MemoryKinds};
use canele_sys::ids::{Rank, RequestId};

use super::cutting::Cutting;
use super::windows::WindowAt;
use super::{ElementAccess, ElementAction, MemoryKey, PutReport, Refusal, RmaRequest};
use crate::request::Failure;

/// Bytes of a word.
pub(super) const WORD: u64 = size_of::<u64>() as u64;

/// The name of an access by RMA, for failures.
const ACCESS: &str = "an access to memory of another rank";

/// A request to an owner, with the memory of its call.
pub struct NewCall {
    /// The owner of the memory.
    pub owner: Rank,
    /// The request; an access to elements is whole here, and is cut into as many requests as it takes.
    pub rma_request: RmaRequest,
    /// The layout and number of elements, for an access to elements that are not one stretch.
    pub elements: Option<(Arc<Layout>, usize)>,
    /// Length of an element in bytes: an access is cut between elements.
    pub element_bytes: usize,
    /// The operation on each element, if they are words of 64 bits and the network may do it.
    pub fetch_op: Option<FetchOp>,
    /// The data to be sent.
    pub data: Option<OutBuffer>,
    /// The memory for the data that is read.
    pub into: Option<InBuffer>,
    /// The receiver of its end.
    pub ending: CallEnding,
}

impl NewCall {
    /// Makes a call without memory, whose outcome the caller takes.
    pub fn new(owner: Rank, rma_request: RmaRequest) -> Self {
        let (elements, fetch_op, data, into) = (None, None, None, None);
        let ending = CallEnding::Taken;
        Self { owner, rma_request, elements, element_bytes: 1, fetch_op, data, into, ending }
    }

    /// Returns its verb on a word, if it has one.
    pub(super) fn word_verb(&self) -> Option<WordVerb> {
        match self.rma_request {
            RmaRequest::Add { n, .. } => Some(WordVerb::Fetch(FetchOp::Add, n)),
            RmaRequest::Swap { expected, new, .. } => Some(WordVerb::CompareSwap([expected, new])),
            RmaRequest::Access(ElementAccess { action, len: WORD, .. }) if self.elements.is_none() => {
                match action {
                    ElementAction::Accumulate | ElementAction::GetAccumulate => {
                        // An operation without an operand keeps the word.
                        self.fetch_op.map(|op| WordVerb::Fetch(op, self.operand(0).unwrap_or(0)))
                    }
                    ElementAction::CompareAndSwap => {
                        Some(WordVerb::CompareSwap([self.operand(0)?, self.operand(1)?]))
                    }
                    ElementAction::Put | ElementAction::Get => None,
                }
            }
            _ => None,
        }
    }

    /// Returns a word of the data, which the processor reads.
    fn operand(&self, index: usize) -> Option<u64> {
        let data = self.data.as_ref().filter(|data| data.memory() == MemoryKind::Host)?;
        let mut bytes = [0; WORD as usize];
        let at = index * bytes.len();
        (data.len() >= at + bytes.len()).then(|| data.copy_to_slice(at, &mut bytes))?;
        Some(u64::from_ne_bytes(bytes))
    }
}

/// A verb on a word, with its operands.
#[derive(Clone, Copy, Debug)]
pub(super) enum WordVerb {
    Fetch(FetchOp, u64),
    /// The expected word, and the new one.
    CompareSwap([u64; 2]),
}

/// The receiver of the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnding {
    /// The caller, which takes its outcome.
    Taken,
    /// A flush, which reports it.
    Counted,
    /// None: no caller waits for it any more.
    Left(LateAnswer),
}

/// The treatment of an answer for which no caller waits any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateAnswer {
    /// The answer is dropped.
    Ignore,
    /// If the answer is not 0, this question is sent to the owner, to undo the effect.
    Undo([u64; 3]),
    /// The next fence reports a refusal.
    Keep,
}

/// The reason for which a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RmaFailure {
    /// The call was not carried out: the owner is gone, or the memory is of a kind that is not accessed here.
    Failed(Failure),
    /// The owner refused it, in this memory; `None` if the request was for none.
    Refused(Option<MemoryKey>, Refusal),
}

/// The outcome of a call, with its memory.
pub struct RmaOutcome {
    /// The owner of the accessed memory.
    pub owner: Rank,
    /// The value of the answer.
    pub result: Result<u64, RmaFailure>,
    /// The memory of the data that was sent.
    pub data: Option<OutBuffer>,
    /// The memory of the data that was read.
    pub into: Option<InBuffer>,
}

/// A call under way.
pub(super) struct Call {
    pub owner: Rank,
    pub rma_request: RmaRequest,
    /// The rest of an access to elements that is still to be submitted.
    pub cutting: Option<Cutting>,
    /// Its verb, if it is one on a word.
    pub word_verb: Option<WordVerb>,
    pub data: Option<OutBuffer>,
    pub into: Option<InBuffer>,
    pub ending: CallEnding,
    /// Its number among all calls.
    pub serial: u64,
    /// True once all its requests were submitted.
    pub is_submitted: bool,
    /// Large data under way.
    pub sending: Option<RequestId>,
    pub receiving: Option<RequestId>,
    /// The number of answers to come.
    pub awaited: usize,
    pub value: u64,
    /// True if the network has not carried it out, so that the owner is asked.
    pub by_request: bool,
    /// True if a flush reports its refusal by the owner.
    pub is_silent: bool,
    pub failure: Option<RmaFailure>,
    pub has_ended: bool,
}

impl Call {
    /// Returns true if nothing of it is under way any more.
    pub fn is_complete(&self) -> bool {
        self.is_submitted && self.sending.is_none() && self.receiving.is_none() && self.awaited == 0
    }

    /// Returns the failure if its memory is of a kind that neither the processor of this rank copies nor the
    /// network reads.
    pub fn why_not_carried_out(&self) -> Option<Failure> {
        let data = self.data.as_ref().map(OutBuffer::memory);
        let into = self.into.as_ref().map(InBuffer::memory);
        let mut memories = data.into_iter().chain(into);
        memories.find_map(|memory| Failure::of_memory(memory, MemoryKinds::all(), ACCESS))
    }

    /// Keeps the word that a verb has read.
    pub fn keep_value(&mut self, value: u64) {
        self.value = value;
        if let (RmaRequest::Access(_), Some(into)) = (self.rma_request, &mut self.into) {
            into.copy_from_slice(0, &value.to_ne_bytes());
        }
    }

    /// Makes the owner answer its request.
    pub fn make_answered(&mut self) {
        match &mut self.rma_request {
            RmaRequest::Put { report, .. } => *report = PutReport::Answer,
            RmaRequest::Access(access) if access.action == ElementAction::Accumulate => {
                access.action = ElementAction::GetAccumulate;
            }
            _ => {}
        }
    }

    pub fn fail(&mut self, failure: RmaFailure) {
        self.failure.get_or_insert(failure);
    }

    pub fn window(&self) -> WindowAt {
        (self.owner, self.rma_request.key())
    }

    pub fn into_outcome(self) -> RmaOutcome {
        let result = self.failure.map_or(Ok(self.value), Err);
        RmaOutcome { owner: self.owner, result, data: self.data, into: self.into }
    }
}
