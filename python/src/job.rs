//! The job: the begin and the end of a program's communication.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use canele::{Rank, Region as Memory};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::channel::Channel;
use crate::context::Context;
use crate::errors::{raise, raise_text};
use crate::flow::Flow;
use crate::mailbox::{Mailbox, MailboxSender};
use crate::region::Region;
use crate::remote_region::RemoteRegion;
use crate::status::{Notice, rank as checked};
use crate::wait::{deadline, fail_if_in_vain, in_portions};

/// The processes that `canele run` started together, as one of them sees them. A process without a launcher is a job of one rank.
///
/// A program makes its Job once. It finishes the job at the end of a `with` block, or by finish(). A rank that exits without that has
/// failed, and so has a rank whose `with` block ends with an exception.
///
///     import canele
///     with canele.Job() as job:
///         print(job.rank, "of", job.size)
#[pyclass(frozen, module = "canele")]
pub struct Job {
    job: Mutex<Option<canele::Job>>,
    context: Arc<Context>,
    world: Py<Flow>,
}

#[pymethods]
impl Job {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Self> {
        let job = py.detach(canele::Job::start).map_err(|error| raise(py, error))?;
        let context = Arc::new(Context::new(job.endpoint().clone()));
        let world = Py::new(py, Flow::new(context.clone(), job.world()))?;
        Ok(Self { job: Mutex::new(Some(job)), context, world })
    }

    /// The number of this process, from 0 to size - 1.
    #[getter]
    fn rank(&self) -> u32 {
        self.context.endpoint.rank().0
    }

    /// The number of ranks.
    #[getter]
    fn size(&self) -> u32 {
        self.context.endpoint.size()
    }

    /// The number of this rank among the ranks of its host.
    #[getter]
    fn local_rank(&self) -> u32 {
        self.context.engine.place().local_rank
    }

    /// The number of ranks of this host.
    #[getter]
    fn local_size(&self) -> u32 {
        self.context.engine.place().local_size
    }

    /// The number of hosts that had ranks of the job at its start.
    #[getter]
    fn hosts(&self) -> usize {
        self.context.engine.job().hosts.iter().filter(|host| host.ranks > 0).count()
    }

    /// The flow that all ranks share from the start.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<Flow> {
        self.world.clone_ref(py)
    }

    /// Allocates `bytes` bytes of memory that other ranks may read and write. The memory is zeroed.
    ///
    /// Raises OutOfMemory, whose text names the needed and the free memory.
    fn region(&self, py: Python<'_>, bytes: usize) -> PyResult<Region> {
        let region: Memory = self.context.endpoint.region(bytes).map_err(|error| raise(py, error))?;
        Ok(Region::new(self.context.clone(), region))
    }

    /// Finds the region that a rank publishes under `name`. Waits until it exists, at most `timeout` seconds.
    #[pyo3(signature = (name, timeout=None))]
    fn find_region(&self, py: Python<'_>, name: &str, timeout: Option<f64>) -> PyResult<RemoteRegion> {
        let endpoint = &self.context.endpoint;
        let attempt = |end| endpoint.find_region(name, left(end));
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(()))
            .map(|remote| RemoteRegion::new(self.context.clone(), remote))
    }

    /// Waits for the next notice of a peer's put_notify().
    #[pyo3(signature = (timeout=None))]
    fn wait_notice(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Notice> {
        let endpoint = &self.context.endpoint;
        if let Some(notice) = endpoint.try_notice().map_err(|error| raise(py, error))? {
            return Ok(notice.into());
        }
        let attempt = |end| endpoint.wait_notice(Some(left(end)));
        let notice =
            in_portions(py, deadline(timeout)?, attempt, |py| fail_if_in_vain(py, &self.context, true));
        notice.map(Notice::from)
    }

    /// Returns the next notice, or None if none has arrived.
    fn try_notice(&self, py: Python<'_>) -> PyResult<Option<Notice>> {
        Ok(self.context.endpoint.try_notice().map_err(|error| raise(py, error))?.map(Notice::from))
    }

    /// Opens the channel `number` to a peer, which opens it with the same number. The call sends nothing.
    fn channel(&self, py: Python<'_>, peer: i64, number: u32) -> PyResult<Channel> {
        let peer: Rank = checked(peer)?;
        let channel = self.context.endpoint.channel(peer, number).map_err(|error| raise(py, error))?;
        Ok(Channel::new(self.context.clone(), channel))
    }

    /// Creates a mailbox with room for `depth` messages. Any rank finds it by its name.
    ///
    /// Raises NameTaken and OutOfMemory.
    fn create_mailbox(&self, py: Python<'_>, name: &str, depth: usize) -> PyResult<Mailbox> {
        let endpoint = &self.context.endpoint;
        let mailbox = py.detach(|| endpoint.create_mailbox(name, depth)).map_err(|error| raise(py, error))?;
        Ok(Mailbox::new(self.context.clone(), mailbox))
    }

    /// Finds the mailbox that a rank, also this one, has created or will create. Waits for it at most `timeout` seconds.
    #[pyo3(signature = (name, timeout=None))]
    fn find_mailbox(&self, py: Python<'_>, name: &str, timeout: Option<f64>) -> PyResult<MailboxSender> {
        let endpoint = &self.context.endpoint;
        let attempt = |end| endpoint.find_mailbox(name, left(end));
        in_portions(py, deadline(timeout)?, attempt, |_| Ok(())).map(MailboxSender::new)
    }

    /// Returns the counters of this rank by name. `canele info` explains the names.
    fn counters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counters = PyDict::new(py);
        for (row, count) in self.context.endpoint.counters().map_err(|error| raise(py, error))?.iter() {
            counters.set_item(row.name, count)?;
        }
        Ok(counters)
    }

    /// Sets the built-in strategy that puts waiting messages into packets: aggregate, fifo, priority or split.
    fn set_strategy(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        match &*job {
            Some(job) => job.set_strategy(name).map_err(|error| raise(py, error)),
            None => Err(raise(py, canele::Error::Finished)),
        }
    }

    /// Finishes this rank's part of the job. All messages sent so far will arrive.
    ///
    /// Raises LauncherError if the launcher is gone. Raises Finished if finish() was called before.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner).take();
        let job = job.ok_or_else(|| raise(py, canele::Error::Finished))?;
        let context = &*self.context;
        // Sends that no thread waits for leave first; such receives were withdrawn.
        in_portions(
            py,
            None,
            |end| match (context.sweep()?, Instant::now() >= end) {
                (0, _) => Ok(()),
                (left, true) => Err(canele::Error::Deadline(format!("{left} operations"))),
                (_, false) => context.engine.poll().and_then(|_| {
                    std::thread::yield_now();
                    Err(canele::Error::Deadline(String::new()))
                }),
            },
            |_| Ok(()),
        )?;
        py.detach(|| job.finish()).map_err(|error| raise(py, error))
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _value, _traceback))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: Option<Bound<'_, PyAny>>,
        _value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let is_started = self.job.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        match kind {
            None if is_started => self.finish(py),
            _ => Ok(()),
        }
    }

    fn __repr__(&self) -> String {
        format!("<canele.Job: rank {} of {}>", self.rank(), self.size())
    }
}

/// Makes the error of an object that was closed.
pub fn closed(py: Python<'_>, what: &str) -> PyErr {
    raise_text(py, "Error", format!("this {what} was closed: create or find another one"))
}

/// Returns the time left until a moment.
pub fn left(end: Instant) -> std::time::Duration {
    end.saturating_duration_since(Instant::now())
}
