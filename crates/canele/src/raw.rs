//! Non-blocking operations on memory that the caller promises to keep, as a base for interfaces of other
//! languages.
//!
//! The caller promises once that the memory stays, when its address becomes a [`Raw`] or a [`RawMut`]. Rust
//! programs need no promise: they lend memory in a [`Scope`](crate::Scope) or give it to a
//! [`Request`](crate::Request).

use std::time::Duration;

use canele_engine::Buffer;
pub use canele_mem::buffer::{Raw, RawMut, Readable};

use crate::flow::want;
use crate::job::deadline;
use crate::operation::{Lender, Operation, Progress};
use crate::{Error, Flow, Mode, Rank, Source, Status, Tag, TagMatch};

/// A pending send from a [`Raw`] or receive into a [`RawMut`].
///
/// Dropping it while it is pending withdraws it if no other rank knows of it; otherwise the drop waits for
/// its end.
#[must_use = "an operation must be waited for"]
pub struct RawRequest(Operation<Promise>);

/// The lender of memory that the caller has promised to keep.
struct Promise;

impl Lender for Promise {
    fn take_back(&mut self, _: Buffer) {}
}

impl Flow {
    /// Starts to send the first `bytes` bytes of `memory`. A synchronous send ends once the receiver has
    /// begun to receive.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn isend_raw(
        &self,
        to: Rank,
        tag: Tag,
        mode: Mode,
        memory: Raw,
        bytes: usize,
    ) -> Result<RawRequest, Error> {
        let state = match self.isend_copied(to, tag, mode, memory.bytes(0, bytes))? {
            Some(state) => state,
            None => match self.engine.isend(to, self.id, tag, mode, memory.lend(0, bytes)) {
                Ok(pending) => Progress::UnderWay(pending),
                Err(refused) => return Err(refused.0),
            },
        };
        Ok(RawRequest(Operation::new(self, Promise, state)))
    }

    /// Starts to receive into the first `bytes` bytes of `memory`.
    ///
    /// # Errors
    /// Fails if the rank does not exist or the job is over.
    pub fn irecv_raw(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        memory: RawMut,
        bytes: usize,
    ) -> Result<RawRequest, Error> {
        match self.engine.irecv(self.id, want(from.into(), tag.into()), memory.lend_mut(0, bytes)) {
            Ok(pending) => Ok(RawRequest(Operation::new(self, Promise, Progress::UnderWay(pending)))),
            Err(refused) => Err(refused.0),
        }
    }
}

impl RawRequest {
    /// Returns true if the operation has ended; otherwise makes progress.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn test(&mut self) -> Result<bool, Error> {
        self.0.test()
    }

    /// Waits for the end of the operation, without limit or at most `wait`. After an error of the wait
    /// itself, such as [`Error::Deadline`], the operation is still pending.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over, and in a forked child.
    pub fn block(&mut self, wait: Option<Duration>) -> Result<(), Error> {
        self.0.block(wait.and_then(deadline))
    }

    /// Returns the result of the operation, once.
    ///
    /// # Errors
    /// Fails with the error of the operation.
    ///
    /// # Panics
    /// Panics if the operation has not ended, or this function was called before.
    pub fn take(&mut self) -> Result<Status, Error> {
        self.0.take()
    }

    /// Withdraws the operation as [`Request::cancel`](crate::Request::cancel) does.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn cancel(&mut self) -> Result<bool, Error> {
        self.0.cancel()
    }

    /// Waits until one of several operations has ended; returns its index. The result of none of them was
    /// taken before.
    ///
    /// # Errors
    /// Fails with [`Error::Deadline`] if the time is over, with [`Error::Lengths`] if the list is empty, and
    /// in a forked child.
    pub fn wait_any<'a>(
        requests: impl IntoIterator<Item = &'a mut RawRequest>,
        wait: Option<Duration>,
    ) -> Result<usize, Error> {
        let mut operations: Vec<_> = requests.into_iter().map(|request| &mut request.0).collect();
        Operation::wait_any(&mut operations, wait.and_then(deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Job;

    #[test]
    fn memory_that_is_never_freed_is_sent_and_received() {
        let job = Job::start().expect("a job of one rank");
        let (world, me) = (job.world(), job.rank());
        for bytes in [8, 1 << 20] {
            let from = RawMut::of(vec![7; bytes].leak(), 0).into_raw();
            let into: &'static mut [u8] = vec![0; bytes].leak();
            let mut request = world.irecv_raw(me, Tag(1), RawMut::of(into, 0), bytes).unwrap();
            assert!(!request.test().unwrap(), "nothing was sent");
            let late = request.block(Some(Duration::from_millis(1)));
            assert!(matches!(late, Err(Error::Deadline(_))), "{late:?}");
            let mut send = world.isend_raw(me, Tag(1), Mode::Standard, from, bytes).unwrap();
            let first = RawRequest::wait_any([&mut request, &mut send], None).unwrap();
            assert!(first < 2);
            for request in [&mut request, &mut send] {
                request.block(None).unwrap();
                assert_eq!(request.take().unwrap(), Status { source: me, tag: Tag(1), bytes });
            }
        }
        let mut never = world.irecv_raw(me, Tag(2), RawMut::of(vec![0; 8].leak(), 0), 8).unwrap();
        assert!(never.cancel().unwrap());
        never.block(None).unwrap();
        assert!(never.take().is_err());
        job.finish().unwrap();
    }
}
