//! Accesses to memory that is not mapped here, which the owner's library serves.

use super::Win;
use crate::Result;

impl Win {
    /// Waits until all accesses to a target that are served are done there and here.
    #[inline]
    pub(super) fn flush_target(&self, _: usize) -> Result<()> {
        Ok(())
    }

    /// As [`Win::flush_target`] for all targets.
    pub(super) fn flush_everybody(&self) -> Result<()> {
        Ok(())
    }
}
