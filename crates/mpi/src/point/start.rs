//! Non-blocking messages.

use std::sync::Arc;

use canele_engine::{Mode, Pending, Rank, Started, Tag};

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
    /// Sends what can go at once, or with the next packet: its memory may be used again then.
    ///
    /// # Errors
    /// The job is over.
    #[inline(always)]
    pub fn try_send_now(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Started> {
        if mode == Mode::Synchronous || !data.of.is_contiguous() {
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
            Started::NotHere => self.isend_lent(to, mode, data).map(Some),
        }
    }

    /// The request of a send that was started.
    pub fn sending(self: &Arc<Self>, pending: Pending) -> Request {
        Request::send(self.clone(), pending)
    }

    /// Starts to send from the program's memory, which is lent.
    ///
    /// # Errors
    /// The job is over.
    pub fn isend_lent(self: &Arc<Self>, to: Target, mode: Mode, data: Data<'_>) -> Result<Request> {
        data.bytes()?;
        let started = self.engine.isend(to.rank, self.flow, to.tag, mode, self.lend(data));
        Ok(Request::send(self.clone(), started.map_err(|refused| refused.0)?))
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// The job is over.
    #[inline]
    pub fn irecv(self: &Arc<Self>, from: From, data: Data<'_>) -> Result<Request> {
        data.bytes()?;
        let started = self.engine.irecv(self.flow, from.want(), self.lend_mut(data));
        let pending = started.map_err(|refused| refused.0)?;
        Ok(Request::receive(self.clone(), pending))
    }
}
