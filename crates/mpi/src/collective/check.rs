//! The check of collectives (tunable `check`): all members of a communicator make the same calls in order.
//!
//! ```text
//!   call ──▶ Description ──▶ record to all members, by collectives' flow ──▶ comparison ──▶ the collective
//! ```
//! A record holds the values that must be equal on all ranks, and the text of the call for the error. Every
//! call sends its record in the same way, blocking or not, so calls of different forms are compared, too. A
//! non-blocking call does not wait: its request compares the records before it starts the collective's steps.
//! On an intercommunicator each group gets the other group's records.
//!
//! A rank with a list (the root of `MPI_Gatherv`) compares each part of the list with the part that the other
//! rank passes. The amounts between pairs of ranks are not compared in `MPI_Alltoallv`, `MPI_Alltoallw` and
//! neighbourhood collectives.

mod compare;
mod describe;

use std::sync::Arc;

use canele_engine::collective::{Block, Buffers, CollectiveBuffer, CollectiveSpec, Operation, Shape, Uneven};
use canele_engine::{Completion, Pending};
use canele_mem::buffer::Divided;

use crate::comm::Comm;
use crate::request::{Request, Step, Steps};
use crate::{Class, Error, Result};

use compare::{RECORD, Record};
pub(crate) use describe::Description;

/// The form of a collective call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The call returns at its end.
    Blocking,
    /// The call returns a request.
    Immediate,
    /// The call returns a persistent request.
    Persistent,
}

/// An exchange of records in progress.
pub(crate) struct Exchange {
    pending: Pending,
    mine: Record,
}

impl Comm {
    /// Describes a call, if calls are checked.
    pub(crate) fn describe(
        &self,
        name: &'static str,
        fill: impl FnOnce(Description) -> Description,
    ) -> Option<Box<Description>> {
        let is_checked = self.engine.tunables().check && (self.size() > 1 || self.is_inter());
        is_checked.then(|| Box::new(fill(Description::new(name))))
    }

    /// Compares a blocking call without arguments, such as one that makes a communicator, with the calls of
    /// the other members.
    ///
    /// # Errors
    /// Fails if another member makes another call or died.
    pub(crate) fn check_call(&self, name: &'static str) -> Result<()> {
        self.check(Form::Blocking, self.describe(name, |call| call).as_deref())
    }

    /// Compares a call with the calls of the other members; returns after all have made theirs.
    ///
    /// # Errors
    /// Fails like [`Comm::check_call`].
    pub(crate) fn check(&self, form: Form, call: Option<&Description>) -> Result<()> {
        let Some(exchange) = self.start_check(form, call)? else { return Ok(()) };
        let ended = self.engine.wait(exchange.pending, None)?;
        self.compare(&exchange.mine, ended)
    }

    /// Sends the record of a call, if it is checked.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub(crate) fn start_check(&self, form: Form, call: Option<&Description>) -> Result<Option<Exchange>> {
        let Some(call) = call else { return Ok(None) };
        let mine = Record::new(form, call, self.count_checked());
        let peers = self.peers().size();
        let own = |memory: Divided| CollectiveBuffer::Own(Box::new(memory));
        let (input, output) = (own(Divided::from(&mine.encode()[..])), own(Divided::new(RECORD * peers)));
        let all: Vec<Block> = (0..peers).map(|n| Block { at: n * RECORD, len: RECORD }).collect();
        let spec = match self.is_inter() {
            true => CollectiveSpec::Uneven(Uneven::Allgather { mine: Some(all[0]), all: &all }),
            false => CollectiveSpec::Even(Shape::new(Operation::Allgather, RECORD)),
        };
        let pending =
            self.engine.start_collective(self.collectives(), spec, None, Buffers { input, output })?;
        Ok(Some(Exchange { pending, mine }))
    }

    /// Compares the records after the exchange has completed.
    fn compare(&self, mine: &Record, ended: Completion) -> Result<()> {
        ended.result?;
        let Some(output) = ended.output else { return Ok(()) };
        let theirs: Vec<Record> = output.bytes().chunks_exact(RECORD).map(Record::decode).collect();
        let difference = match self.is_inter() {
            true => compare::between(mine, self.rank(), &theirs),
            false => compare::within(mine, self.rank(), &theirs),
        };
        let Some((one, other, what)) = difference else { return Ok(()) };
        let name = self.name();
        let name = if name.is_empty() { "a communicator without a name" } else { &name };
        let text = format!(
            "{one} as its {} collective on {name}; {other}: the {what} differ, but all members of a communicator make the same \
             collectives in the same order",
            compare::ordinal(mine.number())
        );
        Err(Error::new(Class::NotSame, text))
    }
}

/// A started operation whose records are compared first.
struct Checked {
    comm: Arc<Comm>,
    mine: Record,
    /// The operation itself, until the records have been compared.
    pending: Option<Pending>,
    steps: Option<Box<dyn Steps>>,
}

/// Returns the request of an operation that was started after an exchange of records, if there was one.
pub(crate) fn request(
    comm: &Arc<Comm>,
    exchange: Option<Exchange>,
    pending: Pending,
    steps: Box<dyn Steps>,
) -> Request {
    let Some(Exchange { pending: first, mine }) = exchange else {
        return Request::steps(comm.clone(), pending, steps);
    };
    let checked = Checked { comm: comm.clone(), mine, pending: Some(pending), steps: Some(steps) };
    Request::steps(comm.clone(), first, Box::new(checked))
}

impl Steps for Checked {
    fn step(&mut self, ended: Completion) -> Step {
        let Some(steps) = &mut self.steps else {
            return Step::Done(Err(Error::new(Class::Internal, "a collective ends a second time")));
        };
        let Some(pending) = self.pending.take() else { return steps.step(ended) };
        match self.comm.compare(&self.mine, ended) {
            Ok(()) => Step::Next(pending),
            Err(error) => {
                // The collective never completes, so its memory stays lent.
                if let Some(steps) = self.steps.take() {
                    std::mem::forget(steps);
                }
                Step::Done(Err(error))
            }
        }
    }
}
