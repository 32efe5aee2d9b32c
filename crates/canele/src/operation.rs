//! A non-blocking operation on memory that a scope, a request or the caller lends to it.

use std::task::Waker;
use std::time::Instant;

use canele_engine::{Buffer, Completion, Envelope, Mode, Pending, Started};
use canele_mem::buffer::Owned;

use crate::{Error, Flow, Plain, Rank, Status, Tag};

/// The lender of an operation's memory. It gets the memory back at the end.
pub(crate) trait Lender {
    /// Takes the memory back, after the operation has ended.
    fn take_back(&mut self, buffer: Buffer);
}

impl<T: Plain> Lender for Owned<T> {
    fn take_back(&mut self, buffer: Buffer) {
        match buffer {
            Buffer::Out(buffer) => self.take_back_out(buffer),
            Buffer::In(buffer) => self.take_back_in(buffer),
            Buffer::None => {}
        }
    }
}

/// The progress of an operation.
pub(crate) enum Progress {
    UnderWay(Pending),
    Ended(Result<Status, Error>),
    Taken,
}

/// An operation under way, with the lender of its memory.
///
/// Dropping a pending operation withdraws it if no other rank knows of it; otherwise the drop waits for its
/// end.
pub(crate) struct Operation<L: Lender> {
    /// The flow, held so that its numbers are not freed before the operation has ended.
    flow: Flow,
    pub lender: L,
    state: Progress,
}

impl Flow {
    /// Returns an envelope on this flow. The message may be coalesced with others.
    pub(crate) fn coalesced(&self, to: Rank, tag: Tag) -> Envelope {
        Envelope { coalesce: true, ..Envelope::new(to, self.id, tag) }
    }

    /// Starts a send that needs the caller's memory only during this call, if possible.
    pub(crate) fn isend_copied(
        &self,
        to: Rank,
        tag: Tag,
        mode: Mode,
        bytes: &[u8],
    ) -> Result<Option<Progress>, Error> {
        if mode != Mode::Standard {
            return Ok(None);
        }
        match self.engine.post(self.coalesced(to, tag), bytes).map_err(|error| *error)? {
            Started::Done => Ok(Some(Progress::Ended(Ok(Status { source: to, tag, bytes: bytes.len() })))),
            Started::Posted(pending) => Ok(Some(Progress::UnderWay(pending))),
            Started::Busy => Ok(None),
        }
    }
}

impl<L: Lender> Operation<L> {
    pub fn new(flow: &Flow, lender: L, state: Progress) -> Self {
        Self { flow: flow.clone(), lender, state }
    }

    fn end(&mut self, ended: Completion) {
        self.lender.take_back(ended.buffer);
        self.state = Progress::Ended(ended.result);
    }

    /// Returns true if the operation has ended; otherwise makes progress.
    pub fn test(&mut self) -> Result<bool, Error> {
        if let Progress::UnderWay(pending) = self.state {
            match self.flow.engine.test(pending)? {
                Some(ended) => self.end(ended),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Returns true if the operation has ended. Otherwise `waker` is woken once it may have ended, and a
    /// thread makes progress meanwhile.
    pub fn test_or_notify(&mut self, waker: &Waker) -> Result<bool, Error> {
        if let Progress::UnderWay(pending) = self.state {
            let is_served = self.flow.engine.start_serving();
            match self.flow.engine.test_or_notify(pending, waker)? {
                Some(ended) => self.end(ended),
                None => {
                    // No thread makes progress, so the polling caller must.
                    if !is_served {
                        waker.wake_by_ref();
                    }
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Withdraws the operation, if possible. Returns true if it was withdrawn.
    pub fn cancel(&mut self) -> Result<bool, Error> {
        match self.state {
            Progress::UnderWay(pending) => self.flow.engine.cancel(pending),
            _ => Ok(false),
        }
    }

    /// Waits for the end of the operation.
    pub fn block(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        if let Progress::UnderWay(pending) = self.state {
            let ended = self.flow.engine.wait(pending, deadline)?;
            self.end(ended);
        }
        Ok(())
    }

    /// Returns the result.
    ///
    /// # Panics
    /// Panics if the operation has not ended, or this function was called before.
    pub fn take(&mut self) -> Result<Status, Error> {
        match std::mem::replace(&mut self.state, Progress::Taken) {
            Progress::Ended(result) => result,
            _ => unreachable!("taken only after its end"),
        }
    }

    /// Returns true after [`Operation::take`].
    pub fn is_taken(&self) -> bool {
        matches!(self.state, Progress::Taken)
    }

    /// Waits until one of several untaken operations has ended; returns its index.
    pub fn wait_any(operations: &mut [&mut Self], deadline: Option<Instant>) -> Result<usize, Error> {
        if let Some(at) = operations.iter().position(|one| matches!(one.state, Progress::Ended(_))) {
            return Ok(at);
        }
        let (numbers, pending): (Vec<usize>, Vec<Pending>) = operations
            .iter()
            .enumerate()
            .filter_map(|(n, one)| match one.state {
                Progress::UnderWay(pending) => Some((n, pending)),
                _ => None,
            })
            .unzip();
        let Some(first) = numbers.first() else {
            return Err(Error::Lengths { what: "requests under way", given: 0, needed: 1 });
        };
        let (which, ended) = operations[*first].flow.engine.wait_any(&pending, deadline)?;
        operations[numbers[which]].end(ended);
        Ok(numbers[which])
    }
}

impl<L: Lender> Drop for Operation<L> {
    fn drop(&mut self) {
        if let Progress::UnderWay(pending) = self.state
            && !pending.is_free()
        {
            // If this also fails (in a forked child), the lender keeps the memory, so that it is never freed
            // during a transfer.
            let _ = self.flow.engine.cancel_here(pending);
            let _ = self.block(None);
        }
    }
}
