//! Calls that send and receive at the same time.

use pyo3::prelude::*;

use crate::flow::Flow;
use crate::wait::deadline;

#[pymethods]
impl Flow {
    /// Sends `data` to rank `to` with `send_tag`, and at the same time receives a message of `source` with `recv_tag` into writable memory
    /// `into`. All ranks of a ring may call it at once. Returns the Status of the received message.
    ///
    /// Raises the errors of send() and recv(). Raises Deadline after `timeout` seconds. The receive is withdrawn then, but the sent message
    /// may still arrive.
    #[pyo3(signature = (to, send_tag, data, source, recv_tag, into, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "both halves of an exchange")]
    fn sendrecv(
        &self,
        py: Python<'_>,
        to: i64,
        send_tag: i64,
        data: &Bound<'_, PyAny>,
        source: i64,
        recv_tag: i64,
        into: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Py<PyAny>> {
        let deadline = deadline(timeout)?;
        let receive = self.irecv(py, source, recv_tag, into)?;
        let send = self.isend(py, to, send_tag, data)?;
        receive.block(py, deadline)?;
        send.block(py, deadline)?;
        send.result(py)?;
        receive.result(py)
    }

    /// Sends an object to rank `to` with `send_tag`, and at the same time receives one from `source` with `recv_tag`. Returns the received
    /// object.
    #[pyo3(signature = (to, send_tag, obj, source, recv_tag, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "both halves of an exchange")]
    fn sendrecv_object<'py>(
        &self,
        py: Python<'py>,
        to: i64,
        send_tag: i64,
        obj: &Bound<'py, PyAny>,
        source: i64,
        recv_tag: i64,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let deadline = deadline(timeout)?;
        let send = self.isend_object(py, to, send_tag, obj)?;
        let received = self.recv_until(py, (source, recv_tag), deadline)?;
        send.block(py, deadline)?;
        send.result(py)?;
        Ok(received)
    }
}
