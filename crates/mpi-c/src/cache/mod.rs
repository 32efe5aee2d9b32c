//! Caches of what the arguments of calls came to: programs make the same few calls again and again.
//!
//! Owns the count of freed handles, and the two kinds of caches that compare with it:
//!
//! | cache | what it finds | who may use it |
//! |---|---|---|
//! | `ResolvedCache` | routes of short messages, targets whose memory is mapped | the thread whose cache it is ([`own`]) |
//! | `ResolvedCache` | targets that are locked | the one thread that calls the library |
//! | [`CallCache`] | collectives that were made before | any thread |
//!
//! **When an entry is valid.** An entry has the arguments that were looked up, and `freed` as it was before the look-up. It is valid for
//! the same arguments while `freed` has not moved: no handle was freed whose value another object could have by now, no communicator was
//! revoked, no rank has died. An entry never has what depends on the contents of an array.
//!
//! **Which thread reads and writes.** While several threads may call the library, `freed` has the bit `SHARED`. `ResolvedCache::learn`
//! writes nothing then, so no entry of a cache of the process has a count with this bit, and none is valid. A thread that calls meanwhile reads
//! of an entry the count alone. The count is not atomic: compilers fold no atomic load into a comparison. A thread reads and writes its own
//! caches as if it were alone (`ResolvedCache::learn_alone`): no other thread looks there. [`CallCache`] takes an entry out while a thread uses
//! it, by an atomic exchange unless one thread calls the library.
//!
//! **Why that is sound.**
//! - A reader and a writer of an entry's value are the thread whose cache it is, or have both seen `freed` without `SHARED`: then they are
//!   calls of a program that uses one thread at a time, and come one after the other. A thread that ends this sets the bit first ([`share`]); the thread
//!   of before may be inside of `learn` still, and no other thread reads what it writes.
//! - An object that an entry refers to lives while the entry is valid: [`forget`] is called before the object of a handle is dropped. A
//!   program that uses a handle while another of its threads frees it is wrong.
//! - A reference to a value ends before the value is replaced: the callers of `learn` promise it.

mod calls;
pub mod own;
mod resolved;

use canele_mpi::ThreadLevel;
use canele_sys::atomic::{AtomicBool, AtomicUsize, Ordering};

pub use calls::{CallCache, Word};
pub(crate) use resolved::{Resolved, ResolvedCache};

/// Counts the handles that were freed, from 1 on; [`SHARED`] while several threads may call the library.
static FREED: AtomicUsize = AtomicUsize::new(SHARED | 1);
/// The highest bit: so many handles are never freed.
const SHARED: usize = 1 << (usize::BITS - 1);

/// A handle was freed, a communicator revoked, or a rank has died: no entry of a cache is valid any more.
pub fn forget() {
    // Relaxed: a program that uses a handle while another thread frees it is wrong.
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// Several threads may call the library for the rest of the process, whatever the program promises.
static ARE_SEVERAL: AtomicBool = AtomicBool::new(false);
/// Several may, and one thread at a time did before, which perhaps was inside of a call.
static MIXED: AtomicBool = AtomicBool::new(false);

/// The program has promised how many of its threads call the library; one at a time, unless several may already.
pub fn promise(threads: ThreadLevel) {
    if threads == ThreadLevel::Multiple || ARE_SEVERAL.load(Ordering::SeqCst) {
        return;
    }
    FREED.fetch_and(!SHARED, Ordering::SeqCst);
    // Either this is seen here, or `share` sets the bit after this.
    if ARE_SEVERAL.load(Ordering::SeqCst) {
        FREED.fetch_or(SHARED, Ordering::SeqCst);
    }
}

/// From now on several threads may call the library. Any thread may call it, while another one is inside of a call.
pub fn share() {
    ARE_SEVERAL.store(true, Ordering::SeqCst);
    // First, so that a thread that sees the bit sees this.
    if !is_shared() {
        MIXED.store(true, Ordering::SeqCst);
    }
    FREED.fetch_or(SHARED, Ordering::SeqCst);
}

/// True if several threads may call the library.
#[inline(always)]
pub fn is_shared() -> bool {
    // Relaxed: a thread that finds the bit not set is the only one, or was before another one that has set it meanwhile.
    FREED.load(Ordering::Relaxed) & SHARED != 0
}

/// True if several threads may call the library and one did before, which perhaps was inside of a call.
#[inline(always)]
fn is_mixed() -> bool {
    MIXED.load(Ordering::Relaxed)
}

/// True if several threads may call the library for the rest of the process.
pub fn are_several() -> bool {
    ARE_SEVERAL.load(Ordering::SeqCst)
}

/// Moves whenever a handle is freed, a communicator revoked or a rank dies, and when several threads may or may no longer call the library.
#[inline(always)]
fn freed() -> usize {
    FREED.load(Ordering::Relaxed)
}
