//! Epochs: the periods in which a window may be accessed (MPI 5.0, §12.5).
//!
//! This module owns the epochs that this process has opened by fences, groups and locks, and the errors of
//! accesses outside of them. An access reads two bytes.
//!
//! ```text
//!   of the window   FENCED ──(first access)──▶ FENCE      LOCK_ALL      GROUP
//!   of a target     STARTED      SHARED      EXCLUSIVE      with ASKED until the owner's first answer
//! ```

use std::hint::cold_path;
use std::sync::{MutexGuard, PoisonError};

use canele_engine::Pending;
use canele_sys::atomic::Ordering::Relaxed;

use super::{Win, WinTarget};
use crate::{Result, fail};

/// A fence permits accesses, and none was made yet.
pub(super) const FENCED: u8 = 1;
/// Accesses were made since the fence.
pub(super) const FENCE: u8 = 2;
/// All targets are locked.
pub(super) const LOCK_ALL: u8 = 4;
/// An access epoch was started for a group.
pub(super) const GROUP: u8 = 8;

/// The target is in the group that an access epoch was started for.
pub(super) const STARTED: u8 = 1;
/// The target is locked in shared mode.
pub(super) const SHARED: u8 = 2;
/// The target is locked exclusively.
pub(super) const EXCLUSIVE: u8 = 4;
/// The program has promised that it needs no lock, so the target counts as locked without one.
pub(super) const UNCHECKED: u8 = 8;
/// The lock of the target was requested and may not be granted yet.
pub(super) const ASKED: u8 = 16;

/// The epochs of this process except fences.
#[derive(Default)]
pub(super) struct Epochs {
    /// True if all targets count as locked without a lock, by a promise of the program.
    pub all_unchecked: bool,
    /// The targets of a started epoch.
    pub started: Option<Vec<usize>>,
    /// The origins of an exposure, each with true after it has completed.
    pub exposed: Option<Vec<(usize, bool)>>,
    /// Messages to members that have not asked for them.
    pub untaken: Vec<Pending>,
}

// Relaxed: the bytes belong to this process, and threads that use one window order their calls (MPI 5.0,
// §12.5).
impl Win {
    pub(super) fn epochs(&self) -> MutexGuard<'_, Epochs> {
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the target, if it may be accessed now.
    ///
    /// # Errors
    /// Fails if the rank does not exist, no epoch permits the access, the window is revoked, or the target
    /// died.
    #[inline(always)]
    pub(super) fn access(&self, target: usize) -> Result<&WinTarget> {
        let Some(to) = self.targets.get(target) else { return Err(self.no_rank(target as i64)) };
        self.check_target(to)?;
        if !self.may_access(to) {
            self.begin_access(target)?;
        }
        Ok(to)
    }

    /// Returns true if this process may access the target without further steps. A fence with an access
    /// since, a lock on all targets or an epoch for this target permits it.
    #[inline(always)]
    pub(super) fn may_access(&self, to: &WinTarget) -> bool {
        if self.epoch.load(Relaxed) & (FENCE | LOCK_ALL) != 0 {
            return true;
        }
        cold_path();
        to.epoch.load(Relaxed) != 0
    }

    /// Handles the first access after a fence.
    #[cold]
    fn begin_access(&self, target: usize) -> Result<()> {
        if self.epoch.load(Relaxed) & FENCED == 0 {
            fail!(
                RmaSync,
                "target_rank {target} is accessed outside of an epoch: call MPI_Win_fence, MPI_Win_start or MPI_Win_lock first"
            );
        }
        self.epoch.fetch_or(FENCE, Relaxed);
        Ok(())
    }

    /// Returns the target, if this process has locked it.
    ///
    /// # Errors
    /// Fails if the rank does not exist or is not locked, the window is revoked, or the target died.
    #[inline(always)]
    pub(super) fn locked(&self, target: usize) -> Result<&WinTarget> {
        let Some(to) = self.targets.get(target) else { return Err(self.no_rank(target as i64)) };
        if !self.is_held(to) {
            fail!(RmaSync, "rank {target} is not locked: call MPI_Win_lock or MPI_Win_lock_all first");
        }
        self.check_target(to)?;
        Ok(to)
    }

    /// Returns true if this process has locked this target or all targets.
    #[inline(always)]
    pub(super) fn is_held(&self, to: &WinTarget) -> bool {
        if self.epoch.load(Relaxed) & LOCK_ALL != 0 {
            return true;
        }
        cold_path();
        to.epoch.load(Relaxed) & (SHARED | EXCLUSIVE) != 0
    }

    /// Fails unless this process has locked the target, as accesses with a request require.
    ///
    /// # Errors
    /// Fails if the target is not locked or the rank does not exist.
    pub fn check_locked(&self, target: usize) -> Result<()> {
        self.locked(target).map(drop)
    }

    /// Fails if no target is locked or the window is revoked.
    pub(super) fn check_any_locked(&self) -> Result<()> {
        if self.epoch.load(Relaxed) & LOCK_ALL == 0 && self.locks.load(Relaxed) == 0 {
            fail!(RmaSync, "no rank is locked: call MPI_Win_lock or MPI_Win_lock_all first");
        }
        self.check_revoked()
    }

    /// Fails if accesses were made since a fence, since another kind of epoch cannot begin then.
    pub(super) fn leave_fence(&self) -> Result<()> {
        if self.epoch.load(Relaxed) & FENCE != 0 {
            fail!(
                RmaSync,
                "accesses were made since MPI_Win_fence: call it again before another epoch begins"
            );
        }
        self.epoch.fetch_and(!FENCED, Relaxed);
        Ok(())
    }

    /// Fails if locks are held or an access epoch is started.
    pub(super) fn check_no_access(&self, epochs: &Epochs) -> Result<()> {
        if self.epoch.load(Relaxed) & LOCK_ALL != 0 {
            fail!(RmaSync, "all ranks are locked: call MPI_Win_unlock_all first");
        }
        let locks = self.locks.load(Relaxed);
        if locks > 0 {
            fail!(RmaSync, "{locks} ranks are locked: call MPI_Win_unlock first");
        }
        if epochs.started.is_some() {
            fail!(RmaSync, "an access epoch was started: call MPI_Win_complete first");
        }
        Ok(())
    }

    /// Fails if the window is exposed to a group.
    pub(super) fn check_no_exposure(&self, epochs: &Epochs) -> Result<()> {
        if epochs.exposed.is_some() {
            fail!(RmaSync, "the window is exposed: call MPI_Win_wait first");
        }
        Ok(())
    }
}
