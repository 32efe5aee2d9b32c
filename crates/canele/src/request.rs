//! Non-blocking operations that own their buffers.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use canele_engine::Mode;
use canele_mem::buffer::Owned;

use crate::flow::want;
use crate::job::deadline;
use crate::operation::{Operation, Progress};
use crate::{Error, Flow, Plain, Rank, Source, Status, Tag, TagMatch};

/// A pending send or receive, which owns its items until it has ended.
///
/// A program waits for the request by [`wait`](Self::wait), polls it by [`test`](Self::test), or awaits it. A
/// request is a future of the status and the items for any executor. The first awaited request starts a
/// thread, which makes progress while tasks wait.
///
/// Dropping it while it is pending withdraws it if no other rank knows of it; otherwise the drop waits for
/// its end.
#[must_use = "an operation must be waited for"]
pub struct Request<T: Plain>(Operation<Owned<T>>);

impl Flow {
    /// Starts to send `items`; waiting for the operation returns them.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn isend<T: Plain>(&self, to: Rank, tag: Tag, items: Vec<T>) -> Result<Request<T>, Error> {
        self.isend_mode(to, tag, Mode::Standard, items)
    }

    /// Starts a synchronous send, which ends once the receiver has begun to receive.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::isend`].
    pub fn isend_sync<T: Plain>(&self, to: Rank, tag: Tag, items: Vec<T>) -> Result<Request<T>, Error> {
        self.isend_mode(to, tag, Mode::Synchronous, items)
    }

    fn isend_mode<T: Plain>(
        &self,
        to: Rank,
        tag: Tag,
        mode: Mode,
        items: Vec<T>,
    ) -> Result<Request<T>, Error> {
        match self.isend_copied(to, tag, mode, bytemuck::cast_slice(&items))? {
            Some(state) => Ok(Request(Operation::new(self, Owned::new(items), state))),
            None => self.isend_lent(to, tag, mode, items),
        }
    }

    /// Starts a send whose message could not be sent at once; its memory is lent until its end.
    pub(crate) fn isend_lent<T: Plain>(
        &self,
        to: Rank,
        tag: Tag,
        mode: Mode,
        items: Vec<T>,
    ) -> Result<Request<T>, Error> {
        let mut items = Owned::new(items);
        match self.engine.isend(to, self.id, tag, mode, items.lend_out()) {
            Ok(pending) => Ok(Request(Operation::new(self, items, Progress::UnderWay(pending)))),
            Err(refused) => {
                let (error, buffer) = *refused;
                items.take_back_out(buffer);
                Err(error)
            }
        }
    }

    /// Starts to receive into `items`; waiting for the operation returns them.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn irecv<T: Plain>(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        items: Vec<T>,
    ) -> Result<Request<T>, Error> {
        let mut items = Owned::new(items);
        match self.engine.irecv(self.id, want(from.into(), tag.into()), items.lend_in()) {
            Ok(pending) => Ok(Request(Operation::new(self, items, Progress::UnderWay(pending)))),
            Err(refused) => {
                let (error, buffer) = *refused;
                items.take_back_in(buffer);
                Err(error)
            }
        }
    }
}

impl<T: Plain> Request<T> {
    /// Returns true if the operation has ended; otherwise makes progress.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn test(&mut self) -> Result<bool, Error> {
        self.0.test()
    }

    /// Waits for the end of the operation and returns the items.
    ///
    /// # Errors
    /// Fails with the error of the operation. Then the items are dropped.
    pub fn wait(mut self) -> Result<(Status, Vec<T>), Error> {
        self.block(None)?;
        self.take()
    }

    /// Waits at most `wait`. After [`Error::Deadline`] the operation has been withdrawn or, if that was not
    /// possible, has ended.
    ///
    /// # Errors
    /// Fails with the error of the operation. Then the items are dropped.
    pub fn wait_deadline(mut self, wait: Duration) -> Result<(Status, Vec<T>), Error> {
        self.block(deadline(wait))?;
        self.take()
    }

    /// Withdraws the operation if possible: a receive without a message, or a send that has not left and was
    /// not copied. Returns true if it was withdrawn. A long send that was announced is asked back from the
    /// receiver. Waiting for it returns the result once the receiver communicates.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn cancel(&mut self) -> Result<bool, Error> {
        self.0.cancel()
    }

    pub(crate) fn block(&mut self, deadline: Option<Instant>) -> Result<(), Error> {
        self.0.block(deadline)
    }

    pub(crate) fn take(&mut self) -> Result<(Status, Vec<T>), Error> {
        let status = self.0.take()?;
        let items = std::mem::replace(&mut self.0.lender, Owned::new(Vec::new()));
        Ok((status, items.into_items()))
    }
}

/// The items do not lie inside of the request, so it may be moved while it is awaited.
impl<T: Plain> Unpin for Request<T> {}

impl<T: Plain> Future for Request<T> {
    type Output = Result<(Status, Vec<T>), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.test_or_notify(context.waker()) {
            Ok(true) => Poll::Ready(self.take()),
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

/// Waits until one of the requests has ended; returns its index. The result of none of them was taken before.
///
/// # Errors
/// Fails with [`Error::Lengths`] if the list is empty, and in a forked child.
pub fn wait_any<T: Plain>(requests: &mut [Request<T>]) -> Result<usize, Error> {
    let mut operations: Vec<_> = requests.iter_mut().map(|request| &mut request.0).collect();
    Operation::wait_any(&mut operations, None)
}

/// Waits until at least one request has ended; returns the indices of all that have.
///
/// # Errors
/// Returns the errors of [`wait_any`].
pub fn wait_some<T: Plain>(requests: &mut [Request<T>]) -> Result<Vec<usize>, Error> {
    wait_any(requests)?;
    let mut ended = Vec::new();
    for (n, request) in requests.iter_mut().enumerate() {
        if !request.0.is_taken() && request.test()? {
            ended.push(n);
        }
    }
    Ok(ended)
}

/// Waits for all requests and returns their items, in the order of the list.
///
/// # Errors
/// Returns the first failure, after all have ended.
pub fn wait_all<T: Plain>(requests: Vec<Request<T>>) -> Result<Vec<(Status, Vec<T>)>, Error> {
    let results: Vec<_> = requests.into_iter().map(Request::wait).collect();
    results.into_iter().collect()
}
