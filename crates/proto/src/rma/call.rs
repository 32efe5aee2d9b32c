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

/// What carries data between ranks by RMA, in words.
const ACCESS: &str = "an access to memory of another rank";

/// What is to be asked of an owner, with the memory that this takes.
pub struct NewCall {
    /// Whose memory it is.
    pub owner: Rank,
    /// The request; an access to elements is of all of them, and is cut into as many requests as it takes.
    pub rma_request: RmaRequest,
    /// The elements of an access to elements, where they are not one stretch, and how many there are.
    pub elements: Option<(Arc<Layout>, usize)>,
    /// Bytes between which an access to elements may be cut.
    pub element_bytes: usize,
    /// What an operation on elements does to each, where they are words of 64 bits and the network may do it.
    pub fetch_op: Option<FetchOp>,
    /// What is to be sent.
    pub data: Option<OutBuffer>,
    /// Where what is read belongs.
    pub into: Option<InBuffer>,
    /// Who learns of its end.
    pub ending: CallEnding,
}

impl NewCall {
    /// Without memory, and with an outcome.
    pub fn new(owner: Rank, rma_request: RmaRequest) -> Self {
        let (elements, fetch_op, data, into) = (None, None, None, None);
        let ending = CallEnding::Taken;
        Self { owner, rma_request, elements, element_bytes: 1, fetch_op, data, into, ending }
    }

    /// The verb on a word that it is, if it is one.
    pub(super) fn word_verb(&self) -> Option<WordVerb> {
        match self.rma_request {
            RmaRequest::Add { n, .. } => Some(WordVerb::Fetch(FetchOp::Add, n)),
            RmaRequest::Swap { expected, new, .. } => Some(WordVerb::CompareSwap([expected, new])),
            RmaRequest::Access(ElementAccess { action, len: WORD, .. }) if self.elements.is_none() => {
                match action {
                    ElementAction::Accumulate | ElementAction::GetAccumulate => {
                        // An operation that needs no operand keeps the word.
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

    /// A word of the data, which the processor reads.
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
    /// What is expected, and what replaces it.
    CompareSwap([u64; 2]),
}

/// Who learns of the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallEnding {
    /// Its outcome is taken.
    Taken,
    /// A flush tells of it.
    Counted,
    /// No caller waits for it any more.
    Left(LateAnswer),
}

/// What is to be made of an answer for which no caller waits any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LateAnswer {
    /// Nothing.
    Ignore,
    /// If it is a value other than 0, this is asked, because that must be undone.
    Undo([u64; 3]),
    /// If something was refused, the next fence tells of it.
    Keep,
}

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RmaFailure {
    /// It was not carried out: the owner is gone, or the memory is of a kind that is not accessed here.
    Failed(Failure),
    /// The owner refused it, in this memory; none if the request was for none.
    Refused(Option<MemoryKey>, Refusal),
}

/// How a call ended, with its memory.
pub struct RmaOutcome {
    /// Whom it was for.
    pub owner: Rank,
    /// The value of the answer.
    pub result: Result<u64, RmaFailure>,
    /// What was sent.
    pub data: Option<OutBuffer>,
    /// What was read.
    pub into: Option<InBuffer>,
}

/// A call under way.
pub(super) struct Call {
    pub owner: Rank,
    pub rma_request: RmaRequest,
    /// What is still to be submitted of an access to elements.
    pub cutting: Option<Cutting>,
    /// The verb that it may be, if it is one on a word.
    pub word_verb: Option<WordVerb>,
    pub data: Option<OutBuffer>,
    pub into: Option<InBuffer>,
    pub ending: CallEnding,
    /// Its number among all calls.
    pub serial: u64,
    /// All its requests were submitted.
    pub is_submitted: bool,
    /// Large data under way.
    pub sending: Option<RequestId>,
    pub receiving: Option<RequestId>,
    /// Answers to come.
    pub awaited: usize,
    pub value: u64,
    /// The network has not carried it out: the owner is asked.
    pub by_request: bool,
    /// A flush tells what the owner refused of it.
    pub is_silent: bool,
    pub failure: Option<RmaFailure>,
    pub has_ended: bool,
}

impl Call {
    /// Whether nothing of it is under way any more.
    pub fn is_complete(&self) -> bool {
        self.is_submitted && self.sending.is_none() && self.receiving.is_none() && self.awaited == 0
    }

    /// Why it cannot be carried out with its memory, if it cannot: the processor of this rank copies it, or the network reads the host's.
    pub fn why_not_carried_out(&self) -> Option<Failure> {
        let data = self.data.as_ref().map(OutBuffer::memory);
        let into = self.into.as_ref().map(InBuffer::memory);
        let mut memories = data.into_iter().chain(into);
        memories.find_map(|memory| Failure::of_memory(memory, MemoryKinds::all(), ACCESS))
    }

    /// Keeps what a verb on a word has read.
    pub fn keep_value(&mut self, value: u64) {
        self.value = value;
        if let (RmaRequest::Access(_), Some(into)) = (self.rma_request, &mut self.into) {
            into.copy_from_slice(0, &value.to_ne_bytes());
        }
    }

    /// Has the owner answer its request.
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
