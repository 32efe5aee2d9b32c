//! How sends begin: those that could leave at once have ended, the others are under way with what they read.

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
    /// It has left.
    Ended(Status),
    /// It is on its way.
    UnderWay(Pending, Lent),
}

impl Begun {
    /// Waits until what is sent may be changed.
    pub fn finish(self, py: Python<'_>, context: &Context, deadline: Option<Instant>) -> PyResult<()> {
        match self {
            Self::Ended(_) => Ok(()),
            Self::UnderWay(pending, lent) => {
                wait::finish(py, context, pending, lent, false, deadline).map(drop)
            }
        }
    }

    /// The request that stands for it.
    pub fn into_request(self, context: &Arc<Context>, members: &Members) -> Request {
        match self {
            Self::Ended(status) => Request::ended(context, Kind::Send, Some(members.status(status))),
            Self::UnderWay(pending, lent) => {
                Request::under_way(context, Kind::Send, pending, lent).on(members)
            }
        }
    }
}

/// Sends bytes that need not stay, if the message can leave at once or with the next packet.
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

/// Begins to send memory on a flow, which is that of the envelope.
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
