//! Persistent requests: a send or a receive that is described once and started many times.
//!
//! Owns the description. Each start lends the object's memory anew, until that operation has ended. The
//! program may change the memory between operations.

use canele_engine::{Envelope, Mode, Want};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::flow::Flow;
use crate::request::{Kind, Request};
use crate::sending::{self, Begun};

/// The operation of a persistent request.
pub enum Template {
    /// Sends the memory of an object.
    Send(canele::Flow, Envelope, Py<PyAny>),
    /// Receives into the memory of an object.
    Receive(Py<Flow>, Want, Py<PyAny>),
}

impl Template {
    /// Starts the operation.
    pub fn start(&self, py: Python<'_>) -> PyResult<Begun> {
        match self {
            Self::Send(flow, envelope, data) => {
                sending::begin(py, flow, *envelope, Buffer::of(data.bind(py))?)
            }
            Self::Receive(flow, want, data) => {
                let (pending, lent) = flow.get().start_receive(py, *want, Buffer::to_fill(data.bind(py))?)?;
                Ok(Begun::UnderWay(pending, lent))
            }
        }
    }
}

#[pymethods]
impl Flow {
    /// Makes a persistent request that sends `data` to rank `to` each time its start() is called.
    ///
    /// Each start sends the bytes that `data` has then. The program must not change `data` between a start and the end of that send.
    fn send_init(&self, py: Python<'_>, to: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        drop(Buffer::of(data)?);
        let envelope = self.envelope(py, (to, tag), Mode::Standard, true)?;
        let template = Template::Send(self.flow.clone(), envelope, data.clone().unbind());
        Ok(Request::persistent(&self.context, Kind::Send, template).on(&self.members))
    }

    /// Makes a persistent request that receives a message of `source` with `tag` into writable memory `data` each time its start() is
    /// called.
    fn recv_init(slf: &Bound<'_, Self>, source: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        let (py, flow) = (slf.py(), slf.get());
        drop(Buffer::to_fill(data)?);
        let want = flow.members.want(py, source, tag)?;
        let template = Template::Receive(slf.clone().unbind(), want, data.clone().unbind());
        Ok(Request::persistent(&flow.context, Kind::of_receive(want), template).on(&flow.members))
    }
}
