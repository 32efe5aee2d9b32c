//! Tagged messages whose bytes lie in regions. Above the eager size they are copied once, directly from or to
//! the other end's memory. If both ends lie in regions, both processors copy. Short messages are copied to or
//! from the stack, because only private bytes can take the short path.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::{Buffer, Completion, Engine, Failure, FlowId, Mode, Pending, Want};
use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_mem::window::Window;

use crate::flow::want;
use crate::job::deadline;
use crate::{Error, Flow, Rank, Region, Source, Status, Tag, TagMatch};

/// Sends a lent buffer, and returns it.
pub(crate) fn send_lent(
    engine: &Arc<Engine>,
    (flow, to, tag): (FlowId, Rank, Tag),
    buffer: OutBuffer,
    deadline: Option<Instant>,
) -> (Result<(), Error>, OutBuffer) {
    match engine.isend(to, flow, tag, Mode::Standard, buffer) {
        Ok(pending) => match end(engine, pending, deadline) {
            Completion { result, buffer: Buffer::Out(buffer), .. } => (result.map(drop), buffer),
            _ => unreachable!("a send gives its buffer back"),
        },
        Err(refused) => (Err(refused.0), refused.1),
    }
}

/// Receives into a lent buffer, and returns it.
pub(crate) fn recv_lent(
    engine: &Arc<Engine>,
    (flow, want): (FlowId, Want),
    buffer: InBuffer,
    deadline: Option<Instant>,
) -> (Result<Status, Error>, InBuffer) {
    match engine.irecv(flow, want, buffer) {
        Ok(pending) => match end(engine, pending, deadline) {
            Completion { result, buffer: Buffer::In(buffer), .. } => (result, buffer),
            _ => unreachable!("a receive gives its buffer back"),
        },
        Err(refused) => (Err(refused.0), refused.1),
    }
}

/// Waits for the end of an operation. At the deadline it withdraws the operation, unless its data already
/// moves.
fn end(engine: &Arc<Engine>, pending: Pending, deadline: Option<Instant>) -> Completion {
    let forked = "a thread of this process has been inside before";
    match engine.wait(pending, deadline) {
        Ok(ended) => ended,
        Err(late) => {
            let _ = engine.cancel(pending);
            let ended = engine.wait(pending, None).expect(forked);
            match ended.result {
                Err(Error::Failed(Failure::Cancelled)) => Completion { result: Err(late), ..ended },
                _ => ended,
            }
        }
    }
}

/// The lengths of stack buffers in bytes: for a message that fits into a cell, and for one whose copy costs
/// less than a request.
const STACKED: [usize; 2] = [64, 4096];

/// Calls `f` with `len` zeroed bytes of the stack; returns none if they are too many.
#[inline(always)]
fn on_stack<R>(len: usize, f: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
    if len <= STACKED[0] {
        Some(f(&mut [0; STACKED[0]][..len]))
    } else if len <= STACKED[1] {
        Some(f(&mut [0; STACKED[1]][..len]))
    } else {
        None
    }
}

fn outside(region: &Region, range: &Range<usize>) -> Error {
    Error::Range { offset: range.start, len: range.len(), region: region.len() }
}

fn window<'a>(region: &'a Region, range: &Range<usize>) -> Result<Window<'a>, Error> {
    region.region.window(range.start, range.len()).ok_or_else(|| outside(region, range))
}

fn out_buffer(region: &Region, range: Range<usize>) -> Result<OutBuffer, Error> {
    region.region.out_buffer(range.start, range.len()).ok_or_else(|| outside(region, &range))
}

fn in_buffer(region: &Region, range: Range<usize>) -> Result<InBuffer, Error> {
    region.region.in_buffer(range.start, range.len()).ok_or_else(|| outside(region, &range))
}

impl Flow {
    /// Sends a range of a region's bytes. They must not be changed before this returns, or the receiver gets
    /// a mixture of old and new bytes.
    ///
    /// ```
    /// # fn main() -> Result<(), canele::Error> {
    /// # let job = canele::Job::start()?; let world = job.world(); let me = job.rank();
    /// # use canele::Tag;
    /// let region = job.endpoint().region(8192)?;
    /// region.write(0, &[7u64; 512])?;
    /// world.send_region(me, Tag(1), &region, 0..4096)?;
    /// let status = world.recv_region(me, Tag(1), &region, 4096..8192)?;
    /// let mut last = [0u64];
    /// region.read(8184, &mut last)?;
    /// assert_eq!((status.bytes, last), (4096, [7]));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Fails as [`Flow::send`] does, and with [`Error::Range`] if the range lies outside of the region.
    pub fn send_region(&self, to: Rank, tag: Tag, region: &Region, range: Range<usize>) -> Result<(), Error> {
        self.send_range(to, tag, (region, range), None)
    }

    /// Sends a range of a region, waiting at most `wait`; after [`Error::Deadline`] nothing was sent.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send_region`], and [`Error::Deadline`].
    pub fn send_region_deadline(
        &self,
        to: Rank,
        tag: Tag,
        region: &Region,
        range: Range<usize>,
        wait: Duration,
    ) -> Result<(), Error> {
        self.send_range(to, tag, (region, range), deadline(wait))
    }

    fn send_range(
        &self,
        to: Rank,
        tag: Tag,
        (region, range): (&Region, Range<usize>),
        at: Option<Instant>,
    ) -> Result<(), Error> {
        let window = window(region, &range)?;
        let sent = on_stack(range.len(), |bytes| {
            window.read(0, bytes);
            self.engine.send(to, self.id, tag, Mode::Standard, bytes, at)
        });
        match sent {
            Some(result) => result,
            None => send_lent(&self.engine, (self.id, to, tag), out_buffer(region, range)?, at).0,
        }
    }

    /// Receives a message into a range of a region.
    ///
    /// # Errors
    /// Fails as [`Flow::recv`] does, and with [`Error::Range`] if the range lies outside of the region.
    pub fn recv_region(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        region: &Region,
        range: Range<usize>,
    ) -> Result<Status, Error> {
        self.recv_range(want(from.into(), tag.into()), (region, range), None)
    }

    /// Receives into a range of a region, waiting at most `wait`; after [`Error::Deadline`] a later message
    /// can still be received.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::recv_region`], and [`Error::Deadline`].
    pub fn recv_region_deadline(
        &self,
        from: impl Into<Source>,
        tag: impl Into<TagMatch>,
        region: &Region,
        range: Range<usize>,
        wait: Duration,
    ) -> Result<Status, Error> {
        self.recv_range(want(from.into(), tag.into()), (region, range), deadline(wait))
    }

    fn recv_range(
        &self,
        want: Want,
        (region, range): (&Region, Range<usize>),
        at: Option<Instant>,
    ) -> Result<Status, Error> {
        let window = window(region, &range)?;
        let received = on_stack(range.len(), |bytes| {
            let status = self.engine.recv(self.id, want, bytes, at)?;
            window.write(0, &bytes[..status.bytes]);
            Ok(status)
        });
        match received {
            Some(result) => result,
            None => recv_lent(&self.engine, (self.id, want), in_buffer(region, range)?, at).0,
        }
    }
}
