//! Non-blocking messages.

use std::sync::Arc;

use canele_engine::{Mode, Pending, Rank, Started, Tag, Want};
use canele_sys::buffer::Raw;

use super::From;
use crate::Result;
use crate::comm::Comm;
use crate::data::Data;
use crate::request::Request;

/// Where a message goes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The rank of the job.
    pub rank: Rank,
    /// The tag.
    pub tag: Tag,
}

impl Comm {
    /// Sends what is short and can go at once; says whether it did: its memory may be used again then.
    #[inline(always)]
    pub fn send_now(&self, to: Target, mode: Mode, data: Data<'_>) -> bool {
        let fits = mode != Mode::Synchronous && data.of.is_contiguous();
        let bytes = data.of.size().saturating_mul(data.count);
        fits && self.engine.send_now(to.rank, self.flow, to.tag, data.raw.bytes(0, bytes))
    }

    /// Sends what can go at once, and says whether it did: its memory may be used again then.
    ///
    /// # Errors
    /// The job is over.
    pub fn send_at_once(&self, to: Target, data: Data<'_>) -> Result<bool> {
        if !data.of.is_contiguous() || self.is_copied_by_receiver(data)? {
            return Ok(false);
        }
        let bytes = data.raw.bytes(0, data.bytes()?);
        Ok(self.engine.send_at_once(to.rank, self.flow, to.tag, bytes)?)
    }

    /// Whether its receiver takes it from where it lies.
    fn is_copied_by_receiver(&self, data: Data<'_>) -> Result<bool> {
        Ok(self.is_direct(data) && data.bytes()? > self.engine.eager_bytes()?)
    }

    /// Sends what can go at once, or with the next packet: its memory may be used again then.
    ///
    /// # Errors
    /// The job is over.
    #[inline(always)]
    pub fn try_send_now(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Started> {
        if mode == Mode::Synchronous || !data.of.is_contiguous() || self.is_copied_by_receiver(data)? {
            return Ok(Started::NotHere);
        }
        let bytes = data.raw.bytes(0, data.bytes()?);
        Ok(self.engine.try_send_now(to.rank, self.flow, to.tag, bytes)?)
    }

    /// Starts to send. `None`: it has left.
    ///
    /// # Errors
    /// The job is over.
    pub fn isend(self: &Arc<Self>, to: Target, mode: Mode, data: Data<'_>) -> Result<Option<Request>> {
        match self.try_send_now(to, mode, data)? {
            Started::Left => Ok(None),
            Started::Waits(pending) => Ok(Some(self.sending(pending))),
            Started::NotHere => Ok(Some(self.sending(self.isend_lent(to, mode, data)?))),
        }
    }

    /// The request of a receive that was started.
    pub fn receiving(self: &Arc<Self>, pending: Pending) -> Request {
        Request::receive(self.clone(), pending)
    }

    /// The request of a send that was started.
    pub fn sending(self: &Arc<Self>, pending: Pending) -> Request {
        Request::send(self.clone(), pending)
    }

    /// Starts to send from the program's memory, which is lent.
    ///
    /// # Errors
    /// The job is over.
    pub fn isend_lent(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Pending> {
        data.bytes()?;
        let started = self.engine.isend(to.rank, self.flow, to.tag, mode, self.lend(data));
        Ok(started.map_err(|refused| refused.0)?)
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// The job is over.
    pub fn irecv(self: &Arc<Self>, from: From, data: Data<'_>) -> Result<Request> {
        Ok(self.receiving(self.start_receive(from, data)?))
    }

    /// The same, as the engine calls it.
    ///
    /// # Errors
    /// The job is over.
    #[inline(always)]
    pub fn start_receive(&self, from: From, data: Data<'_>) -> Result<Pending> {
        data.bytes()?;
        let started = self.engine.irecv(self.flow, from.want(), self.lend_mut(data));
        started.map_err(|refused| refused.0.into())
    }

    /// The same into `len` bytes at the start of some memory, with known ends.
    ///
    /// # Errors
    /// The job is over.
    pub fn start_receive_bytes(&self, source: Rank, tag: Tag, into: Raw, len: usize) -> Result<Pending> {
        let want = Want { source: Some(source), tag: Some(tag) };
        let started = self.engine.irecv(self.flow, want, into.lend_mut(0, len));
        started.map_err(|refused| refused.0.into())
    }
}
