//! Non-blocking messages.

use std::sync::Arc;

use canele_engine::{Envelope, Mode, Pending, Rank, Started, Tag};
use canele_mem::buffer::Readable;

use super::From;
use crate::Result;
use crate::comm::Comm;
use crate::data::{Data, DataMut};
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
    /// Whether its receiver takes it from where it lies.
    fn is_copied_by_receiver(&self, data: Data<'_>) -> Result<bool> {
        Ok(self.is_direct(&data) && data.bytes()? > self.engine.eager_bytes()?)
    }

    /// Sends what can go at once or with the next packet: its memory may be used again then.
    ///
    /// # Errors
    /// The job is over.
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

    /// As [`Comm::post`] in standard mode, of few bytes one after the other that the engine's short path has left.
    ///
    /// # Errors
    /// The job is over.
    pub fn post_refused(&self, to: Target, data: Data<'_>) -> Result<Started> {
        let bytes = data.raw.bytes(0, data.bytes()?);
        let (lane, flow) = self.flow_of(to.tag);
        let envelope = Envelope { coalesce: true, ..Envelope::new(to.rank, flow, to.tag) };
        lane.post_refused(envelope, bytes).map_err(|error| (*error).into())
    }

    /// Starts to send. `None`: it has left.
    ///
    /// # Errors
    /// The job is over.
    pub fn start_send(&self, to: Target, mode: Mode, data: Data<'_>) -> Result<Option<Pending>> {
        let posted = self.post(to, mode, data)?;
        self.start_posted(to, mode, data, posted)
    }

    /// As [`Comm::start_send`], of a message for [`Comm::post_refused`].
    ///
    /// # Errors
    /// The job is over.
    pub fn start_refused(&self, to: Target, data: Data<'_>) -> Result<Option<Pending>> {
        let posted = self.post_refused(to, data)?;
        self.start_posted(to, Mode::Standard, data, posted)
    }

    /// Goes on with a message that was posted.
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
        let (lane, flow) = self.flow_of(to.tag);
        let started = lane.isend(to.rank, flow, to.tag, mode, self.lend(data));
        Ok(started.map_err(|refused| refused.0)?)
    }

    /// Starts to receive.
    ///
    /// # Errors
    /// The job is over.
    pub fn irecv(self: &Arc<Self>, from: From, data: DataMut<'_>) -> Result<Request> {
        Ok(self.receiving(self.start_receive(from, data)?))
    }

    /// The same, as the engine calls it.
    ///
    /// # Errors
    /// The job is over.
    #[inline(always)]
    pub fn start_receive(&self, from: From, data: DataMut<'_>) -> Result<Pending> {
        data.bytes()?;
        let (lane, flow) = self.flow_for(from);
        let started = lane.irecv(flow, from.want(), self.lend_mut(data));
        started.map_err(|refused| refused.0.into())
    }
}
