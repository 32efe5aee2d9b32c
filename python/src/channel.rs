//! Virtual channels between two ranks.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::job::left;
use crate::wait::{deadline, in_portions};

/// One end of a channel to a peer, made by Job.channel(). A rank receives the messages of a channel in the order in which the peer sent
/// them.
#[pyclass(frozen, module = "canele")]
pub struct Channel {
    _context: Arc<Context>,
    channel: canele::Channel,
}

impl Channel {
    pub fn new(context: Arc<Context>, channel: canele::Channel) -> Self {
        Self { _context: context, channel }
    }
}

/// Returns views of the memory of several objects.
fn list_of(
    data: &Bound<'_, PyAny>,
    view: fn(&Bound<'_, PyAny>) -> PyResult<Buffer>,
) -> PyResult<Vec<Buffer>> {
    data.try_iter()?.map(|item| view(&item?)).collect()
}

#[pymethods]
impl Channel {
    /// The rank at the other end.
    #[getter]
    fn peer(&self) -> u32 {
        self.channel.peer().0
    }

    /// The number of the channel.
    #[getter]
    fn number(&self) -> u32 {
        self.channel.number()
    }

    /// Sends `data`. The caller may change `data` after the return.
    ///
    /// Raises PeerFailed and PeerFinished. Raises Deadline after `timeout` seconds; then nothing was sent.
    #[pyo3(signature = (data, timeout=None))]
    fn send(&self, py: Python<'_>, data: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        let attempt = |end| self.channel.send_deadline(buffer.bytes(), left(end));
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(()))
    }

    /// Receives the next message into writable memory `data`. Returns its length in bytes.
    ///
    /// Raises Truncated if the message is longer than `data`; the message is lost then. Raises PeerFailed, PeerFinished and Deadline.
    #[pyo3(signature = (data, timeout=None))]
    fn recv(&self, py: Python<'_>, data: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<usize> {
        let mut buffer = Buffer::to_fill(data)?;
        let attempt = |end| self.channel.recv_deadline(buffer.bytes_mut(), left(end));
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(()))
    }

    /// Sends the memory of several objects as one message.
    #[pyo3(signature = (list, timeout=None))]
    fn send_list(&self, py: Python<'_>, list: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let buffers = list_of(list, Buffer::of)?;
        let parts: Vec<&[u8]> = buffers.iter().map(Buffer::bytes).collect();
        in_portions(
            py,
            deadline(timeout)?,
            |end| self.channel.send_list_deadline(&parts, left(end)),
            |_| Ok(()),
        )
    }

    /// Receives one message into the memory of several objects, one after the other. Returns its length in bytes.
    #[pyo3(signature = (list, timeout=None))]
    fn recv_list(&self, py: Python<'_>, list: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<usize> {
        let mut buffers = list_of(list, Buffer::to_fill)?;
        let attempt = |end| {
            let parts = buffers.iter_mut().map(Buffer::bytes_mut).collect();
            self.channel.recv_list_deadline(parts, left(end))
        };
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(()))
    }

    fn __repr__(&self) -> String {
        format!("<canele.Channel {} to rank {}>", self.number(), self.peer())
    }
}
