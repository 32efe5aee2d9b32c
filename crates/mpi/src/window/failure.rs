//! Revoked windows and dead members: the errors of accesses and synchronisations.
//!
//! An access reads one flag of the process, which is set after the first death or revocation. At that moment
//! the cache of mapped targets is cleared. From then on it holds only targets that may be accessed.
//!
//! A call that ends an epoch does so even if it raises such an error, so that the window can be freed.

use canele_engine::Error as EngineError;
use canele_sys::atomic::Ordering::Relaxed;

use super::Win;
use super::target::WinTarget;
use crate::{Class, Error, Result};

impl Win {
    /// Revokes the window on all members. Pending and later operations raise [`Class::Revoked`], except
    /// freeing it.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
    pub fn revoke(&self) -> Result<()> {
        self.comm.revoke()
    }

    /// Fails if the window is revoked.
    ///
    /// # Errors
    /// Fails if the window is revoked.
    #[inline(always)]
    pub fn check_revoked(&self) -> Result<()> {
        // Relaxed, here and below: the engine then tells which object is affected.
        if self.comm.shared.any_revoked.load(Relaxed) { self.check_own_revocation() } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_own_revocation(&self) -> Result<()> {
        match self.comm.is_revoked()? {
            true => Err(Error::new(
                Class::Revoked,
                "the window was revoked: free it, and make another one of the processes that are left",
            )),
            false => Ok(()),
        }
    }

    /// Fails if the window is revoked or the target has died.
    #[inline(always)]
    pub(super) fn check_target(&self, to: &WinTarget) -> Result<()> {
        if self.comm.shared.any_failure.load(Relaxed) { self.check_target_lives(to) } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_target_lives(&self, to: &WinTarget) -> Result<()> {
        self.check_revoked()?;
        // A call on another lane may have reported the death to the program.
        self.comm.engine.learn_deaths()?;
        match self.comm.engine.ask(|view| view.why_gone(to.rank))? {
            Some(failure) => Err(EngineError::Failed(failure).into()),
            None => Ok(()),
        }
    }
}
