//! The libraries of a process that use its one engine: MPI's, and one with the native interface.
//!
//! A process is one rank. The first library starts the engine and offers it to the others
//! ([`canele_sys::copies`]), with the version of the shared state, which both check. The last one that
//! finishes leaves the job. A copy that takes the engine over sets its own statics: it registers barriers,
//! watches forks, and reserves memory on the host's account.

use std::sync::Arc;

use canele_control::ControlError;
use canele_sys::atomic::{AtomicUsize, Ordering};
use canele_sys::memory::Account;
use canele_sys::segment::SegmentError;
use canele_sys::tunables::Tunables;
use canele_sys::{copies, device, fork, membarrier};

use crate::Error;
use crate::engine::Engine;

/// Identifies the sources and options of this engine's build.
const BUILD: &str = env!("CANELE_BUILD");

/// The libraries that use an engine.
pub(crate) struct Users {
    count: AtomicUsize,
    /// The process that has joined the job. A child that it forks has a copy of all this, and is not its
    /// rank.
    process: u32,
    /// The account of the copy that has started the engine: a function of its code reads its statics.
    account: fn() -> Result<&'static Account, SegmentError>,
}

impl Users {
    pub fn new() -> Self {
        Self { count: AtomicUsize::new(1), process: std::process::id(), account: Account::ours }
    }

    /// Adds a library, unless all have left; returns true if it did.
    fn enter(&self) -> bool {
        // Acquire and release: later libraries see the actions of a library before it leaves.
        let more = |count: usize| (count > 0).then_some(count + 1);
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    /// Removes a library; returns true if others stay.
    pub fn leave(&self) -> bool {
        let fewer = |count: usize| count.checked_sub(1);
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, fewer).is_ok_and(|before| before > 1)
    }

    pub fn is_shared(&self) -> bool {
        self.count.load(Ordering::Acquire) > 1
    }
}

impl Engine {
    /// Returns the engine of this process: that of another library which has joined the job, or a new one
    /// that joins it with these settings.
    ///
    /// # Errors
    /// Those of [`Engine::start`]; the other library has another version of sharing, or is of another build.
    pub fn of_process(tunables: &Tunables) -> Result<Arc<Self>, Error> {
        device::ask_program();
        match copies::find::<Self>(BUILD).map_err(ControlError::from)? {
            Some(engine) if engine.users.process != std::process::id() => Err(Error::Forked),
            Some(engine) if engine.users.enter() => {
                engine.share().inspect_err(|_| engine.leave())?;
                Ok(engine)
            }
            // All have finished: a rank does not come back.
            Some(engine) if engine.size() > 1 => Err(ControlError::JoinedAlready.into()),
            _ => {
                let engine = Arc::new(Self::start_with(tunables)?);
                copies::offer(BUILD, &engine);
                Ok(engine)
            }
        }
    }

    /// Uses the engine again after [`Engine::finish`]; returns true if another library has used it all the
    /// time.
    pub fn enter(&self) -> bool {
        self.users.enter()
    }

    /// Prepares this copy's statics for the engine of another one.
    fn share(&self) -> Result<(), Error> {
        fork::watch();
        membarrier::register();
        membarrier::register_private();
        let account = (self.users.account)()?.fd().try_clone_to_owned().map_err(ControlError::Job)?;
        Account::join(account)?;
        Ok(())
    }

    /// Takes back the use of an engine by a library that could not begin.
    pub fn leave(&self) {
        self.users.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_users_ends_the_engine_and_no_user_comes_after_it() {
        let users = Users::new();
        assert!(!users.is_shared());
        assert!(users.enter() && users.is_shared());
        assert!(users.leave());
        assert!(!users.leave(), "the last one");
        assert!(!users.enter());
        assert!(!users.leave(), "a second call of the last one is an error of its own");
    }
}
