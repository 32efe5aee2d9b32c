//! Mailboxes: any rank posts messages, and the owner retrieves them.

use std::sync::{Arc, Mutex, PoisonError};

use canele::{Error, PostError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::errors::raise;
use crate::job::{closed, left};
use crate::object::{self, Frame};
use crate::status::Status;
use crate::wait::{deadline, fail_if_in_vain, in_portions};

/// A mailbox of this rank, which all its threads may use; made by Job.create_mailbox().
///
/// If the owner closes the mailbox, the messages in it are lost, and ranks that post get MailboxClosed.
#[pyclass(frozen, module = "canele")]
pub struct Mailbox {
    context: Arc<Context>,
    mailbox: Mutex<Option<Arc<canele::Mailbox>>>,
}

impl Mailbox {
    pub fn new(context: Arc<Context>, mailbox: canele::Mailbox) -> Self {
        Self { context, mailbox: Mutex::new(Some(Arc::new(mailbox))) }
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<canele::Mailbox>> {
        let mailbox = self.mailbox.lock().unwrap_or_else(PoisonError::into_inner).clone();
        mailbox.ok_or_else(|| closed(py, "mailbox"))
    }
}

#[pymethods]
impl Mailbox {
    /// Takes the next message out of the mailbox. Waits for one, at most `timeout` seconds.
    ///
    /// Raises PeerFailed once for each rank that died. Raises NoSenderLeft and Deadline.
    #[pyo3(signature = (timeout=None))]
    fn retrieve(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Message> {
        let mailbox = self.open(py)?;
        if let Some(message) = mailbox.try_retrieve().map_err(|error| raise(py, error))? {
            return Message::new(py, &message);
        }
        let attempt = |end| mailbox.retrieve_deadline(left(end));
        let message =
            in_portions(py, deadline(timeout)?, attempt, |py| fail_if_in_vain(py, &self.context, true))?;
        Message::new(py, &message)
    }

    /// Takes the next message out of the mailbox. Returns None if there is none.
    fn try_retrieve(&self, py: Python<'_>) -> PyResult<Option<Message>> {
        let message = self.open(py)?.try_retrieve().map_err(|error| raise(py, error))?;
        message.map(|message| Message::new(py, &message)).transpose()
    }

    /// Closes the mailbox.
    fn close(&self) {
        drop(self.mailbox.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        self.close();
    }
}

/// A message out of a mailbox.
#[pyclass(frozen, module = "canele")]
pub struct Message {
    /// The rank that posted the message.
    #[pyo3(get)]
    sender: u32,
    /// The bytes of the message.
    #[pyo3(get)]
    data: Py<PyBytes>,
}

impl Message {
    fn new(py: Python<'_>, message: &canele::Message) -> PyResult<Self> {
        let sender = message.sender().map_or(0, |rank| rank.0);
        Ok(Self { sender, data: PyBytes::new(py, &message.bytes()).unbind() })
    }
}

#[pymethods]
impl Message {
    /// Returns the object that the sender gave to post_object().
    ///
    /// Raises Error if the sender posted bytes.
    fn object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let data = self.data.bind(py);
        // The bytes are copied, so that arrays in the object may be written.
        let bytes = pyo3::types::PyByteArray::new(py, data.as_bytes());
        let status = canele::Status {
            source: canele::Rank(self.sender),
            tag: canele::Tag(0),
            bytes: data.as_bytes().len(),
        };
        object::load(bytes.as_any(), Status::from(status))
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<canele.Message of {} bytes from rank {}>", self.data.bind(py).as_bytes().len(), self.sender)
    }
}

/// The posting end of a mailbox of any rank, which all threads may use; made by Job.find_mailbox().
#[pyclass(frozen, module = "canele")]
pub struct MailboxSender(canele::MailboxSender);

impl MailboxSender {
    pub fn new(sender: canele::MailboxSender) -> Self {
        Self(sender)
    }

    fn post_bytes(&self, py: Python<'_>, bytes: &[u8], timeout: Option<f64>) -> PyResult<()> {
        let mut message = Some(packed(bytes));
        let attempt = |end| {
            let Some(packed) = message.take() else { return Ok(()) };
            match self.0.post_deadline(packed, left(end)) {
                Err(PostError::Full(back)) => {
                    message = Some(back);
                    Err(Error::Deadline(format!("room in a mailbox of {}", self.0.owner())))
                }
                Err(PostError::Failed(error)) => Err(error),
                Ok(()) => Ok(()),
            }
        };
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(()))
    }
}

/// Returns a message with these bytes.
fn packed(bytes: &[u8]) -> canele::Message {
    let mut message = canele::Message::with_capacity(bytes.len());
    message.pack(bytes);
    message
}

#[pymethods]
impl MailboxSender {
    /// The rank that owns the mailbox.
    #[getter]
    fn owner(&self) -> u32 {
        self.0.owner().0
    }

    /// Posts a copy of `data`. Waits while the mailbox is full, at most `timeout` seconds.
    ///
    /// Raises MailboxClosed, PeerFailed, PeerFinished and OutOfMemory. Raises Deadline after `timeout` seconds; then nothing was posted.
    #[pyo3(signature = (data, timeout=None))]
    fn post(&self, py: Python<'_>, data: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        self.post_bytes(py, buffer.bytes(), timeout)
    }

    /// Posts any picklable object, as post() does.
    #[pyo3(signature = (obj, timeout=None))]
    fn post_object(&self, py: Python<'_>, obj: &Bound<'_, PyAny>, timeout: Option<f64>) -> PyResult<()> {
        let frame = Frame::of(obj)?;
        self.post_bytes(py, &frame.to_bytes(), timeout)
    }

    /// Posts a copy of `data` if the mailbox is not full. Returns True if it did.
    fn try_post(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<bool> {
        let buffer = Buffer::of(data)?;
        match self.0.try_post(packed(buffer.bytes())) {
            Ok(()) => Ok(true),
            Err(PostError::Full(_)) => Ok(false),
            Err(PostError::Failed(error)) => Err(raise(py, error)),
        }
    }
}
