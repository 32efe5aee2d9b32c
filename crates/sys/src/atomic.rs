//! The façade over atomics: the standard library's or, under `--cfg loom`, the model checker's.
//!
//! Every crate of the workspace takes its atomics from here (`clippy.toml` enforces it), so that the code
//! that runs is the code that is modelled. The types are aliases, not re-exports, because the lint follows
//! re-exports back to the standard library.
//!
//! This module never chooses an ordering for its caller, except in [`store_before_loads`] and
//! [`order_exchange_before_loads`].

#[cfg(loom)]
pub use modelled::*;
#[cfg(not(loom))]
pub use native::*;
pub use std::sync::atomic::Ordering;

#[cfg(not(loom))]
#[allow(clippy::disallowed_types, clippy::disallowed_methods)] // The façade is what the lint points to.
mod native {
    use std::sync::atomic;

    /// 8-bit atomic integer.
    pub type AtomicU8 = atomic::AtomicU8;
    /// 16-bit atomic integer.
    pub type AtomicU16 = atomic::AtomicU16;
    /// 32-bit atomic integer.
    pub type AtomicU32 = atomic::AtomicU32;
    /// 64-bit atomic integer.
    pub type AtomicU64 = atomic::AtomicU64;
    /// Pointer-sized atomic integer.
    pub type AtomicUsize = atomic::AtomicUsize;
    /// Atomic pointer.
    pub type AtomicPtr<T> = atomic::AtomicPtr<T>;
    /// Atomic truth value.
    pub type AtomicBool = atomic::AtomicBool;

    /// Issues a fence, as [`std::sync::atomic::fence`] does.
    #[inline(always)]
    pub fn fence(ordering: atomic::Ordering) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if ordering == atomic::Ordering::SeqCst {
            // A locked instruction on a word of the thread's own stack orders loads and stores as `mfence`
            // does, in a quarter of the time. It also orders accesses that bypass the caches.
            // SAFETY: the word's value stays.
            unsafe { std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack)) };
            return;
        }
        atomic::fence(ordering);
    }

    /// Keeps the compiler from moving accesses across; costs no instruction. The processor may still
    /// reorder: the other side has to issue [`crate::membarrier`]. Under loom this is a full fence.
    #[inline(always)]
    pub fn compiler_fence(ordering: atomic::Ordering) {
        atomic::compiler_fence(ordering);
    }

    pub use std::{hint, thread, thread_local};

    /// A cell whose accesses loom can watch; without loom it is a plain [`std::cell::UnsafeCell`].
    #[derive(Debug, Default)]
    pub struct UnsafeCell<T: ?Sized>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// Returns a cell that holds `value`.
        pub const fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        /// Takes the value out.
        pub fn into_inner(self) -> T {
            self.0.into_inner()
        }

        /// Starts a shared access, which lasts until the returned pointer is dropped.
        #[inline(always)]
        pub fn get(&self) -> ConstPtr<T> {
            ConstPtr(self.0.get())
        }

        /// Starts an exclusive access, which lasts until the returned pointer is dropped.
        #[inline(always)]
        pub fn get_mut(&self) -> MutPtr<T> {
            MutPtr(self.0.get())
        }
    }

    /// A shared access to an [`UnsafeCell`].
    #[derive(Debug)]
    pub struct ConstPtr<T: ?Sized>(*const T);

    impl<T: ?Sized> ConstPtr<T> {
        /// Returns the value.
        ///
        /// # Safety
        /// The cell is alive and no thread has exclusive access to it while the reference lives.
        #[inline(always)]
        pub unsafe fn deref(&self) -> &T {
            // SAFETY: the caller keeps the cell alive and free of exclusive accesses.
            unsafe { &*self.0 }
        }
    }

    /// An exclusive access to an [`UnsafeCell`].
    #[derive(Debug)]
    pub struct MutPtr<T: ?Sized>(*mut T);

    impl<T: ?Sized> MutPtr<T> {
        /// Returns the value.
        ///
        /// # Safety
        /// The cell is alive and no other thread has access to it while the reference lives.
        #[inline(always)]
        #[allow(clippy::mut_from_ref)] // This type has the shape of loom's pointer.
        pub unsafe fn deref(&self) -> &mut T {
            // SAFETY: the caller keeps the cell alive and all to itself.
            unsafe { &mut *self.0 }
        }
    }
}

/// Stores a value so that every process sees it before the following loads. It uses one exchange, which takes
/// less time on x86-64 than a store and a fence.
#[cfg(all(target_arch = "x86_64", not(loom)))]
#[inline(always)]
pub fn store_before_loads(word: &AtomicU64, value: u64) {
    word.swap(value, Ordering::SeqCst);
}

/// Stores a value so that every process sees it before the following loads. It uses a store and a fence.
#[cfg(any(loom, not(target_arch = "x86_64")))]
#[inline(always)]
pub fn store_before_loads(word: &AtomicU64, value: u64) {
    // Release: like the exchange, the store publishes earlier writes.
    word.store(value, Ordering::Release);
    // SeqCst: the caller names the fence that it pairs with.
    fence(Ordering::SeqCst);
}

/// Orders a preceding exchange before the following loads. On x86-64 every exchange is a full fence by
/// itself.
#[inline(always)]
pub fn order_exchange_before_loads() {
    if cfg!(any(loom, not(target_arch = "x86_64"))) {
        fence(Ordering::SeqCst);
    }
}

#[cfg(loom)]
mod modelled {
    pub use loom::cell::{ConstPtr, MutPtr, UnsafeCell};
    pub use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, fence};
    pub use loom::{hint, thread, thread_local};

    /// Issues a full fence, because loom models neither a fence for the compiler alone nor `membarrier`. The
    /// other side's heavy barrier is modelled by a full fence, too.
    pub fn compiler_fence(_ordering: std::sync::atomic::Ordering) {
        fence(std::sync::atomic::Ordering::SeqCst);
    }
}
