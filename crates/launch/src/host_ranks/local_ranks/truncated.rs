//! Messages that came without a descriptor, because this process could open no more. Owns the treatment of
//! each kind: as little as possible fails.

use canele_control::ToLauncher;

use super::LocalRanks;

impl LocalRanks {
    /// Handles a message of rank `from` that came without one of its descriptors, for which this process has
    /// no room. The owner of a region that is not taken over cannot find it, and gives it up. Without a log a
    /// rank is not traced. Ranks between which a ring is missing do not reach each other.
    ///
    /// # Errors
    /// Fails as [`Self::handle`] does, for a descriptor that the rank needs.
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
