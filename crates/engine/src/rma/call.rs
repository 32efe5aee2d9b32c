//! A call of an RMA request, which the owner of the memory runs.
//!
//! Owns the wait of the caller. Ranks of one host call only where the memory they look for is not in what they have mapped.

use std::time::Instant;

use canele_mem::buffer::{self, Scope};
use canele_mem::window::Window;
use canele_proto::matching::Want;
use canele_proto::request::Buffer;
use canele_proto::rma::{ANSWER, ANSWERS, Answer, DATA, Form, REQUESTS, Refusal, RmaRequest};
use canele_proto::{Envelope, Filled, Sent};
use canele_sys::ids::{Rank, RequestId, Tag};

use crate::Error;
use crate::engine::{Engine, Locked};
use crate::progress::Progress;

/// An RMA request with the caller's memory.
pub(super) struct RmaCall<'a> {
    pub to: Rank,
    pub rma_request: RmaRequest,
    pub data: &'a [u8],
    pub into: &'a mut [u8],
    /// What is to be asked if an answer comes after the deadline.
    pub undo: Option<[u64; 3]>,
}

impl<'a> RmaCall<'a> {
    /// Without memory.
    pub fn new(to: Rank, rma_request: RmaRequest) -> Self {
        Self { to, rma_request, data: &[], into: &mut [], undo: None }
    }
}

impl Engine {
    /// Sends an RMA request, and waits for its answer, if it has one.
    pub(super) fn call_owner(
        &self,
        mut core: Locked<'_>,
        call: RmaCall<'_>,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let (sequence, form) = (core.rma.target.take_sequence(), core.progress.proto.form(&call.rma_request));
        let (head, len) = call.rma_request.head(form);
        let message = RmaMessage { head: &head[..len], sequence, form };
        if !call.rma_request.is_answered() {
            return match message.try_post(&mut core.progress, &call) {
                true => Ok(0),
                false => buffer::scope(|scope| {
                    let sends = message.submit(&mut core.progress, &call, scope);
                    self.wait_sent(core, scope, sends, deadline).2.map(|()| 0)
                }),
            };
        }
        self.call_answered(core, &message, call, deadline)
    }

    /// As `call_owner`, for a request that is answered.
    fn call_answered(
        &self,
        core: Locked<'_>,
        message: &RmaMessage<'_>,
        mut call: RmaCall<'_>,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let (owner, region, sequence) = (call.to, call.rma_request.region(), message.sequence);
        let broken = || Error::Refused { owner, region, why: Refusal::Broken };
        let into = std::mem::take(&mut call.into);
        let (beside, apart) = match message.form {
            Form::Whole => (into, &mut [][..]),
            Form::Apart => (&mut [][..], into),
        };
        let (mut answer, expected) = ([0; ANSWER], beside.len());
        let came = self.exchange(core, message, &call, [&mut answer, beside], deadline)?;
        let answer = Answer::read(&answer).result;
        // Only what is done comes with data, and with all of it.
        if came != ANSWER + answer.map_or(0, |_| expected) {
            return Err(broken());
        }
        let value = answer.map_err(|(region, why)| Error::Refused { owner, region, why })?;
        if !apart.is_empty() {
            let status = self.recv(ANSWERS, answer_to(owner, sequence), apart, None)?;
            if status.bytes != apart.len() {
                return Err(broken());
            }
        }
        Ok(value)
    }

    /// Sends a request and receives its answer into `answer`; returns the length of the answer.
    fn exchange(
        &self,
        mut core: Locked<'_>,
        message: &RmaMessage<'_>,
        call: &RmaCall<'_>,
        [answer, beside]: [&mut [u8]; 2],
        deadline: Option<Instant>,
    ) -> Result<usize, Error> {
        let (to, sequence) = (call.to, message.sequence);
        buffer::scope(|scope| {
            let into = scope.lend_list_mut(vec![answer, beside]);
            let id = core.progress.proto.submit_recv(ANSWERS, answer_to(to, sequence), into);
            let sends = message.submit(&mut core.progress, call, scope);
            let (mut core, withdrawn, sent) = self.wait_sent(core, scope, sends, deadline);
            if withdrawn {
                core.progress.proto.cancel(id);
            }
            let (mut core, outcome, passed) = self.wait_done(core, id, deadline);
            if let Buffer::In(buffer) = outcome.buffer {
                scope.take_back_mut(buffer);
            }
            if passed && !withdrawn {
                let late = call.rma_request.late(call.undo);
                let core = &mut *core;
                core.rma.target.leave(&mut core.progress.proto, to, sequence, late);
            }
            if passed || withdrawn {
                return Err(Error::Deadline(format!("{to} to answer")));
            }
            if outcome.result.is_err() {
                core.progress.proto.forget_answer(to, sequence);
            }
            sent.and(outcome.result.map(|status| status.bytes).map_err(Error::from))
        })
    }

    /// Waits for the ends of the messages of a request; says whether one was withdrawn, and how they ended.
    fn wait_sent<'a>(
        &'a self,
        mut core: Locked<'a>,
        scope: &Scope<'_, '_>,
        sends: Vec<RequestId>,
        deadline: Option<Instant>,
    ) -> (Locked<'a>, bool, Result<(), Error>) {
        let (mut withdrawn, mut result) = (false, Ok(()));
        for id in sends {
            let (outcome, passed);
            (core, outcome, passed) = self.wait_done(core, id, deadline);
            withdrawn |= passed;
            if let Buffer::Out(buffer) = outcome.buffer {
                scope.take_back(buffer);
            }
            result = result.and(outcome.result.map(drop).map_err(Error::from));
        }
        (core, withdrawn, result)
    }
}

/// How an RMA request travels: in one message with its data, or in two.
struct RmaMessage<'a> {
    head: &'a [u8],
    sequence: u32,
    form: Form,
}

impl RmaMessage<'_> {
    /// Sends it without lending memory, if it is one message that can go at once; says whether it has left.
    fn try_post(&self, progress: &mut Progress, call: &RmaCall<'_>) -> bool {
        if self.form != Form::Whole {
            return false;
        }
        let fill = |slot: Window<'_>| {
            slot.write(0, self.head);
            slot.write(self.head.len(), call.data);
        };
        let tag = call.rma_request.tag(self.form, self.sequence);
        let len = self.head.len() + call.data.len();
        progress.post(Envelope::new(call.to, REQUESTS, tag), Filled { len, fill }) == Sent::Done
    }

    /// Submits its messages, with the memory lent.
    fn submit<'env>(
        &'env self,
        progress: &mut Progress,
        call: &'env RmaCall<'_>,
        scope: &Scope<'_, 'env>,
    ) -> Vec<RequestId> {
        let tag = call.rma_request.tag(self.form, self.sequence);
        let mut send = |flow, tag, buffer| progress.submit_send(Envelope::new(call.to, flow, tag), buffer);
        match self.form {
            Form::Whole => vec![send(REQUESTS, tag, scope.lend_list(&[self.head, call.data]))],
            Form::Apart if call.data.is_empty() => vec![send(REQUESTS, tag, scope.lend(self.head))],
            Form::Apart => vec![
                send(REQUESTS, tag, scope.lend(self.head)),
                send(DATA, Tag(self.sequence), scope.lend(call.data)),
            ],
        }
    }
}

/// What the answer of `owner` to a request is received by.
fn answer_to(owner: Rank, sequence: u32) -> Want {
    Want { source: Some(owner), tag: Some(Tag(sequence)) }
}
