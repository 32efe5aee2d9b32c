//! Fences between plain stores to mapped windows and later accesses.
//!
//! A flush completes puts at the target: every access that begins after it must see them. On x86-64, stores
//! become visible in program order. So another rank that sees any later store, message, atomic operation or
//! request of this rank also sees the stores before it. Only a later load could overtake the stores. A flush
//! therefore leaves the fence to the next read of a window by this process, if no other fence precedes it. A
//! program that reads its own part by plain loads calls `MPI_Win_sync` first, as it must to see updates of
//! others (MPI 5.0, §12.7). In a window that programs share by plain loads and stores, each flush issues a
//! fence (§12.2.3). On other processors each flush issues a fence.
//!
//! One word serves all windows of the process, since a put to one may be followed by a read of another. The
//! program `mpi-abi/tests/programs/flushes.c` checks this.

use canele_sys::atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence};

/// True if stores become visible to all processors in program order.
const STORES_ARE_ORDERED: bool = cfg!(target_arch = "x86_64");

/// True if mapped memory was accessed by plain loads or stores since the last fence.
static UNFENCED: AtomicBool = AtomicBool::new(false);

// Relaxed: one thread uses the word. If several threads use windows, each flush issues a fence.

/// Notes a plain store to mapped memory.
#[inline(always)]
pub(super) fn store() {
    UNFENCED.store(true, Relaxed);
}

/// Notes a change of mapped memory by an atomic operation, which is a full fence on x86-64.
#[inline(always)]
pub(super) fn change() {
    if !STORES_ARE_ORDERED {
        store();
    }
}

/// Notes a plain load from mapped memory; issues a fence if earlier stores need it.
#[inline(always)]
pub(super) fn load() {
    match STORES_ARE_ORDERED {
        true if UNFENCED.load(Relaxed) => sync(),
        true => {}
        false => store(),
    }
}

/// Flushes mapped memory, for the only thread that uses windows.
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
    // Pairs with the same fence of the rank whose synchronisation precedes this one.
    fence(SeqCst);
}
