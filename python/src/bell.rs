//! Bells of event loops: a request that may have ended wakes the tasks that await it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// A descriptor that becomes readable when a request may have ended. It belongs to one event loop.
#[pyclass(frozen, module = "canele._native")]
pub struct Bell {
    ringer: Arc<Ringer>,
    pub waker: Waker,
}

/// The bells of the event loops whose tasks await a request.
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

/// The descriptor of a bell. Requests keep it open.
struct Ringer(OwnedFd);

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The write fails only after 2⁶⁴ wakes without a read; then the descriptor is readable anyway.
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

    /// Returns the descriptor.
    fn fileno(&self) -> i32 {
        self.ringer.0.as_raw_fd()
    }

    /// Makes the descriptor unreadable until the bell rings again.
    fn silence(&self) {
        // The read fails if the bell has not rung.
        let _ = rustix::io::read(&self.ringer.0, &mut [0; 8]);
    }
}
