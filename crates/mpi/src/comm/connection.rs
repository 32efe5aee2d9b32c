//! What a communicator connects: the worlds of its members (MPI 5.0, §11.10.4). The launcher ends worlds that are connected together.
//!
//! Owns whether this communicator counts. One that is freed counts on until the end of the process, as the standard says; one that is
//! disconnected, or that an object of the library had for itself, does not.

use canele_engine::{Engine, Rank};
use canele_sys::atomic::{AtomicBool, Ordering};

use crate::Result;

/// The connection of this process with the other worlds of a communicator.
#[derive(Default)]
pub(super) struct Connection {
    worlds: Vec<u32>,
    counts: AtomicBool,
}

impl Connection {
    /// Connects this process with the worlds of these ranks.
    pub fn new(engine: &Engine, ranks: impl Iterator<Item = Rank>) -> Result<Self> {
        let own = engine.world();
        let mut others = ranks.filter(|rank| !own.contains(&rank.0)).peekable();
        if others.peek().is_none() {
            return Ok(Self::default());
        }
        let worlds = engine.connect_worlds(others)?;
        Ok(Self { worlds, counts: AtomicBool::new(true) })
    }

    /// Disconnects, in agreement with the launcher: whatever fails from now on does not concern the other worlds, if nothing else connects
    /// them.
    pub fn end(&self, engine: &Engine) -> Result<()> {
        if self.take() && engine.disconnect_worlds(&self.worlds)? {
            // The launcher answers in order: it has heard of the end before this.
            engine.lookup("")?;
        }
        Ok(())
    }

    /// Connects again what could not be parted.
    pub fn renew(&self, engine: &Engine) -> Result<()> {
        if !self.worlds.is_empty() && !self.counts.swap(true, Ordering::Relaxed) {
            engine.connect_worlds(self.worlds.iter().copied().map(Rank))?;
        }
        Ok(())
    }

    /// Counts on after the end of the communicator.
    pub fn keep(&self) {
        self.take();
    }

    /// Disconnects at the end of the communicator.
    pub fn drop_now(&self, engine: &Engine) {
        if self.take() {
            // After the end of the job nothing is left to be told.
            let _ = engine.disconnect_worlds(&self.worlds);
        }
    }

    /// Returns true the first time, if there is anything to disconnect. Relaxed, here and above: a flag on its own, and one thread ends a
    /// communicator.
    fn take(&self) -> bool {
        !self.worlds.is_empty() && self.counts.swap(false, Ordering::Relaxed)
    }
}
