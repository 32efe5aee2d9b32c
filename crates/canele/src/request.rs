//! Non-blocking operations that own their buffers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Buffer, Completion, Engine, Envelope, Mode, Pending, Started};
use canele_mem::buffer::Owned;

use crate::flow::want;
use crate::job::deadline;
use crate::{Error, Flow, Plain, Rank, Source, Status, Tag, TagMatch};

/// A send or receive under way, which owns its items until it has ended.
///
/// Dropping it while it is under way withdraws it if no other rank knows of it and else waits for its end.
#[must_use = "an operation must be waited for"]
pub struct Request<T: Plain> {
    engine: Arc<Engine>,
    items: Owned<T>,
    state: Progress,
}

enum Progress {
    UnderWay(Pending),
    Ended(Result<Status, Error>),
    Taken,
}

impl Flow {
    /// Starts to send `items`, which come back when the operation is waited for.
    ///
    /// # Errors
    /// The rank does not exist; the job is over.
    pub fn isend<T: Plain>(&self, to: Rank, tag: Tag, items: Vec<T>) -> Result<Request<T>, Error> {
        self.isend_mode(to, tag, Mode::Standard, items)
    }

    /// The same, ended once the receiver has begun to receive.
    ///
    /// # Errors
    /// As [`Flow::isend`].
    pub fn isend_sync<T: Plain>(&self, to: Rank, tag: Tag, items: Vec<T>) -> Result<Request<T>, Error> {
        self.isend_mode(to, tag, Mode::Synchronous, items)
    }

    /// Where a message of this flow goes, which may leave with others.
    pub(crate) fn coalesced(&self, to: Rank, tag: Tag) -> Envelope {
        Envelope { coalesce: true, ..Envelope::new(to, self.id, tag) }
    }

    fn isend_mode<T: Plain>(
        &self,
        to: Rank,
        tag: Tag,
        mode: Mode,
        items: Vec<T>,
    ) -> Result<Request<T>, Error> {
        let mut items = Owned::new(items);
        let bytes = items.bytes().len();
        let started = match mode {
            Mode::Standard => {
                self.engine.post(self.coalesced(to, tag), items.bytes()).map_err(|error| *error)?
            }
            _ => Started::Busy,
        };
        let state = match started {
            Started::Done => Progress::Ended(Ok(Status { source: to, tag, bytes })),
            Started::Posted(pending) => Progress::UnderWay(pending),
            Started::Busy => match self.engine.isend(to, self.id, tag, mode, items.lend_out()) {
                Ok(pending) => Progress::UnderWay(pending),
                Err(refused) => {
                    let (error, buffer) = *refused;
                    items.take_back_out(buffer);
                    return Err(error);
                }
            },
        };
        Ok(Request { engine: self.engine.clone(), items, state })
    }

    /// Starts to receive into `items`, which come back when the operation is waited for.
    ///
    /// # Errors
    /// The rank does not exist; the job is over.
    pub fn irecv<T: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        items: Vec<T>,
    ) -> Result<Request<T>, Error> {
        let mut items = Owned::new(items);
        match self.engine.irecv(self.id, want(from.into(), tag.into()), items.lend_in()) {
            Ok(pending) => {
                Ok(Request { engine: self.engine.clone(), items, state: Progress::UnderWay(pending) })
            }
            Err(refused) => {
                let (error, buffer) = *refused;
                items.take_back_in(buffer);
                Err(error)
            }
        }
    }
}

impl<T: Plain> Request<T> {
    fn end(&mut self, ended: Completion) {
        match ended.buffer {
            Buffer::Out(buffer) => self.items.take_back_out(buffer),
            Buffer::In(buffer) => self.items.take_back_in(buffer),
            Buffer::None => {}
        }
        self.state = Progress::Ended(ended.result);
    }

    /// Whether it has ended; makes progress if not.
    ///
    /// # Errors
    /// In a forked child.
    pub fn test(&mut self) -> Result<bool, Error> {
        if let Progress::UnderWay(pending) = self.state {
            match self.engine.test(pending)? {
                Some(ended) => self.end(ended),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Waits for its end and gives the items back.
    ///
    /// # Errors
    /// Why it failed; the items are dropped.
    pub fn wait(mut self) -> Result<(Status, Vec<T>), Error> {
        self.block(None)?;
        self.take()
    }

    /// Waits at most `wait`; after [`Error::Deadline`] the operation is withdrawn if possible, else waited for.
    ///
    /// # Errors
    /// Why it failed; the items are dropped.
    pub fn wait_deadline(mut self, wait: Duration) -> Result<(Status, Vec<T>), Error> {
        self.block(deadline(wait))?;
        self.take()
    }

    /// Withdraws it, if it is not too late: a receive without a message, a send that has not left and was not copied. Says whether it
    /// was. A long send that is announced already is asked back: waiting for it tells, once its receiver communicates.
    ///
    /// # Errors
    /// In a forked child.
    pub fn cancel(&mut self) -> Result<bool, Error> {
        match self.state {
            Progress::UnderWay(pending) => self.engine.cancel(pending),
            _ => Ok(false),
        }
    }

    pub(crate) fn block(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        if let Progress::UnderWay(pending) = self.state {
            let ended = self.engine.wait(pending, deadline)?;
            self.end(ended);
        }
        Ok(())
    }

    pub(crate) fn take(&mut self) -> Result<(Status, Vec<T>), Error> {
        match std::mem::replace(&mut self.state, Progress::Taken) {
            Progress::Ended(result) => {
                let items = std::mem::replace(&mut self.items, Owned::new(Vec::new()));
                result.map(|status| (status, items.into_items()))
            }
            _ => unreachable!("taken only after its end"),
        }
    }
}

impl<T: Plain> Drop for Request<T> {
    fn drop(&mut self) {
        if let Progress::UnderWay(pending) = self.state
            && !pending.is_free()
        {
            // Where even that fails (a forked child) the items are leaked, never freed under a transfer.
            let _ = self.engine.cancel_here(pending);
            let _ = self.block(None);
        }
    }
}

/// Waits until one of the requests that are not taken has ended; gives its number.
///
/// # Errors
/// In a forked child; [`Error::Lengths`] if the list is empty.
pub fn wait_any<T: Plain>(requests: &mut [Request<T>]) -> Result<usize, Error> {
    if let Some(at) = requests.iter().position(|r| matches!(r.state, Progress::Ended(_))) {
        return Ok(at);
    }
    let (numbers, pending): (Vec<usize>, Vec<Pending>) = requests
        .iter()
        .enumerate()
        .filter_map(|(n, r)| match r.state {
            Progress::UnderWay(pending) => Some((n, pending)),
            _ => None,
        })
        .unzip();
    let Some(first) = numbers.first() else {
        return Err(Error::Lengths { what: "requests under way", given: 0, needed: 1 });
    };
    let (which, ended) = requests[*first].engine.wait_any(&pending, None)?;
    requests[numbers[which]].end(ended);
    Ok(numbers[which])
}

/// Waits until at least one has ended; gives the numbers of all that have.
///
/// # Errors
/// As [`wait_any`].
pub fn wait_some<T: Plain>(requests: &mut [Request<T>]) -> Result<Vec<usize>, Error> {
    wait_any(requests)?;
    let mut ended = Vec::new();
    for (n, request) in requests.iter_mut().enumerate() {
        if !matches!(request.state, Progress::Taken) && request.test()? {
            ended.push(n);
        }
    }
    Ok(ended)
}

/// Waits for all and gives their items back, in the order of the list.
///
/// # Errors
/// The first failure, after all have ended.
pub fn wait_all<T: Plain>(requests: Vec<Request<T>>) -> Result<Vec<(Status, Vec<T>)>, Error> {
    let results: Vec<_> = requests.into_iter().map(Request::wait).collect();
    results.into_iter().collect()
}
