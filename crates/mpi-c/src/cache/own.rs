//! The caches of a thread, which no other thread reads or writes.
//!
//! They lie in the block of the thread ([`thread_block`]), which has zeros as long as it knows nothing, and zeros are empty caches.

use core::cell::Cell;
use core::ptr::NonNull;

use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use canele_sys::thread_block;

use super::{Resolved, ResolvedCache};
use crate::point::route::{Route, SpreadRoute};
use crate::window::mapped::{ResolvedChange, ResolvedTarget, ResolvedTransfer};

/// What a thread has found last.
pub struct OwnCaches {
    /// Of short messages.
    pub routes: ResolvedCache<Route, 8>,
    /// The same on communicators whose messages are spread by their tags.
    pub spread_routes: ResolvedCache<SpreadRoute, 8>,
    /// Of flushes of mapped memory.
    pub targets: ResolvedCache<ResolvedTarget, 16>,
    /// Of accesses to such memory with a datatype.
    pub transfers: ResolvedCache<ResolvedTransfer, 16>,
    /// Of those with a datatype and an operation.
    pub changes: ResolvedCache<ResolvedChange, 16>,
}

const _: () = assert!(size_of::<OwnCaches>() <= thread_block::BYTES);

/// True if the threads of this process may know something.
static ARE_ALLOWED: AtomicBool = AtomicBool::new(false);

/// The caches of a thread, as long as it has some.
struct OwnCachesOwner(Cell<Option<NonNull<OwnCaches>>>);

thread_local! {
    static OWNER: OwnCachesOwner = const { OwnCachesOwner(Cell::new(None)) };
}

impl OwnCachesOwner {
    /// Those of this thread, which begin empty.
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

/// The caches of this thread. What one of them has is good until the thread learns something else there.
#[inline(always)]
pub fn own() -> &'static OwnCaches {
    // SAFETY: the block of a thread has its caches, or zeros, which are empty ones.
    unsafe { &*thread_block::get().cast() }
}

/// Looks arguments up for a cache of this thread, if it may know something; returns true if it did not know them before.
#[inline(never)]
pub fn learn<T: Resolved, const PLACES: usize>(
    cache: impl FnOnce(&OwnCaches) -> &ResolvedCache<T, PLACES>,
    arguments: T::Arguments,
) -> bool {
    // Relaxed: a flag on its own, which this thread's first call or one that it has come after has set.
    if !ARE_ALLOWED.load(Relaxed) {
        return false;
    }
    // A thread that has ended so far that it has no caches any more learns nothing.
    let learned = OWNER.try_with(|owner| {
        // SAFETY: the caches are this thread's and live as long as `owner`. Only general paths call it: what an exported function needs of
        // what is known it reads before it calls one of them, and no call keeps it for the next one.
        unsafe { cache(owner.get().as_ref()).learn_alone(arguments) }
    });
    learned.unwrap_or(false)
}

/// Threads may know something from now on, or nothing new.
pub fn allow(allowed: bool) {
    ARE_ALLOWED.store(allowed, Relaxed);
}
