//! A lock that costs a single-threaded program almost nothing.
//!
//! ```text
//!   owner      = the first thread that enters; for ever
//!   biased:      the owner enters and leaves with plain loads and stores of `inside`
//!   revoked:     another thread has come; from now on all threads, also the owner, take `lock`
//!
//!   owner                                 the first other thread, holding `lock`
//!   inside = 1                            revoked = true
//!   compiler fence    <── pairs with ──>  heavy barrier
//!   revoked? leave and take `lock`        wait until inside == 0
//! ```
//!
//! Either the owner sees `revoked`, or the other thread sees `inside`; the heavy barrier happens once in a
//! lock's life. Where the kernel has no such barrier the lock is revoked from the start.
//!
//! The lock never poisons itself: a caller that panics is responsible for the value. It never lets a forked
//! child in.

mod lock;

use crate::atomic::{AtomicBool, AtomicU32, AtomicU64, MutPtr, Ordering, UnsafeCell};
use crate::fork::{self, Forked};
use crate::membarrier::{self, Fencing};
use lock::Lock;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// The owner of a lock that no thread has held: no thread has this number.
const NO_OWNER: u64 = u64::MAX;
/// The owner of a lock whose owner has lost the bias: no thread has this number, and no other thread becomes
/// the owner.
const RETIRED: u64 = u64::MAX - 1;

/// A value that one thread at a time may use; see the module.
pub struct BiasedLock<T> {
    owner: AtomicU64,
    /// 1 while the owner is inside by its bias.
    inside: AtomicU32,
    revoked: AtomicBool,
    lock: Lock,
    value: UnsafeCell<T>,
}

// SAFETY: as for a mutex: one thread at a time reaches the value, and it may be a different one each time.
unsafe impl<T: Send> Sync for BiasedLock<T> {}
// SAFETY: as for a mutex.
unsafe impl<T: Send> Send for BiasedLock<T> {}

impl<T> BiasedLock<T> {
    /// Returns a lock around `value`; the first thread that takes the lock becomes its owner.
    pub fn new(value: T) -> BiasedLock<T> {
        fork::watch();
        let asymmetric = membarrier::register_private() == Fencing::Asymmetric;
        BiasedLock::with(value, asymmetric)
    }

    fn with(value: T, biased: bool) -> BiasedLock<T> {
        BiasedLock {
            owner: AtomicU64::new(NO_OWNER),
            inside: AtomicU32::new(0),
            revoked: AtomicBool::new(!biased),
            lock: Lock::new(),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock; waits while another thread holds the lock.
    ///
    /// # Errors
    /// Fails with `Forked` in a forked child.
    ///
    /// # Panics
    /// Panics if this thread is inside already: the library was called from within the library (a callback).
    #[inline(always)]
    pub fn lock(&self) -> Result<Guard<'_, T>, Forked> {
        // Relaxed: only this thread ever makes the two equal, and a child's hook makes them differ.
        let biased = self.owner.load(Ordering::Relaxed) == fork::known_token() && self.lock_biased();
        let biased = biased || self.lock_otherwise()?;
        Ok(Guard {
            biased_lock: self,
            biased,
            value: ManuallyDrop::new(self.value.get_mut()),
            thread: PhantomData,
        })
    }

    /// Takes the lock if this thread is its owner, has its bias and is not inside. This takes a few plain
    /// loads and stores, without a call.
    #[inline(always)]
    pub fn lock_by_bias(&self) -> Option<Guard<'_, T>> {
        // Relaxed: as in `lock` and `lock_biased`.
        let owned = self.owner.load(Ordering::Relaxed) == fork::known_token();
        if !owned || self.inside.load(Ordering::Relaxed) != 0 {
            return None;
        }
        // SAFETY: both have been compared.
        unsafe { self.lock_as_owner() }
    }

    /// Takes the lock by its bias as [`BiasedLock::lock_by_bias`] does, but does not check that the caller is
    /// the owner.
    ///
    /// # Safety
    /// This thread is the owner, and it is not inside.
    #[inline(always)]
    pub unsafe fn lock_as_owner(&self) -> Option<Guard<'_, T>> {
        self.enter_by_bias().then(|| Guard {
            biased_lock: self,
            biased: true,
            value: ManuallyDrop::new(self.value.get_mut()),
            thread: PhantomData,
        })
    }

    /// Takes the lock if no thread holds it and its bias is revoked. Fails for a thread that has no number.
    #[inline(always)]
    pub fn lock_if_free(&self) -> Option<Guard<'_, T>> {
        let me = fork::known_token();
        // Relaxed: a thread that revokes the bias holds the lock, so a thread that takes it later sees the
        // revocation.
        let is_taken =
            self.revoked.load(Ordering::Relaxed) && me != fork::NO_TOKEN && self.lock.take_if_free(me);
        is_taken.then(|| Guard {
            biased_lock: self,
            biased: false,
            value: ManuallyDrop::new(self.value.get_mut()),
            thread: PhantomData,
        })
    }

    /// Returns true if this thread is the owner and has its bias.
    pub fn is_biased_here(&self) -> bool {
        // Relaxed, as in `lock`: taking the lock finds out if the bias ends now.
        self.owner.load(Ordering::Relaxed) == fork::known_token() && !self.revoked.load(Ordering::Relaxed)
    }

    /// Takes the lock by this thread's bias, or if it is free.
    #[inline(always)]
    pub fn lock_at_once(&self) -> Option<Guard<'_, T>> {
        self.lock_by_bias().or_else(|| self.lock_if_free())
    }

    /// Returns true if this thread holds the lock.
    pub fn is_held_here(&self) -> bool {
        // Relaxed: only this thread stores its own number there, or `inside` while it is the owner.
        let by_bias = self.owner.load(Ordering::Relaxed) == fork::known_token()
            && self.inside.load(Ordering::Relaxed) != 0;
        by_bias || fork::token().is_ok_and(|me| self.lock.held_by(me))
    }

    /// Takes the lock for its owner; returns false if the bias is revoked.
    #[inline(always)]
    fn lock_biased(&self) -> bool {
        // Relaxed: only the owner writes it.
        if self.inside.load(Ordering::Relaxed) != 0 {
            inside_already();
        }
        self.enter_by_bias()
    }

    /// Takes the lock for its owner, which is outside; returns false if the bias is revoked.
    #[inline(always)]
    fn enter_by_bias(&self) -> bool {
        self.inside.store(1, Ordering::Relaxed);
        // Pairs with `heavy_private` in `revoke`. If that barrier comes later, `revoke` sees `inside`; if it
        // comes earlier, the owner sees `revoked`.
        Fencing::Asymmetric.light();
        if self.revoked.load(Ordering::Relaxed) {
            self.unlock_biased();
            return false;
        }
        true
    }

    #[inline(always)]
    fn unlock_biased(&self) {
        // Release pairs with the acquire load in `revoke`.
        self.inside.store(0, Ordering::Release);
    }

    /// Takes the lock without the bias: for the first time, or once the bias is revoked. Returns true if the
    /// owner has its bias.
    #[cold]
    #[inline(never)]
    fn lock_otherwise(&self) -> Result<bool, Forked> {
        let me = fork::token()?;
        if !self.revoked.load(Ordering::Relaxed) {
            // Relaxed: the value was made before the lock was shared, and no thread has been inside.
            let first = self.owner.compare_exchange(NO_OWNER, me, Ordering::Relaxed, Ordering::Relaxed);
            // The owner also comes here at its first call of another copy of this library, which does not
            // know the owner's number yet.
            if (first.is_ok() || first == Err(me)) && self.lock_biased() {
                return Ok(true);
            }
        }
        if self.owner.load(Ordering::Relaxed) == me {
            // Relaxed: only the owner retires itself, so that its later calls skip the attempt by bias.
            self.owner.store(RETIRED, Ordering::Relaxed);
        }
        if self.lock.held_by(me) {
            inside_already();
        }
        self.lock.take(me);
        // Only a holder of the lock revokes the bias, so at most one thread does.
        if !self.revoked.load(Ordering::Relaxed) {
            self.revoke();
        }
        Ok(false)
    }

    /// Ends the bias while it holds the lock, and waits until the owner is outside. The owner sends no
    /// signal, because that would cost a check at every release; this happens once in the life of a lock.
    fn revoke(&self) {
        self.revoked.store(true, Ordering::Relaxed);
        // Pairs with the light fence of `enter_by_bias`.
        membarrier::heavy_private();
        let mut looks = 0;
        // Acquire pairs with the owner's release store on leaving.
        while self.inside.load(Ordering::Acquire) != 0 {
            looks += 1;
            pause_between_looks(looks);
        }
    }
}

impl<T> fmt::Debug for BiasedLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BiasedLock").finish_non_exhaustive()
    }
}

/// The right to use the value of a lock until the guard is dropped; it belongs to the thread that took the
/// lock.
pub struct Guard<'a, T> {
    biased_lock: &'a BiasedLock<T>,
    biased: bool,
    value: ManuallyDrop<MutPtr<T>>,
    /// Only the thread that took the lock may release it.
    thread: PhantomData<*mut ()>,
}

impl<'a, T> Guard<'a, T> {
    /// Returns true if another thread waits for the lock. A holder that waits itself should then call
    /// [`Guard::pause`].
    #[inline]
    pub fn contended(&self) -> bool {
        // Relaxed: this is a hint that callers check repeatedly.
        if self.biased {
            self.biased_lock.revoked.load(Ordering::Relaxed)
        } else {
            self.biased_lock.lock.wanted()
        }
    }

    /// Releases the lock as a drop does, inlined.
    #[inline(always)]
    pub fn release(self) {
        let mut this = ManuallyDrop::new(self);
        this.leave();
    }

    #[inline(always)]
    fn leave(&mut self) {
        // SAFETY: the access ends here, before another thread may begin one. It is not used again: the guard
        // is dropped or given up.
        unsafe { ManuallyDrop::drop(&mut self.value) };
        if self.biased {
            self.biased_lock.unlock_biased();
        } else {
            self.biased_lock.lock.free();
        }
    }

    /// Releases the lock, lets a waiting thread take it first, and takes it again.
    ///
    /// Dropping the guard and locking again would mostly succeed before the other thread has woken up.
    ///
    /// # Errors
    /// Fails with `Forked` in a forked child.
    pub fn pause(self) -> Result<Guard<'a, T>, Forked> {
        let biased_lock = self.biased_lock;
        if self.biased {
            // A thread that revokes the bias holds the lock already, so this thread gets in after it.
            drop(self);
        } else {
            let turn = biased_lock.lock.turn_to_give();
            drop(self);
            biased_lock.lock.give(turn);
        }
        biased_lock.lock()
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the lock lets one guard exist at a time, and we borrow it.
        unsafe { MutPtr::deref(&self.value) }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock lets one guard exist at a time, and we borrow it mutably.
        unsafe { MutPtr::deref(&self.value) }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.leave();
    }
}

/// Pauses before `revoke` checks again if the owner is outside.
#[cfg(not(loom))]
fn pause_between_looks(looks: u32) {
    match looks {
        0..100 => crate::atomic::hint::spin_loop(),
        _ => std::thread::sleep(std::time::Duration::from_micros(20)),
    }
}

/// Lets the owner run.
#[cfg(loom)]
fn pause_between_looks(_looks: u32) {
    crate::atomic::thread::yield_now();
}

#[cold]
#[inline(never)]
fn inside_already() -> ! {
    panic!("Canelé was called by a thread that is inside Canelé already (from a callback?)");
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
