//! Synchronisation of windows (MPI 5.0, §12.5).

use core::ffi::c_int;

use canele_mpi::window::RmaLockKind;
use canele_mpi::{Result, fail};

use super::{mapped, member};
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Group, MPI_Win, ObjectHandle};
use crate::pointer::Out;

/// Fails for an assertion with other bits than these.
fn check_assertion(assert: c_int, known: c_int) -> Result<()> {
    if assert & !known != 0 {
        fail!(Assert, "assert is {assert}: it has bits that are no assertion of this function");
    }
    Ok(())
}

/// `MPI_Win_fence`.
pub fn win_fence(assert: c_int, win: MPI_Win) -> CallResult {
    let win = win.get()?;
    check_assertion(assert, MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED)?;
    Ok(win.fence(assert & MPI_MODE_NOSUCCEED == 0)?)
}

/// `MPI_Win_start`.
pub fn win_start(group: MPI_Group, assert: c_int, win: MPI_Win) -> CallResult {
    let win = win.get()?;
    check_assertion(assert, MPI_MODE_NOCHECK)?;
    Ok(win.start(group.get()?, assert & MPI_MODE_NOCHECK != 0)?)
}

/// `MPI_Win_complete`.
pub fn win_complete(win: MPI_Win) -> CallResult {
    Ok(win.get()?.complete()?)
}

/// `MPI_Win_post`.
pub fn win_post(group: MPI_Group, assert: c_int, win: MPI_Win) -> CallResult {
    let win = win.get()?;
    check_assertion(assert, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT)?;
    Ok(win.post(group.get()?, assert & MPI_MODE_NOCHECK != 0)?)
}

/// `MPI_Win_wait`.
pub fn win_wait(win: MPI_Win) -> CallResult {
    Ok(win.get()?.wait()?)
}

/// `MPI_Win_test`.
pub fn win_test(win: MPI_Win, flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(win.get()?.test()?), "flag")?)
}

/// `MPI_Win_lock` of a mapped target that is free, exclusively; returns false if nothing was done.
#[inline(always)]
pub fn win_lock_at_once(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> bool {
    lock_type == MPI_LOCK_EXCLUSIVE && assert == 0 && mapped::lock_alone(rank, win)
}

/// `MPI_Win_lock`.
pub fn win_lock(lock_type: c_int, rank: c_int, assert: c_int, win: MPI_Win) -> CallResult {
    mapped::learn_locked(win, rank);
    let win = win.get()?;
    let kind = match lock_type {
        MPI_LOCK_SHARED => RmaLockKind::Shared,
        MPI_LOCK_EXCLUSIVE => RmaLockKind::Exclusive,
        _ => fail!(Locktype, "lock_type is {lock_type}: it is MPI_LOCK_SHARED or MPI_LOCK_EXCLUSIVE"),
    };
    check_assertion(assert, MPI_MODE_NOCHECK)?;
    let Some(rank) = member(rank) else { return Ok(()) };
    Ok(win.lock(kind, rank, assert & MPI_MODE_NOCHECK != 0)?)
}

/// `MPI_Win_unlock` of a mapped target that this process has locked exclusively; returns false if nothing was
/// done.
#[inline(always)]
pub fn win_unlock_at_once(rank: c_int, win: MPI_Win) -> bool {
    mapped::unlock_alone(rank, win)
}

/// `MPI_Win_unlock`.
pub fn win_unlock(rank: c_int, win: MPI_Win) -> CallResult {
    let win = win.get()?;
    Ok(member(rank).map_or(Ok(()), |rank| win.unlock(rank))?)
}

/// `MPI_Win_lock_all`.
pub fn win_lock_all(assert: c_int, win: MPI_Win) -> CallResult {
    let win = win.get()?;
    check_assertion(assert, MPI_MODE_NOCHECK)?;
    Ok(win.lock_all(assert & MPI_MODE_NOCHECK != 0)?)
}

/// `MPI_Win_unlock_all`.
pub fn win_unlock_all(win: MPI_Win) -> CallResult {
    Ok(win.get()?.unlock_all()?)
}

/// `MPI_Win_flush` if only mapped memory was accessed; returns false if nothing was done.
#[inline(always)]
pub fn win_flush_at_once(rank: c_int, win: MPI_Win) -> bool {
    mapped::flush(rank, win)
}

/// `MPI_Win_flush`.
pub fn win_flush(rank: c_int, win: MPI_Win) -> CallResult {
    let found = win.get()?;
    member(rank).map_or(Ok(()), |rank| found.flush(rank))?;
    mapped::learn_target(win, rank);
    Ok(())
}

/// `MPI_Win_flush_all`.
pub fn win_flush_all(win: MPI_Win) -> CallResult {
    Ok(win.get()?.flush_all()?)
}

/// `MPI_Win_flush_local` if only mapped memory was accessed; returns false if nothing was done.
#[inline(always)]
pub fn win_flush_local_at_once(rank: c_int, win: MPI_Win) -> bool {
    mapped::flush(rank, win)
}

/// `MPI_Win_flush_local`.
pub fn win_flush_local(rank: c_int, win: MPI_Win) -> CallResult {
    let found = win.get()?;
    member(rank).map_or(Ok(()), |rank| found.flush_local(rank))?;
    mapped::learn_target(win, rank);
    Ok(())
}

/// `MPI_Win_flush_local_all`.
pub fn win_flush_local_all(win: MPI_Win) -> CallResult {
    Ok(win.get()?.flush_local_all()?)
}

/// `MPI_Win_sync`.
pub fn win_sync(win: MPI_Win) -> CallResult {
    let win = win.get()?;
    win.check_revoked()?;
    win.sync();
    Ok(win.make_progress()?)
}
