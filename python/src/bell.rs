//! Bells of event loops: how a request that may have ended wakes the tasks that await it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// A descriptor that becomes readable when a request may have ended; of one event loop.
#[pyclass(frozen, module = "canele._native")]
pub struct Bell {
    ringer: Arc<Ringer>,
    pub waker: Waker,
}

/// The bells of the event loops that a request has tasks in.
#[derive(Default)]
pub struct Bells(Mutex<Vec<Waker>>);

impl Bells {
    pub fn add(&self, waker: &Waker) {
        let mut wakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

impl Wake for Bells {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake_by_ref);
    }
}

/// Its descriptor, which requests keep open.
struct Ringer(OwnedFd);

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // It is full only if it was not read for 2⁶⁴ wakes: then it is readable anyway.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

#[pymethods]
impl Bell {
    #[new]
    fn new() -> PyResult<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let fd = fd.map_err(|errno| {
            PyOSError::new_err((errno.raw_os_error(), "no descriptor for awaited requests"))
        })?;
        let ringer = Arc::new(Ringer(fd));
        Ok(Self { waker: ringer.clone().into(), ringer })
    }

    /// The descriptor.
    fn fileno(&self) -> i32 {
        self.ringer.0.as_raw_fd()
    }

    /// Makes it unreadable until it rings again.
    fn silence(&self) {
        // The read fails if it has not rung.
        let _ = rustix::io::read(&self.ringer.0, &mut [0; 8]);
    }
}
