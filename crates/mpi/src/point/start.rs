//! Non-blocking messages.

use std::sync::Arc;

use canele_engine::{Envelope, Mode, Pending, Rank, Started, Tag};
use canele_mem::buffer::Readable;

use super::From;
use crate::Result;
use crate::comm::Comm;
use crate::data::{Data, DataMut};
use crate::request::Request;

/// The destination of a message.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The rank in the job.
    pub rank: Rank,
    /// The tag.
    pub tag: Tag,
}

impl Comm {
    /// Returns true if the receiver copies the data from the sender's memory.
    fn is_copied_by_receiver(&self, data: Data<'_>) -> Result<bool> {
        Ok(self.is_direct(&data) && data.bytes()? > self.engine.eager_bytes()?)
    }

    /// Sends a message that can leave at once or with the next packet; its memory may then be reused.
    ///
    /// # Errors
    /// Fails if the job is over.
    #[inline(always)]
    pub fn post(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Started> {
        if !data.of.is_contiguous() || self.is_copied_by_receiver(data)? {
            return Ok(Started::Busy);
        }
        let bytes = data.raw.bytes(0, data.bytes()?);
        let (lane, flow) = self.flow_of(to.tag);
        let (to, tag) = (to.rank, to.tag);
        lane.post(Envelope { to, flow, tag, mode, coalesce: true }, bytes).map_err(|error| (*error).into())
    }

    /// Posts a short contiguous message in standard mode after the engine's short path refused it
    /// ([`Comm::post`]).
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn post_refused(&self, to: Target, data: Data<'_>) -> Result<Started> {
        let bytes = data.raw.bytes(0, data.bytes()?);
        let (lane, flow) = self.flow_of(to.tag);
        let envelope = Envelope { coalesce: true, ..Envelope::new(to.rank, flow, to.tag) };
        lane.post_refused(envelope, bytes).map_err(|error| (*error).into())
    }

    /// Starts a send. Returns `None` if the message has left.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn start_send(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Option<Pending>> {
        let posted = self.post(to, mode, data)?;
        self.start_posted(to, mode, data, posted)
    }

    /// Starts a send of a message for [`Comm::post_refused`].
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn start_refused(&self, to: Target, data: Data<'_>) -> Result<Option<Pending>> {
        let posted = self.post_refused(to, data)?;
        self.start_posted(to, Mode::Standard, data, posted)
    }

    /// Continues the send of a message after [`Comm::post`].
    #[inline(always)]
    fn start_posted(
        &self,
        to: Target,
        mode: Mode,
        data: Data<'_>,
        posted: Started,
    ) -> Result<Option<Pending>> {
        match posted {
            Started::Done => Ok(None),
            Started::Posted(pending) => Ok(Some(pending)),
            Started::Busy => self.isend_lent(to, mode, data).map(Some),
        }
    }

    /// Returns the request of a started receive.
    pub fn receiving(self: &Arc<Self>, pending: Pending) -> Request {
        Request::receive(self.clone(), pending)
    }

    /// Returns the request of a started send.
    pub fn sending(self: &Arc<Self>, pending: Pending) -> Request {
        Request::send(self.clone(), pending)
    }

    /// Starts a send from the program's memory, which is lent.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn isend_lent(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Pending> {
        data.bytes()?;
        let (lane, flow) = self.flow_of(to.tag);
        let started = lane.isend(to.rank, flow, to.tag, mode, self.lend(data));
        Ok(started.map_err(|refused| refused.0)?)
    }

    /// Starts a receive.
    ///
    /// # Errors
    /// Fails if the job is over.
    pub fn irecv(self: &Arc<Self>, from: From, data: DataMut<'_>) -> Result<Request> {
        Ok(self.receiving(self.start_receive(from, data)?))
    }

    /// Starts a receive; returns the engine's handle of it.
    ///
    /// # Errors
    /// Fails if the job is over.
    #[inline(always)]
    pub fn start_receive(&self, from: From, data: DataMut<'_>) -> Result<Pending> {
        data.bytes()?;
        let (lane, flow) = self.flow_for(from);
        let started = lane.irecv(flow, from.want(), self.lend_mut(data));
        started.map_err(|refused| refused.0.into())
    }
}
