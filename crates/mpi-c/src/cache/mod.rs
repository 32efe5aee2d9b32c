//! Caches of resolved arguments, since programs repeat the same few calls.
//!
//! This module owns the count of freed handles, and two kinds of caches that compare with it:
//!
//! | cache | cached results | thread that may use it |
//! |---|---|---|
//! | `ResolvedCache` | routes of short messages, targets with mapped memory | the owner of the cache ([`own`]) |
//! | `ResolvedCache` | locked targets | the one thread that calls the library |
//! | [`CallCache`] | collectives | any thread |
//!
//! **Validity of an entry.** An entry stores the arguments, and the value of `freed` before the look-up. It
//! is valid for the same arguments while `freed` is unchanged. Then no handle was freed whose value another
//! object could have, no communicator was revoked, and no rank died. An entry never stores data that depends
//! on the contents of an array.
//!
//! **Threads that read and write.** While several threads may call the library, `freed` has the bit `SHARED`,
//! and `ResolvedCache::learn` writes nothing. So no entry of a cache of the process has a count with this
//! bit, and no entry is valid. A thread that calls the library meanwhile reads only the count of an entry.
//! The count is not atomic, since compilers cannot fold an atomic load into a comparison. A thread uses its
//! own caches without synchronisation (`ResolvedCache::learn_alone`), since no other thread accesses them.
//! [`CallCache`] takes an entry out while a thread uses it. It does so by an atomic exchange, unless only one
//! thread calls the library.
//!
//! **Soundness.**
//! - A reader and a writer of an entry's value are the owner of the cache, or have both seen `freed` without
//!   `SHARED`. In the latter case the program uses one thread at a time, so their calls are ordered. A thread
//!   that ends this state sets the bit first ([`share`]). The previous thread may still be inside of `learn`,
//!   and no other thread reads its writes.
//! - An object lives while an entry that refers to it is valid: [`forget`] is called before the object of a
//!   handle is dropped. A program that uses a handle while another of its threads frees it is erroneous.
//! - A reference to a value ends before the value is replaced; the callers of `learn` guarantee it.

mod calls;
pub mod own;
mod resolved;

use canele_mpi::ThreadLevel;
use canele_sys::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use calls::{CallCache, Word};
pub(crate) use resolved::{Resolved, ResolvedCache};

/// The number of freed handles, from 1 on, with the bit [`SHARED`] while several threads may call the
/// library.
static FREED: AtomicUsize = AtomicUsize::new(SHARED | 1);
/// The highest bit, which the count of freed handles never reaches.
const SHARED: usize = 1 << (usize::BITS - 1);

/// Invalidates all cache entries after a handle was freed, a communicator was revoked, or a rank died.
pub fn forget() {
    // Relaxed: a program that uses a handle while another thread frees it is erroneous.
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// True once several threads may call the library until the process ends, whatever the program promises
/// later.
static ARE_SEVERAL: AtomicBool = AtomicBool::new(false);
/// True if several threads may call the library now, but one thread did before. That thread may still be in a
/// call.
static MIXED: AtomicBool = AtomicBool::new(false);

/// Notes the program's promise about its threads. One thread at a time calls the library, unless several
/// threads may already.
pub fn promise(threads: ThreadLevel) {
    if threads == ThreadLevel::Multiple || ARE_SEVERAL.load(Ordering::SeqCst) {
        return;
    }
    FREED.fetch_and(!SHARED, Ordering::SeqCst);
    // Either this load sees the store, or `share` sets the bit after it.
    if ARE_SEVERAL.load(Ordering::SeqCst) {
        FREED.fetch_or(SHARED, Ordering::SeqCst);
    }
}

/// Declares that several threads may call the library from now on. Any thread may call it while another is
/// inside a call.
pub fn share() {
    ARE_SEVERAL.store(true, Ordering::SeqCst);
    // Stored first, so that a thread that sees the bit also sees this flag.
    if !is_shared() {
        MIXED.store(true, Ordering::SeqCst);
    }
    FREED.fetch_or(SHARED, Ordering::SeqCst);
}

/// Returns true if several threads may call the library.
#[inline(always)]
pub fn is_shared() -> bool {
    // Relaxed: a thread that finds the bit clear is the only one, or was until another thread set it.
    FREED.load(Ordering::Relaxed) & SHARED != 0
}

/// Returns true if several threads may call the library now, but one thread did before. That thread may still
/// be in a call.
#[inline(always)]
fn is_mixed() -> bool {
    MIXED.load(Ordering::Relaxed)
}

/// Returns true if several threads may call the library for the rest of the process.
pub fn are_several() -> bool {
    ARE_SEVERAL.load(Ordering::SeqCst)
}

/// Returns a value that changes when a handle is freed, a communicator is revoked or a rank dies. It also
/// changes when several threads instead of one may call the library, or one instead of several.
#[inline(always)]
fn freed() -> usize {
    FREED.load(Ordering::Relaxed)
}
