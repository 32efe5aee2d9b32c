//! Messages that came without a descriptor, because this process could open no more. Owns what becomes of each kind: as little as can be fails.

use canele_control::ToLauncher;

use super::LocalRanks;

impl LocalRanks {
    /// Handles a message of rank `from` that came without one of its descriptors, for which this process has no room. A region that is
    /// not taken over is not found by its owner, who then gives it up; without a log a rank is not traced; ranks between which a ring is missing
    /// do not reach each other.
    ///
    /// # Errors
    /// As [`Self::handle`], for what the rank cannot do without.
    pub fn handle_truncated(&mut self, from: u32, message: ToLauncher) -> Result<Option<ToLauncher>, String> {
        match message {
            ToLauncher::Region { .. } | ToLauncher::Trace if self.of(from).initialised => Ok(None),
            ToLauncher::Ring { to } if self.takes_ring(from, to) => {
                if !self.is_released(to) {
                    self.part(from, to);
                }
                Ok(None)
            }
            _ => Err(format!(
                "sent {message:?} when its launcher could open no more files: raise the limit where the job is started, `ulimit -n`"
            )),
        }
    }
}
