//! Exclusion between threads that change single elements of shared memory and one that changes a long run of them.
//!
//! Owns the protocol, not its words, which lie in memory that all processes concerned have mapped. Single elements are changed by the
//! processor's atomic operations, between an announcement and its end. A long run is changed by plain
//! loops, by the holder of the lock, once no announcement is left. Both sides fence: the kernel's barrier among processes may leave out a
//! processor ([`canele_sys::membarrier`]), and here a second look comes too late.
//!
//! ```text
//!   single:  announce; fence; load the word ── short mode: atomic operations; end (store)
//!                                           ── long mode: end; wait until it is free; end the mode; again
//!   long:    take the word, in long mode; if it was in short mode: fence, wait for announcements; plain loops; give the word back
//!
//!   word ┌ 0..32 holder + 1, 0 for none ┬ 32 long mode ┐       a word for each part of the memory, a few announcements for each rank
//! ```
//!
//! The word stays in long mode after the run, so that runs that follow each other look at announcements once. Who dies amid a single element or a
//! run keeps no rank out: every wait asks whether the rank that it waits for is gone.

use canele_sys::atomic::{AtomicU64, Ordering, hint, order_exchange_before_loads, store_before_loads};
use canele_sys::ids::Rank;

/// Plain loops change elements; single elements are not entered.
const LONG: u64 = 1 << 32;
const HOLDER: u64 = LONG - 1;
/// Looks at an announcement before the wait says so.
const MOST_LOOKS: u32 = if cfg!(loom) { 1 } else { 2000 };

/// Announcements of one rank: the first of its first thread, the others of all its other threads.
pub const ANNOUNCEMENTS: usize = 8;

/// The lock of the elements of one part of shared memory.
#[derive(Clone, Copy)]
pub struct ElementLock<'a> {
    word: &'a AtomicU64,
    /// What this rank announces: the number of the part, and its own.
    announcement: u64,
    me: Rank,
}

/// How a rank waits for another that has announced itself.
pub struct ElementWait<'a> {
    /// True if a rank is gone.
    pub is_gone: &'a dyn Fn(Rank) -> bool,
    /// Lets others have the processor, and looks for deaths; nothing where a wait is not allowed.
    pub relax: Option<&'a dyn Fn()>,
}

/// Single elements may be changed by atomic operations until this is dropped.
#[must_use]
pub struct Entered<'a>(&'a AtomicU64);

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: pairs with the acquire in `await_announced`, so that a long run sees the element as it was changed.
        self.0.store(0, Ordering::Release);
    }
}

/// The word is held until this is dropped.
#[must_use]
pub struct Held<'a> {
    word: &'a AtomicU64,
    mode: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Release: pairs with the acquires in `enter`, `try_hold` and `end_long_mode`.
        self.word.store(self.mode, Ordering::Release);
    }
}

impl<'a> ElementLock<'a> {
    /// The lock of the part with this number, by this rank.
    pub fn new(word: &'a AtomicU64, part: u32, me: Rank) -> Self {
        Self { word, announcement: (u64::from(part) + 1) | (u64::from(me.0) << 32), me }
    }

    /// True if the next long run need not look at announcements.
    pub fn is_in_long_mode(&self) -> bool {
        self.word.load(Ordering::Relaxed) & LONG != 0
    }

    /// Announces a change of single elements by the first thread of this rank, in the announcement that is its own. Nothing in long mode.
    #[inline(always)]
    pub fn enter(&self, slot: &'a AtomicU64) -> Option<Entered<'a>> {
        // Pairs with the fence in `try_hold_long`: either that side sees the announcement, or this one the long mode.
        store_before_loads(slot, self.announcement);
        self.entered(slot)
    }

    /// As [`ElementLock::enter`] by any other thread, in one of the announcements that they share; nothing if all are taken, too.
    pub fn enter_shared(&self, slots: impl IntoIterator<Item = &'a AtomicU64>) -> Option<Entered<'a>> {
        let mine = self.announcement;
        let mut slots = slots.into_iter();
        // Acquire: the announcement of another thread has ended. The rest as in `enter`.
        let slot =
            slots.find(|slot| slot.compare_exchange(0, mine, Ordering::SeqCst, Ordering::Relaxed).is_ok())?;
        order_exchange_before_loads();
        self.entered(slot)
    }

    #[inline(always)]
    fn entered(&self, slot: &'a AtomicU64) -> Option<Entered<'a>> {
        let entered = Entered(slot);
        // Acquire: pairs with the release of a holder, so that elements are seen as its run left them.
        (self.word.load(Ordering::Acquire) & LONG == 0).then_some(entered)
    }

    /// Ends the long mode if no living rank holds the word; says whether single elements may be entered then.
    pub fn end_long_mode(&self, is_gone: &dyn Fn(Rank) -> bool) -> bool {
        let seen = self.word.load(Ordering::Relaxed);
        let is_free = seen & HOLDER == 0 || seen & LONG != 0 && is_held_by_gone(seen, is_gone);
        // AcqRel: passes on what the last holder released.
        seen & LONG == 0
            || is_free && self.word.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes the word, in the mode that it is in, if no living rank holds it.
    pub fn try_hold(&self, is_gone: &dyn Fn(Rank) -> bool) -> Option<Held<'a>> {
        let mine = u64::from(self.me.0) + 1;
        let seen = self.word.load(Ordering::Relaxed);
        let mode = match seen & HOLDER {
            0 => seen & LONG,
            // A dead holder may not have waited for announcements.
            _ if is_held_by_gone(seen, is_gone) => 0,
            _ => return None,
        };
        // Acquire: pairs with the release of the holder before.
        let taken = self.word.compare_exchange(seen, mode | mine, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Held { word: self.word, mode })
    }

    /// Takes the word in long mode, once none of the announcements is of this part any more. Nothing if a rank holds the word, or an
    /// announcement stays and no wait is allowed.
    pub fn try_hold_long(
        &self,
        announcements: impl IntoIterator<Item = &'a AtomicU64>,
        waiting: &ElementWait<'_>,
    ) -> Option<Held<'a>> {
        let mut held = self.try_hold(waiting.is_gone)?;
        if held.mode == LONG {
            return Some(held);
        }
        // Only a holder's word changes. Pairs with the fence in `enter`.
        store_before_loads(self.word, LONG | (u64::from(self.me.0) + 1));
        for slot in announcements {
            if !self.await_announced(slot, waiting) {
                return None;
            }
        }
        held.mode = LONG;
        Some(held)
    }

    /// Waits until an announcement is not of this part, or its rank is gone; says whether that came.
    fn await_announced(&self, slot: &AtomicU64, waiting: &ElementWait<'_>) -> bool {
        let mut looks = 0;
        loop {
            // Acquire: pairs with the release at the end of an announcement.
            let seen = slot.load(Ordering::Acquire);
            if seen as u32 != self.announcement as u32 {
                return true;
            }
            looks += 1;
            if looks < MOST_LOOKS {
                hint::spin_loop();
                continue;
            }
            if (waiting.is_gone)(Rank((seen >> 32) as u32)) {
                return true;
            }
            let Some(relax) = waiting.relax else { return false };
            relax();
        }
    }
}

fn is_held_by_gone(seen: u64, is_gone: &dyn Fn(Rank) -> bool) -> bool {
    u32::try_from((seen & HOLDER).wrapping_sub(1)).is_ok_and(|holder| is_gone(Rank(holder)))
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
