//! What all objects of a job share, and the operations that no thread waits for any more.
//!
//! Owns the memory of operations whose Python object is gone, or whose wait was interrupted, until they have ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use canele::{Endpoint, Error};
use canele_engine::{Engine, Pending};

use crate::buffer::Buffer;
use crate::object::Frame;

/// What an operation under way is on, reads or writes.
#[expect(dead_code, reason = "they are kept, not used, until the operation has ended")]
pub struct Lent {
    /// Not given back before.
    flow: canele::Flow,
    /// Memory of Python's objects.
    buffers: Vec<Buffer>,
    /// An object that is sent, in parts.
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

/// The job as its objects see it.
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
        // A list of values that are whole in themselves.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives up an operation: a receive without a message is withdrawn, what goes on keeps its memory.
    pub fn leave(&self, pending: Pending, lent: Lent, withdraw: bool) {
        if withdraw && self.engine.cancel(pending).is_err() {
            // In a forked child the memory is the parent's operation's, too: it is never freed.
            std::mem::forget(lent);
            return;
        }
        self.left().push((pending, lent));
        let _ = self.sweep();
    }

    /// Frees the memory of those that have ended; says how many have not.
    pub fn sweep(&self) -> Result<usize, Error> {
        let mut left = self.left();
        if left.is_empty() {
            return Ok(0);
        }
        let ended = self.engine.completions(|completions| {
            left.extract_if(.., |(pending, _)| completions.take(*pending).is_some()).collect::<Vec<_>>()
        })?;
        let count = left.len();
        // Their objects may run code of the program when they are let go.
        drop(left);
        drop(ended);
        Ok(count)
    }
}
