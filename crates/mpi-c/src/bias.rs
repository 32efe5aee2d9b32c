//! The bias of the thread that initialised MPI, in a program that may use several threads and has used one so far: what belongs to the one
//! thread of a program is the owner's until another thread calls the library.
//!
//! ```text
//!   owner                                     the first other thread, as its first call begins
//!   holds the bias while it touches           takes the lock, which ends the bias, and submits what
//!   the ring of deferred receives             the ring has before its call goes on
//! ```
//! Owns who the owner is, and the lock.

use canele_sys::atomic::Ordering::{Acquire, Relaxed, Release};
use canele_sys::atomic::{AtomicPtr, AtomicU64};
use canele_sys::biased_lock::{BiasedLock, Guard};
use canele_sys::fork;

/// No thread has this number.
const NO_OWNER: u64 = u64::MAX;
static OWNER: AtomicU64 = AtomicU64::new(NO_OWNER);
/// One that lives for the rest of the process, or null.
static LOCK: AtomicPtr<BiasedLock<()>> = AtomicPtr::new(core::ptr::null_mut());

/// The right to touch what the bias is for.
pub type BiasHold = Guard<'static, ()>;

/// True if this thread has the bias, or had it before another one ended it.
#[inline(always)]
pub fn is_owner() -> bool {
    // Relaxed: only the owner's own store makes the two equal.
    OWNER.load(Relaxed) == fork::thread_number()
}

/// True if a thread has the bias, or had it.
pub fn is_given() -> bool {
    OWNER.load(Relaxed) != NO_OWNER
}

/// Gives this thread the bias; returns false where the system has no barrier for it.
pub fn give() -> bool {
    let lock = Box::leak(Box::new(BiasedLock::new(())));
    // The first thread that takes the lock is its owner.
    drop(lock.lock());
    let is_biased = lock.lock_by_bias().is_some();
    if is_biased {
        LOCK.store(lock, Release);
        OWNER.store(fork::thread_number(), Relaxed);
    }
    is_biased
}

/// Lets the owner touch what the bias is for; returns `None` if it has ended.
///
/// # Safety
/// This thread is the owner, and holds nothing of what this function returned.
#[inline(always)]
pub unsafe fn hold() -> Option<BiasHold> {
    // SAFETY: there is an owner, so there is the lock, which stays; the rest as the caller says.
    unsafe { (*LOCK.load(Relaxed)).lock_as_owner() }
}

/// Ends the bias, if it was given, unless this is the owner; waits until no other thread holds what it is for.
pub fn end() -> Option<BiasHold> {
    // Acquire pairs with the release of `give`.
    let lock = LOCK.load(Acquire);
    // SAFETY: the lock stays for the rest of the process.
    let lock = unsafe { lock.as_ref() }?;
    // In a forked child nothing can be done, as the call that follows reports.
    lock.lock().ok()
}
