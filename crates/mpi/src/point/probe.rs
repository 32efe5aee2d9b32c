//! Probes: finding the message that a receive would get.

use std::sync::{Arc, Mutex, PoisonError};

use canele_engine::Matched;
use canele_sys::atomic::Ordering;

use super::From;
use crate::comm::Comm;
use crate::data::DataMut;
use crate::request::Request;
use crate::status::Status;
use crate::{Class, Error, Result};

/// A matched message, to be received through this handle (MPI 5.0, §3.8.2).
pub struct Message {
    comm: Arc<Comm>,
    matched: Mutex<Option<Matched>>,
}

impl Comm {
    /// Waits until a receive would get a message; returns its status.
    ///
    /// # Errors
    /// Fails if the sender has finished or died.
    pub fn probe(&self, from: From) -> Result<Status> {
        let (lane, flow) = self.flow_for(from);
        Ok(self.status(lane.probe(flow, from.want(), None)?))
    }

    /// Returns the status of the message that a receive would get now, if any.
    ///
    /// # Errors
    /// Fails if there is no message and the sender has finished or died, or if the job is over.
    pub fn iprobe(&self, from: From) -> Result<Option<Status>> {
        let (lane, flow) = self.flow_for(from);
        let found = lane.iprobe(flow, from.want())?;
        Ok(self.unless_in_vain(found, from)?.map(|status| self.status(status)))
    }

    /// Waits for a message and matches it.
    ///
    /// # Errors
    /// Fails like [`Comm::probe`].
    pub fn mprobe(self: &Arc<Self>, from: From) -> Result<(Message, Status)> {
        let (lane, flow) = self.flow_for(from);
        Ok(self.message(lane.mprobe(flow, from.want(), None)?))
    }

    /// Matches a message, if there is one now.
    ///
    /// # Errors
    /// Fails like [`Comm::iprobe`].
    pub fn improbe(self: &Arc<Self>, from: From) -> Result<Option<(Message, Status)>> {
        let (lane, flow) = self.flow_for(from);
        let found = lane.improbe(flow, from.want())?;
        Ok(self.unless_in_vain(found, from)?.map(|matched| self.message(matched)))
    }

    /// Returns the result of a probe, or an error if there is none and the sender is dead. Otherwise a
    /// program that polls would never learn of the death.
    fn unless_in_vain<T>(&self, found: Option<T>, from: From) -> Result<Option<T>> {
        // Relaxed: the engine then tells which rank died.
        if found.is_some() || !self.shared.any_failure.load(Ordering::Relaxed) {
            return Ok(found);
        }
        let (lane, flow) = self.flow_for(from);
        match lane.why_in_vain(flow, from.want())? {
            Some(failure) => Err(canele_engine::Error::from(failure).into()),
            None => Ok(None),
        }
    }

    fn message(self: &Arc<Self>, matched: Matched) -> (Message, Status) {
        let status = self.status(matched.status);
        (Message { comm: self.clone(), matched: Mutex::new(Some(matched)) }, status)
    }
}

impl Message {
    /// Returns the communicator on which the message arrived.
    pub fn comm(&self) -> &Arc<Comm> {
        &self.comm
    }

    /// Starts to receive the message.
    ///
    /// # Errors
    /// Fails if it was received before or the job is over.
    pub fn irecv(&self, data: DataMut<'_>) -> Result<Request> {
        data.bytes()?;
        let matched = self.matched.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(matched) = matched else {
            return Err(Error::new(Class::Request, "the message has been received already"));
        };
        let (lane, _) = self.comm.flow_of(matched.status.tag);
        let pending = lane.irecv_matched(matched, self.comm.lend_mut(data)).map_err(|refused| refused.0)?;
        Ok(Request::receive(self.comm.clone(), pending))
    }
}
