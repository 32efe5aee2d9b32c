//! Mutual exclusion between threads that change single elements of shared memory and a thread that changes a
//! long run of them.
//!
//! Owns the protocol. Its words lie in memory that all processes concerned have mapped. A single element is
//! changed by an atomic operation, between an announcement and its end. A long run is changed by plain loops,
//! by the holder of the lock, once no announcement is left. Both sides fence. The kernel's barrier among
//! processes may omit a processor ([`canele_sys::membarrier`]), and here no later check would notice that.
//!
//! ```text
//!   single:  announce; fence; load the word ── short mode: atomic operations; end (store)
//!                                           ── long mode: end; wait until it is free; end the mode; again
//!   long:    take the word, in long mode; if it was in short mode: fence, wait for announcements; plain loops; give the word back
//!
//!   word ┌ 0..32 holder + 1, 0 for none ┬ 32 long mode ┐       a word for each part of the memory, a few announcements for each rank
//! ```
//!
//! The word stays in long mode after the run, so that successive runs check announcements only once. A rank
//! that dies during a single element or a run blocks no other rank. Every wait checks if the awaited rank is
//! gone.

use canele_sys::atomic::{AtomicU64, Ordering, hint, order_exchange_before_loads, store_before_loads};
use canele_sys::ids::Rank;

/// The bit of the long mode: plain loops change elements, and no single element may be entered.
const LONG: u64 = 1 << 32;
const HOLDER: u64 = LONG - 1;
/// Number of checks of an announcement before the waiting thread relaxes.
const MOST_LOOKS: u32 = if cfg!(loom) { 1 } else { 2000 };

/// Number of announcements of one rank: the first for its first thread, the others shared by its other
/// threads.
pub const ANNOUNCEMENTS: usize = 8;

/// The lock of the elements of one part of shared memory.
#[derive(Clone, Copy)]
pub struct ElementLock<'a> {
    word: &'a AtomicU64,
    /// The announcement of this rank: the number of the part, and its own.
    announcement: u64,
    me: Rank,
}

/// The functions by which a rank waits for another that has announced itself.
pub struct ElementWait<'a> {
    /// Returns true if a rank is gone.
    pub is_gone: &'a dyn Fn(Rank) -> bool,
    /// Yields the processor and checks for deaths; none if a wait is not allowed.
    pub relax: Option<&'a dyn Fn()>,
}

/// A guard: single elements may be changed by atomic operations until it is dropped.
#[must_use]
pub struct Entered<'a>(&'a AtomicU64);

impl Drop for Entered<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // Release: pairs with the acquire in `await_announced`, so that a long run sees the changed element.
        self.0.store(0, Ordering::Release);
    }
}

/// A guard: the word is held until it is dropped.
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
    /// Returns this rank's view of the lock of part `part`.
    pub fn new(word: &'a AtomicU64, part: u32, me: Rank) -> Self {
        Self { word, announcement: (u64::from(part) + 1) | (u64::from(me.0) << 32), me }
    }

    /// Returns true if the next long run need not check announcements.
    pub fn is_in_long_mode(&self) -> bool {
        self.word.load(Ordering::Relaxed) & LONG != 0
    }

    /// Announces a change of single elements by the first thread of this rank, in its own announcement.
    /// Returns none in long mode.
    #[inline(always)]
    pub fn enter(&self, slot: &'a AtomicU64) -> Option<Entered<'a>> {
        // Pairs with the fence in `try_hold_long`: that side sees the announcement, or this side sees the
        // long mode.
        store_before_loads(slot, self.announcement);
        self.entered(slot)
    }

    /// Does [`ElementLock::enter`] for any other thread, in a shared announcement; none also if all of them
    /// are in use.
    pub fn enter_shared(&self, slots: impl IntoIterator<Item = &'a AtomicU64>) -> Option<Entered<'a>> {
        let mine = self.announcement;
        let mut slots = slots.into_iter();
        // Acquire: the announcement of another thread has ended. The remaining order is that of `enter`.
        let slot =
            slots.find(|slot| slot.compare_exchange(0, mine, Ordering::SeqCst, Ordering::Relaxed).is_ok())?;
        order_exchange_before_loads();
        self.entered(slot)
    }

    #[inline(always)]
    fn entered(&self, slot: &'a AtomicU64) -> Option<Entered<'a>> {
        let entered = Entered(slot);
        // Acquire: pairs with the release of a holder, so that this thread sees the elements that its run
        // changed.
        (self.word.load(Ordering::Acquire) & LONG == 0).then_some(entered)
    }

    /// Ends the long mode if no living rank holds the word. Returns true if single elements may be entered
    /// then.
    pub fn end_long_mode(&self, is_gone: &dyn Fn(Rank) -> bool) -> bool {
        let seen = self.word.load(Ordering::Relaxed);
        let is_free = seen & HOLDER == 0 || seen & LONG != 0 && is_held_by_gone(seen, is_gone);
        // AcqRel: passes on the release of the last holder.
        seen & LONG == 0
            || is_free && self.word.compare_exchange(seen, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Takes the word in its present mode, if no living rank holds it.
    pub fn try_hold(&self, is_gone: &dyn Fn(Rank) -> bool) -> Option<Held<'a>> {
        let mine = u64::from(self.me.0) + 1;
        let seen = self.word.load(Ordering::Relaxed);
        let mode = match seen & HOLDER {
            0 => seen & LONG,
            // A dead holder may have died before it waited for announcements.
            _ if is_held_by_gone(seen, is_gone) => 0,
            _ => return None,
        };
        // Acquire: pairs with the release of the previous holder.
        let taken = self.word.compare_exchange(seen, mode | mine, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Held { word: self.word, mode })
    }

    /// Takes the word in long mode, once no announcement is of this part. Returns none if a rank holds the
    /// word, or if an announcement stays and no wait is allowed.
    pub fn try_hold_long(
        &self,
        announcements: impl IntoIterator<Item = &'a AtomicU64>,
        waiting: &ElementWait<'_>,
    ) -> Option<Held<'a>> {
        let mut held = self.try_hold(waiting.is_gone)?;
        if held.mode == LONG {
            return Some(held);
        }
        // Only the holder changes a held word. Pairs with the fence in `enter`.
        store_before_loads(self.word, LONG | (u64::from(self.me.0) + 1));
        for slot in announcements {
            if !self.await_announced(slot, waiting) {
                return None;
            }
        }
        held.mode = LONG;
        Some(held)
    }

    /// Waits until an announcement is not of this part, or its rank is gone. Returns false if waiting is not
    /// allowed.
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
