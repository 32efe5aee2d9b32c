//! Connections of communicators between worlds (MPI 5.0, §11.10.4). The launcher ends connected worlds
//! together.
//!
//! This module owns the connection of a communicator. After a free the connection stays until the end of the
//! process, as the standard requires. A communicator that is disconnected, or that the library used
//! internally, ends its connection.

use canele_engine::{Engine, Rank};
use canele_sys::atomic::{AtomicBool, Ordering};

use crate::Result;

/// The connection of this process to the other worlds of a communicator.
#[derive(Default)]
pub(super) struct Connection {
    worlds: Vec<u32>,
    counts: AtomicBool,
}

impl Connection {
    /// Connects this process to the worlds of these ranks.
    pub fn new(engine: &Engine, ranks: impl Iterator<Item = Rank>) -> Result<Self> {
        let own = engine.world();
        let mut others = ranks.filter(|rank| !own.contains(&rank.0)).peekable();
        if others.peek().is_none() {
            return Ok(Self::default());
        }
        let worlds = engine.connect_worlds(others)?;
        Ok(Self { worlds, counts: AtomicBool::new(true) })
    }

    /// Disconnects and waits for the launcher. Later failures do not affect the other worlds, if no other
    /// connection remains.
    pub fn end(&self, engine: &Engine) -> Result<()> {
        if self.take() && engine.disconnect_worlds(&self.worlds)? {
            // The launcher answers in order, so it has processed the disconnection before this answer.
            engine.lookup("")?;
        }
        Ok(())
    }

    /// Restores a connection after a failed disconnection.
    pub fn renew(&self, engine: &Engine) -> Result<()> {
        if !self.worlds.is_empty() && !self.counts.swap(true, Ordering::Relaxed) {
            engine.connect_worlds(self.worlds.iter().copied().map(Rank))?;
        }
        Ok(())
    }

    /// Keeps the connection beyond the end of the communicator.
    pub fn keep(&self) {
        self.take();
    }

    /// Disconnects at the end of the communicator.
    pub fn drop_now(&self, engine: &Engine) {
        if self.take() {
            // This fails only after the end of the job.
            let _ = engine.disconnect_worlds(&self.worlds);
        }
    }

    /// Returns true at the first call, if there is a connection. Relaxed, here and above: the flag orders no
    /// other memory, and one thread ends a communicator.
    fn take(&self) -> bool {
        !self.worlds.is_empty() && self.counts.swap(false, Ordering::Relaxed)
    }
}
