//! The beginning of sends. A send that can leave at once has ended; any other is under way, and keeps the
//! memory that it reads.

use std::sync::Arc;
use std::time::Instant;

use canele::Status;
use canele_engine::{Engine, Envelope, Mode, Pending, Started};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::{Context, Lent};
use crate::errors::raise;
use crate::members::Members;
use crate::request::{Kind, Request};
use crate::wait;

/// A send that has begun.
pub enum Begun {
    /// The message has left.
    Ended(Status),
    /// The send is under way.
    UnderWay(Pending, Lent),
}

impl Begun {
    /// Waits until the sent memory may be changed.
    pub fn finish(self, py: Python<'_>, context: &Context, deadline: Option<Instant>) -> PyResult<()> {
        match self {
            Self::Ended(_) => Ok(()),
            Self::UnderWay(pending, lent) => {
                wait::finish(py, context, pending, lent, false, deadline).map(drop)
            }
        }
    }

    /// Returns a request for the send.
    pub fn into_request(self, context: &Arc<Context>, members: &Members) -> Request {
        match self {
            Self::Ended(status) => Request::ended(context, Kind::Send, Some(members.status(status))),
            Self::UnderWay(pending, lent) => {
                Request::under_way(context, Kind::Send, pending, lent).on(members)
            }
        }
    }
}

/// Sends bytes that need not stay valid, if the message can leave at once or with the next packet.
pub fn post(
    py: Python<'_>,
    engine: &Engine,
    flow: &canele::Flow,
    envelope: Envelope,
    bytes: &[u8],
) -> PyResult<Option<Begun>> {
    let Envelope { to, tag, .. } = envelope;
    Ok(match engine.post(envelope, bytes).map_err(|error| raise(py, *error))? {
        Started::Done => Some(Begun::Ended(Status { source: to, tag, bytes: bytes.len() })),
        Started::Posted(pending) => Some(Begun::UnderWay(pending, Lent::new(flow, []))),
        Started::Busy => None,
    })
}

/// Begins to send memory on the flow of the envelope.
pub fn begin(py: Python<'_>, flow: &canele::Flow, envelope: Envelope, buffer: Buffer) -> PyResult<Begun> {
    let Envelope { to, tag, mode, .. } = envelope;
    let (engine, id) = flow.on_lane();
    if mode == Mode::Standard
        && let Some(begun) = post(py, engine, flow, envelope, buffer.bytes())?
    {
        return Ok(begun);
    }
    let pending = engine.isend(to, id, tag, mode, buffer.raw().lend(0, buffer.len()));
    let pending = pending.map_err(|refused| raise(py, refused.0))?;
    Ok(Begun::UnderWay(pending, Lent::new(flow, [buffer])))
}
