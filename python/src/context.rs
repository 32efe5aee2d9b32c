//! The state that all objects of a job share, and the operations that no thread waits for any more.
//!
//! Owns the memory of operations whose Python object is gone, or whose wait was interrupted, until they have
//! ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele::{Endpoint, Error};
use canele_engine::{Engine, Pending};

use crate::buffer::Buffer;
use crate::object::Frame;

/// The flow of an operation under way, and the memory that it reads or writes.
#[expect(dead_code, reason = "they are kept, not used, until the operation has ended")]
pub struct Lent {
    /// The flow stays open until the operation has ended.
    flow: canele::Flow,
    /// Memory of Python objects.
    buffers: Vec<Buffer>,
    /// An object that is sent in parts.
    frame: Option<Box<Frame>>,
}

impl Lent {
    pub fn new(flow: &canele::Flow, buffers: impl IntoIterator<Item = Buffer>) -> Self {
        Self { flow: flow.clone(), buffers: buffers.into_iter().collect(), frame: None }
    }

    pub fn of_frame(flow: &canele::Flow, frame: Box<Frame>) -> Self {
        Self { flow: flow.clone(), buffers: Vec::new(), frame: Some(frame) }
    }
}

/// The state of a job that all its Python objects share.
pub struct Context {
    pub endpoint: Endpoint,
    pub engine: Arc<Engine>,
    /// Operations that no thread waits for.
    left: Mutex<Vec<(Pending, Lent)>>,
}

impl Context {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { engine: endpoint.engine().clone(), endpoint, left: Mutex::default() }
    }

    fn left(&self) -> MutexGuard<'_, Vec<(Pending, Lent)>> {
        // Each entry is valid by itself, also after a panic.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Abandons an operation. A receive without a message is withdrawn; other operations keep their memory
    /// until they end.
    pub fn leave(&self, pending: Pending, lent: Lent, withdraw: bool) {
        if withdraw && self.engine.cancel(pending).is_err() {
            // In a forked child the parent's operation uses the memory, too: it is never freed.
            std::mem::forget(lent);
            return;
        }
        self.left().push((pending, lent));
        let _ = self.sweep();
    }

    /// Frees the memory of abandoned operations that have ended. Returns the number of the others.
    pub fn sweep(&self) -> Result<usize, Error> {
        let mut left = self.left();
        if left.is_empty() {
            return Ok(0);
        }
        let ended = self.engine.completions(|completions| {
            left.extract_if(.., |(pending, _)| completions.take(*pending).is_some()).collect::<Vec<_>>()
        })?;
        let count = left.len();
        // Objects may run code of the program when they are dropped.
        drop(left);
        drop(ended);
        Ok(count)
    }
}
