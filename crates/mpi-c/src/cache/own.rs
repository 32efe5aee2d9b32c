//! The caches of a thread, which no other thread reads or writes.
//!
//! They lie in the thread's block ([`thread_block`]), which initially contains zeros, that is empty caches.

use core::cell::Cell;
use core::ptr::NonNull;

use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use canele_sys::thread_block;

use super::{Resolved, ResolvedCache};
use crate::point::route::{Route, SpreadRoute};
use crate::window::mapped::{ResolvedChange, ResolvedTarget, ResolvedTransfer};

/// The caches of a thread.
pub struct OwnCaches {
    /// Routes of short messages.
    pub routes: ResolvedCache<Route, 8>,
    /// Routes on communicators that spread messages by tag.
    pub spread_routes: ResolvedCache<SpreadRoute, 8>,
    /// Targets of flushes of mapped memory.
    pub targets: ResolvedCache<ResolvedTarget, 16>,
    /// Accesses to mapped memory with a datatype.
    pub transfers: ResolvedCache<ResolvedTransfer, 16>,
    /// Accesses to mapped memory with a datatype and an operation.
    pub changes: ResolvedCache<ResolvedChange, 16>,
}

const _: () = assert!(size_of::<OwnCaches>() <= thread_block::BYTES);

/// True if threads may fill their caches.
static ARE_ALLOWED: AtomicBool = AtomicBool::new(false);

/// Owns the caches of a thread, after they were made.
struct OwnCachesOwner(Cell<Option<NonNull<OwnCaches>>>);

thread_local! {
    static OWNER: OwnCachesOwner = const { OwnCachesOwner(Cell::new(None)) };
}

impl OwnCachesOwner {
    /// Returns the caches of this thread, initially empty.
    fn get(&self) -> NonNull<OwnCaches> {
        self.0.get().unwrap_or_else(|| {
            // SAFETY: zeros are empty caches.
            let own = unsafe { Box::<OwnCaches>::new_zeroed().assume_init() };
            let own = NonNull::from(Box::leak(own));
            self.0.set(Some(own));
            thread_block::set(own.as_ptr().cast());
            own
        })
    }
}

impl Drop for OwnCachesOwner {
    fn drop(&mut self) {
        if let Some(own) = self.0.take() {
            thread_block::clear();
            // SAFETY: it came from a box, and the thread, which ends, has no other way to it now.
            drop(unsafe { Box::from_raw(own.as_ptr()) });
        }
    }
}

/// Returns the caches of this thread. A value is valid until the thread stores another one there.
#[inline(always)]
pub fn own() -> &'static OwnCaches {
    // SAFETY: the block of a thread has its caches, or zeros, which are empty ones.
    unsafe { &*thread_block::get().cast() }
}

/// Looks up arguments for a cache of this thread, if it may be filled; returns true for a new entry.
#[inline(never)]
pub fn learn<T: Resolved, const PLACES: usize>(
    cache: impl FnOnce(&OwnCaches) -> &ResolvedCache<T, PLACES>,
    arguments: T::Arguments,
) -> bool {
    // Relaxed: the flag orders no other memory; the first call of this thread, or one that precedes it, has
    // set it.
    if !ARE_ALLOWED.load(Relaxed) {
        return false;
    }
    // A thread that has destroyed its caches at its end stores nothing.
    let learned = OWNER.try_with(|owner| {
        // SAFETY: the caches belong to this thread and live as long as `owner`. Only general paths call this
        // function. An exported function reads the cached values that it needs before it calls a general
        // path, and no call keeps them for the next one.
        unsafe { cache(owner.get().as_ref()).learn_alone(arguments) }
    });
    learned.unwrap_or(false)
}

/// Allows or forbids that threads fill their caches.
pub fn allow(allowed: bool) {
    ARE_ALLOWED.store(allowed, Relaxed);
}
