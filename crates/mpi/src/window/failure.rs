//! Windows that are revoked, and members that died: what accesses and synchronisations raise.
//!
//! An access looks at one flag of the process, which is set once any rank has died or anything was revoked. A cache of mapped targets
//! is emptied at that moment, and gets only those again that may be accessed.
//!
//! A call that ends an epoch ends it also where it raises such an error, so that a window can be freed.

use canele_engine::Error as EngineError;
use canele_sys::atomic::Ordering::Relaxed;

use super::Win;
use super::target::WinTarget;
use crate::{Class, Error, Result};

impl Win {
    /// Revokes the window: all members learn of it, and what they do or wait for with it raises [`Class::Revoked`], but for freeing it.
    ///
    /// # Errors
    /// In a forked child; the job is over.
    pub fn revoke(&self) -> Result<()> {
        self.comm.revoke()
    }

    /// Fails if the window is revoked.
    ///
    /// # Errors
    /// As said.
    #[inline(always)]
    pub fn check_revoked(&self) -> Result<()> {
        // Relaxed, here and below: the engine is asked what is meant.
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
        // A call on another lane may have told the program of the death.
        self.comm.engine.learn_deaths()?;
        match self.comm.engine.ask(|view| view.why_gone(to.rank))? {
            Some(failure) => Err(EngineError::Failed(failure).into()),
            None => Ok(()),
        }
    }
}
