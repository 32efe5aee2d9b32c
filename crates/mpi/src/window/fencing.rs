//! Fences between plain stores to mapped windows and what comes after them.
//!
//! A flush completes puts at the target: no access that begins after it may miss them. Where stores become visible in the order in which they
//! were made (x86-64), everything that another rank may do about a flush, in the order of the program, finds the stores before it: a later
//! store, a message, an atomic operation, a request. Only a later load could overtake them. So a flush leaves the fence to the next read of a
//! window by this process, if there is one before another fence. A program that reads its own part by loads of its own calls `MPI_Win_sync` before, as
//! it does to see updates of others (MPI 5.0, §12.7), which fences; a window that programs share by loads and stores of their own has its fence in each
//! flush (§12.2.3). Elsewhere each flush fences.
//!
//! Owns one word for all windows of the process: a put to one of them may be followed by a read of another. Checked:
//! `mpi-abi/tests/programs/flushes.c`.

use canele_sys::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence};

/// Stores become visible in their order, also to those who look at several.
const STORES_ARE_ORDERED: bool = cfg!(target_arch = "x86_64");

/// Mapped memory was accessed by plain loads or stores since the last fence.
static UNFENCED: AtomicBool = AtomicBool::new(false);

// Relaxed: the word is of the one thread that uses windows; where there are several, each flush fences.

/// Mapped memory is written by plain stores.
#[inline(always)]
pub(super) fn store() {
    UNFENCED.store(true, Relaxed);
}

/// Mapped memory is changed by an atomic operation, which on x86-64 is a full fence.
#[inline(always)]
pub(super) fn change() {
    if !STORES_ARE_ORDERED {
        store();
    }
}

/// Mapped memory is read by plain loads.
#[inline(always)]
pub(super) fn load() {
    match STORES_ARE_ORDERED {
        true if UNFENCED.load(Relaxed) => sync(),
        true => {}
        false => store(),
    }
}

/// A flush of mapped memory by the only thread that uses windows.
#[inline(always)]
pub(super) fn flush() {
    if !STORES_ARE_ORDERED && UNFENCED.load(Relaxed) {
        sync();
    }
}

/// Orders loads and stores of this process with those of other ranks.
#[inline]
pub(super) fn sync() {
    UNFENCED.store(false, Relaxed);
    // Pairs with the same fence of the rank whose synchronisation this one follows.
    fence(SeqCst);
}
