//! A call of an RMA request that its caller waits for, with memory that is borrowed until the call returns.

use std::time::Instant;

use canele_mem::buffer::{self, InBuffer, OutBuffer};
use canele_proto::request::Buffer;
use canele_proto::rma::{LateAnswer, NewCall, RmaFailure, RmaOutcome, RmaRequest};
use canele_sys::ids::{Rank, Tag};

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;
use crate::{Completion, Error, Status};

/// An RMA request with the caller's memory.
pub(super) struct RmaCall<'a> {
    pub to: Rank,
    pub rma_request: RmaRequest,
    pub data: &'a [u8],
    pub into: &'a mut [u8],
    /// The treatment of an answer that comes after the deadline.
    pub late: LateAnswer,
}

impl<'a> RmaCall<'a> {
    /// Makes a call without memory.
    pub fn new(to: Rank, rma_request: RmaRequest) -> Self {
        Self { to, rma_request, data: &[], into: &mut [], late: LateAnswer::Ignore }
    }
}

impl Engine {
    /// Sends an RMA request, and waits for its answer, if it has one. Only requests without memory have
    /// deadlines.
    pub(super) fn call_owner(
        &self,
        mut core: Locked<'_>,
        call: RmaCall<'_>,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let RmaCall { to, rma_request, data, into, late } = call;
        buffer::scope(|scope| {
            let new = NewCall {
                data: (!data.is_empty()).then(|| scope.lend(data)),
                into: (!into.is_empty()).then(|| scope.lend_mut(into)),
                ..NewCall::new(to, rma_request)
            };
            let key = core.submit_rma(new);
            let (mut core, outcome) = self.wait_before(
                core,
                deadline,
                Awaited::Other("an access to memory of another rank", Some(to)),
                |core| core.rma.origin.take(key),
            );
            let Some(outcome) = outcome else {
                let Core { lane, rma, .. } = &mut *core;
                rma.origin.leave(&mut lane.proto, &mut lane.rails, key, late);
                return Err(Error::Deadline(format!("{to} to answer")));
            };
            let RmaOutcome { owner, result, data, into } = outcome;
            data.into_iter().for_each(|buffer| scope.take_back(buffer));
            into.into_iter().for_each(|buffer| scope.take_back_mut(buffer));
            result.map_err(|failure| Error::of_rma(owner, failure))
        })
    }
}

impl Core {
    /// Submits a call to an owner of memory.
    pub(super) fn submit_rma(&mut self, mut call: NewCall) -> canele_proto::slab::Key {
        let Self { lane, rma, .. } = self;
        if !lane.knows_regions() {
            call.data = call.data.map(OutBuffer::without_place);
            call.into = call.into.map(InBuffer::without_place);
        }
        rma.origin.submit(&mut lane.proto, &mut lane.rails, call)
    }
}

impl Error {
    /// Makes the error of a failed call to an owner of memory.
    pub(super) fn of_rma(owner: Rank, failure: RmaFailure) -> Self {
        match failure {
            RmaFailure::Failed(failure) => failure.into(),
            RmaFailure::Refused(memory, why) => Self::Refused { owner, memory, why },
        }
    }
}

impl From<RmaOutcome> for Completion {
    fn from(outcome: RmaOutcome) -> Self {
        let RmaOutcome { owner, result, data, into } = outcome;
        let buffer = into.map_or_else(|| data.map_or(Buffer::None, Buffer::Out), Buffer::In);
        let bytes = match &buffer {
            Buffer::In(buffer) => buffer.len(),
            Buffer::Out(buffer) => buffer.len(),
            Buffer::None => 0,
        };
        let result = result.map(|_| Status { source: owner, tag: Tag(0), bytes });
        Self { result: result.map_err(|failure| Error::of_rma(owner, failure)), buffer, output: None }
    }
}
