//! Passive target synchronisation: locks, flushes, sync (MPI 5.0, §12.5.3).
//!
//! ```text
//!   try_lock ── free ──▶ held
//!      │ taken
//!   note_waiter ─▶ try_lock, again after every message ─▶ held ─▶ forget_waiter; if its bit was cleared
//!                                                                before, its message is received
//!   unlock ─▶ take_waiter ─▶ an empty message to it; a shared lock taken after a wait does so, too
//! ```
//! A member that wants a shared lock waits while a member is queued for an exclusive one. A waiter that
//! receives a message takes the lock if it is free.
//!
//! If the owner's library keeps the lock, this process only requests it. The request travels together with
//! the accesses behind it, and the owner carries them out after it has granted the lock.

use canele_engine::{Error as EngineError, Mode, RmaLockKind, Want};
use canele_sys::atomic::Ordering::Relaxed;

use super::epoch::{EXCLUSIVE, LOCK_ALL, SHARED, UNCHECKED};
use super::{Win, fencing, tag};
use crate::{Result, fail};

impl Win {
    /// Locks a target; the lock of a target that is accessed by requests may be granted later. With
    /// `unchecked` the program promises that no other lock conflicts.
    ///
    /// # Errors
    /// Fails if the rank does not exist, is locked already, or if another kind of epoch is open. Fails if a
    /// holder of the lock or the target died, or the window is revoked.
    pub fn lock(&self, kind: RmaLockKind, target: usize, unchecked: bool) -> Result<()> {
        let Some(to) = self.targets.get(target) else { return Err(self.no_rank(target as i64)) };
        {
            let epochs = self.epochs();
            if self.is_locked(target) {
                fail!(RmaSync, "rank {target} is locked already: call MPI_Win_unlock first");
            }
            if epochs.started.is_some() {
                fail!(RmaSync, "an access epoch was started: call MPI_Win_complete before MPI_Win_lock");
            }
        }
        self.leave_fence()?;
        self.check_target(to)?;
        if !unchecked {
            self.acquire(target, kind)?;
        } else if self.shares_host && self.control.words(target).conflicts(kind) {
            fail!(
                RmaConflict,
                "assert has MPI_MODE_NOCHECK, and another rank holds a lock of rank {target} that conflicts"
            );
        }
        let bits = if kind == RmaLockKind::Shared { SHARED } else { EXCLUSIVE };
        to.epoch.fetch_or(bits | if unchecked { UNCHECKED } else { 0 }, Relaxed);
        self.locks.fetch_add(1, Relaxed);
        self.sync();
        Ok(())
    }

    /// Unlocks a target; all accesses are complete at both ends.
    ///
    /// # Errors
    /// Fails if the rank does not exist or was not locked by [`Win::lock`]. Fails after releasing the lock if
    /// an access failed, the target died, or the window is revoked.
    pub fn unlock(&self, target: usize) -> Result<()> {
        let Some(to) = self.targets.get(target) else { return Err(self.no_rank(target as i64)) };
        let bits = to.epoch.load(Relaxed);
        let kind = match bits & (SHARED | EXCLUSIVE) {
            0 => fail!(RmaSync, "rank {target} is not locked: call MPI_Win_lock first"),
            SHARED => RmaLockKind::Shared,
            _ => RmaLockKind::Exclusive,
        };
        self.make_progress()?;
        let is_served = !self.shares_host && bits & UNCHECKED == 0;
        let flushed = if is_served { Ok(()) } else { self.flush_target(target) };
        self.sync();
        to.epoch.fetch_and(!(SHARED | EXCLUSIVE | UNCHECKED), Relaxed);
        self.locks.fetch_sub(1, Relaxed);
        let released = if bits & UNCHECKED == 0 { self.release(target, kind) } else { Ok(()) };
        flushed.and(released).and_then(|()| self.check_target(to))
    }

    /// Locks all targets in shared mode.
    ///
    /// # Errors
    /// Fails like [`Win::lock`].
    pub fn lock_all(&self, unchecked: bool) -> Result<()> {
        self.check_no_access(&self.epochs())?;
        self.leave_fence()?;
        self.check_revoked()?;
        if !self.shares_host && !unchecked {
            self.acquire_served(0..self.members(), RmaLockKind::Shared)?;
        }
        for target in 0..if unchecked || !self.shares_host { 0 } else { self.members() } {
            if let Err(error) = self.acquire(target, RmaLockKind::Shared) {
                for taken in 0..target {
                    // The first error is reported.
                    let _ = self.release(taken, RmaLockKind::Shared);
                }
                return Err(error);
            }
        }
        self.epochs().all_unchecked = unchecked;
        self.epoch.fetch_or(LOCK_ALL, Relaxed);
        self.sync();
        Ok(())
    }

    /// Unlocks all targets; all accesses are complete at both ends.
    ///
    /// # Errors
    /// Fails if they were not locked by [`Win::lock_all`]. Fails after releasing the locks if an access
    /// failed or the window is revoked.
    pub fn unlock_all(&self) -> Result<()> {
        if self.epoch.load(Relaxed) & LOCK_ALL == 0 {
            fail!(RmaSync, "not all ranks are locked: call MPI_Win_lock_all first");
        }
        let unchecked = self.epochs().all_unchecked;
        let is_served = !self.shares_host && !unchecked;
        let mut result = if is_served { Ok(()) } else { self.flush_all_targets() };
        self.sync();
        self.epoch.fetch_and(!LOCK_ALL, Relaxed);
        if is_served {
            return self.release_served(0..self.members()).and_then(|()| self.check_revoked());
        }
        for target in 0..if unchecked { 0 } else { self.members() } {
            result = result.and(self.release(target, RmaLockKind::Shared));
        }
        result.and_then(|()| self.check_revoked())
    }

    /// Takes the lock of a target; waits until it is free.
    fn acquire(&self, target: usize, kind: RmaLockKind) -> Result<()> {
        if !self.shares_host {
            return self.acquire_served(target..target + 1, kind);
        }
        let (words, me) = (self.control.words(target), self.comm.rank());
        self.check_target(&self.targets[target])?;
        let is_behind = kind == RmaLockKind::Shared && words.all_queued().next().is_some();
        if !is_behind && words.try_lock(me, kind) {
            return Ok(());
        }
        if kind == RmaLockKind::Exclusive {
            words.queue(me);
        }
        let flow = self.flow();
        let engine = &self.comm.engine;
        let (mut told, mut is_first) = (0, true);
        let what = || format!("the lock of rank {target} of a window");
        let result = engine.wait_until(None, what, |view| {
            // The process that removes the waiter's bit sends a message.
            told += usize::from(!words.note_waiter(me) && !is_first);
            is_first = false;
            let why_gone = |member: usize| view.why_gone(self.targets[member].rank);
            let is_dead = |member: &usize| *member < self.members() && why_gone(*member).is_some();
            words.all_queued().filter(is_dead).for_each(|dead| words.leave_queue(dead));
            let may_take = kind == RmaLockKind::Exclusive || told > 0 || words.all_queued().next().is_none();
            if may_take && words.try_lock(me, kind) {
                return Some(Ok(()));
            }
            let concerned = words.holders().into_iter().chain([target]);
            let gone = concerned.filter_map(why_gone).next();
            view.why_revoked(flow).or(gone).map(|failure| Err(failure.into()))
        });
        told += usize::from(!words.forget_waiter(me));
        if kind == RmaLockKind::Exclusive {
            words.leave_queue(me);
        }
        self.receive_told(told)?;
        // The next waiters may continue: those that share the lock, or all of them if this member gives up.
        if kind == RmaLockKind::Shared || result.is_err() {
            self.tell_next(target)?;
        }
        Ok(result?)
    }

    /// Receives this many messages, which were sent already or will be sent soon. It does not wait for a
    /// message of a dead sender.
    fn receive_told(&self, told: usize) -> Result<()> {
        for _ in 0..told {
            let want = Want { source: None, tag: Some(tag::LOCK) };
            match self.comm.engine.recv(self.flow(), want, &mut [], None) {
                // A death is reported once; the dead rank sends no further message.
                Ok(_) | Err(EngineError::Failed(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Releases the lock of a target, and notifies one of its waiters.
    fn release(&self, target: usize, kind: RmaLockKind) -> Result<()> {
        if !self.shares_host {
            return self.release_served(target..target + 1);
        }
        self.control.words(target).unlock(self.comm.rank(), kind);
        self.tell_next(target)
    }

    pub(super) fn tell_next(&self, target: usize) -> Result<()> {
        let (words, me) = (self.control.words(target), self.comm.rank());
        while let Some(waiter) = words.take_waiter(me) {
            let to = self.targets[waiter].rank;
            match self.comm.engine.send(to, self.flow(), tag::LOCK, Mode::Standard, &[], None) {
                Ok(()) => break,
                // A dead waiter is skipped.
                Err(EngineError::Failed(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits until all accesses to a target are complete at both ends.
    ///
    /// # Errors
    /// Fails if the rank does not exist or is not locked, or if an access failed.
    #[inline]
    pub fn flush(&self, target: usize) -> Result<()> {
        self.locked(target)?;
        self.sync();
        self.make_progress()?;
        self.flush_target(target)
    }

    /// Polls the network from time to time: a program that waits for a value in a window makes no other
    /// calls.
    ///
    /// # Errors
    /// Fails if this process has lost its place in the job.
    #[inline]
    pub fn make_progress(&self) -> Result<()> {
        if self.is_time_to_poll() {
            self.comm.engine.poll()?;
        }
        Ok(())
    }

    /// Waits until all accesses to all targets are complete at both ends.
    ///
    /// # Errors
    /// Fails if no target is locked or an access failed.
    pub fn flush_all(&self) -> Result<()> {
        self.check_any_locked()?;
        self.sync();
        self.make_progress()?;
        self.flush_all_targets()
    }

    /// Waits until the origin buffers of all accesses to a target may be used again.
    ///
    /// # Errors
    /// Fails like [`Win::flush`].
    #[inline]
    pub fn flush_local(&self, target: usize) -> Result<()> {
        self.locked(target)?;
        self.make_progress()?;
        self.flush_target_here(target)
    }

    /// Waits until the origin buffers of all accesses may be used again.
    ///
    /// # Errors
    /// Fails like [`Win::flush_all`].
    pub fn flush_local_all(&self) -> Result<()> {
        self.check_any_locked()?;
        self.flush_all_targets_here()
    }

    /// Orders loads and stores of the program with those of other ranks.
    #[inline]
    pub fn sync(&self) {
        fencing::sync();
    }
}
