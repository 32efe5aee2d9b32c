//! The lock words of a window's parts on one host, in memory that all ranks of the host have mapped.
//!
//! This module defines the words and never waits. A refused rank sets its waiter bit and is notified by a
//! message.
//!
//! ```text
//!   control region of a host: an entry for each member of the window's communicator
//!
//!   entry ┌ elements 64 B ┬ state 64 B ┬ announcements 64 B ┬ bitmaps, one bit for each member: ─────────────┐
//!         │ lock of its   │ holder + 1 │ of this member at  │ waiters to │ sharers: set  │ queued: wait for   │
//!         │ elements      │ and sharers│ any part           │ notify     │ before locking│ the exclusive lock │
//! ```

use std::sync::Arc;

use canele_engine::{RegionMemory, RmaLockKind};
use canele_mem::element_lock::ANNOUNCEMENTS;
use canele_sys::atomic::{AtomicU64, Ordering::SeqCst};

use crate::{Result, fail};

const STATE: usize = 64;
const ANNOUNCED: usize = 128;
const BITMAPS: usize = 192;
/// Number of bits in a word of a bitmap.
const BITS: usize = 64;
/// Counts one sharer of a lock; the bits below hold the exclusive owner.
const SHARER: u64 = 1 << 32;
const ALONE: u64 = SHARER - 1;

/// The control region of this host.
pub(super) struct Control {
    memory: Arc<RegionMemory>,
    members: usize,
    /// Size of an entry in bytes.
    entry: usize,
    /// Offset in the region.
    start: usize,
}

/// Returns the size of an entry in bytes.
fn entry_bytes(members: usize) -> usize {
    BITMAPS + 3 * members.div_ceil(BITS).next_multiple_of(8) * 8
}

impl Control {
    /// Returns the size in bytes of the control region of a window with `members` members.
    pub fn bytes(members: usize) -> usize {
        members * entry_bytes(members)
    }

    /// Makes the control region that begins at `start` of a region.
    ///
    /// # Errors
    /// Fails if the region is too short or misaligned.
    pub fn new(memory: Arc<RegionMemory>, members: usize, start: usize) -> Result<Self> {
        if memory.window(start, Self::bytes(members)).is_none() || !start.is_multiple_of(STATE) {
            fail!(Internal, "the control memory of a window lies at {start} in {} bytes", memory.len());
        }
        Ok(Self { memory, members, entry: entry_bytes(members), start })
    }

    /// Returns the words of a member of this host.
    #[inline(always)]
    pub fn words(&self, member: usize) -> LockWords<'_> {
        LockWords { control: self, at: self.start + member * self.entry }
    }

    /// Returns the announcements of all members.
    pub fn announcements(&self) -> impl Iterator<Item = &AtomicU64> {
        (0..self.members)
            .flat_map(move |member| (0..ANNOUNCEMENTS).map(move |n| self.words(member).announcement(n)))
    }
}

/// The words of one member.
#[derive(Clone, Copy)]
pub(super) struct LockWords<'a> {
    control: &'a Control,
    at: usize,
}

// All accesses are sequentially consistent. A waiter sets its bit and then reads the state; a rank that
// unlocks changes the state and then reads the bits. So at least one of them sees the other.
impl<'a> LockWords<'a> {
    #[inline(always)]
    fn word(&self, at: usize) -> &'a AtomicU64 {
        self.control.memory.word(self.at + at).expect("entries lie in the control region")
    }

    /// Returns the lock word of the member's elements.
    #[inline(always)]
    pub fn elements(&self) -> &'a AtomicU64 {
        self.word(0)
    }

    /// Returns announcement word `n` of the member.
    #[inline(always)]
    pub fn announcement(&self, n: usize) -> &'a AtomicU64 {
        self.word(ANNOUNCED + 8 * n)
    }

    #[inline(always)]
    fn state(&self) -> &'a AtomicU64 {
        self.word(STATE)
    }

    #[inline(always)]
    fn bitmap_words(&self) -> usize {
        self.control.members.div_ceil(BITS)
    }

    /// Returns word `n` of a bitmap.
    #[inline(always)]
    fn bits(&self, bitmap: usize, n: usize) -> &'a AtomicU64 {
        self.word(BITMAPS + 8 * (bitmap * self.bitmap_words().next_multiple_of(8) + n))
    }

    #[inline(always)]
    fn waiters(&self, n: usize) -> &'a AtomicU64 {
        self.bits(0, n)
    }

    fn sharers(&self, n: usize) -> &'a AtomicU64 {
        self.bits(1, n)
    }

    fn queued(&self, n: usize) -> &'a AtomicU64 {
        self.bits(2, n)
    }

    /// Takes the lock for a member if it is free for it; returns true on success.
    #[inline(always)]
    pub fn try_lock(&self, member: usize, kind: RmaLockKind) -> bool {
        let state = self.state();
        if kind == RmaLockKind::Exclusive {
            return state.compare_exchange(0, member as u64 + 1, SeqCst, SeqCst).is_ok();
        }
        let (sharers, bit) = (self.sharers(member / BITS), 1 << (member % BITS));
        sharers.fetch_or(bit, SeqCst);
        let add = |seen: u64| (seen & ALONE == 0).then_some(seen.wrapping_add(SHARER));
        let taken = state.fetch_update(SeqCst, SeqCst, add).is_ok();
        if !taken {
            sharers.fetch_and(!bit, SeqCst);
        }
        taken
    }

    /// Releases the lock of a member.
    #[inline(always)]
    pub fn unlock(&self, member: usize, kind: RmaLockKind) {
        match kind {
            RmaLockKind::Exclusive => self.state().store(0, SeqCst),
            RmaLockKind::Shared => {
                self.state().fetch_sub(SHARER, SeqCst);
                self.sharers(member / BITS).fetch_and(!(1 << (member % BITS)), SeqCst);
            }
        }
    }

    /// Sets the waiter bit of a member; returns true if it was set before.
    pub fn note_waiter(&self, member: usize) -> bool {
        let bit = 1 << (member % BITS);
        self.waiters(member / BITS).fetch_or(bit, SeqCst) & bit != 0
    }

    /// Clears the waiter bit of a member; returns true if it was set.
    pub fn forget_waiter(&self, member: usize) -> bool {
        let bit = 1 << (member % BITS);
        self.waiters(member / BITS).fetch_and(!bit, SeqCst) & bit != 0
    }

    /// Returns true if a member waits.
    #[inline(always)]
    pub fn has_waiters(&self) -> bool {
        (0..self.bitmap_words()).any(|n| self.waiters(n).load(SeqCst) != 0)
    }

    /// Clears the bit of the next waiter after `member` and returns it; the caller notifies it.
    pub fn take_waiter(&self, member: usize) -> Option<usize> {
        let members = self.control.members;
        if !self.has_waiters() {
            return None;
        }
        (1..=members).map(|n| (member + n) % members).find(|next| {
            self.waiters(next / BITS).load(SeqCst) & 1 << (next % BITS) != 0 && self.forget_waiter(*next)
        })
    }

    /// Sets the bit of a member that waits for the exclusive lock; sharers that come later wait behind it.
    pub fn queue(&self, member: usize) {
        self.queued(member / BITS).fetch_or(1 << (member % BITS), SeqCst);
    }

    /// Clears the bit of a member that waited for the exclusive lock.
    pub fn leave_queue(&self, member: usize) {
        self.queued(member / BITS).fetch_and(!(1 << (member % BITS)), SeqCst);
    }

    /// Returns the members that wait for the exclusive lock.
    pub fn all_queued(&self) -> impl Iterator<Item = usize> + use<'a> {
        let words = *self;
        (0..self.bitmap_words()).flat_map(move |n| {
            let seen = words.queued(n).load(SeqCst);
            (0..BITS).filter(move |bit| seen & 1 << bit != 0).map(move |bit| n * BITS + bit)
        })
    }

    /// Returns true if another member holds the lock in a way that excludes this kind.
    pub fn conflicts(&self, kind: RmaLockKind) -> bool {
        let state = self.state().load(SeqCst);
        if kind == RmaLockKind::Exclusive { state != 0 } else { state & ALONE != 0 }
    }

    /// Returns the members that have the lock, or may be taking it.
    pub fn holders(&self) -> Vec<usize> {
        let state = self.state().load(SeqCst);
        let members = self.control.members;
        let alone = usize::try_from(state & ALONE).ok().and_then(|holder| holder.checked_sub(1));
        let shares = |n: &usize| self.sharers(n / BITS).load(SeqCst) & 1 << (n % BITS) != 0;
        let sharing = (0..members).filter(|_| state >= SHARER).filter(shares);
        alone.into_iter().filter(|holder| *holder < members).chain(sharing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(members: usize) -> Control {
        let memory = RegionMemory::private(Control::bytes(members)).expect("some pages");
        Control::new(Arc::new(memory), members, 0).expect("long enough")
    }

    #[test]
    fn one_alone_or_many_together_have_a_lock() {
        let control = control(130);
        let words = control.words(129);
        assert!(words.try_lock(7, RmaLockKind::Shared) && words.try_lock(129, RmaLockKind::Shared));
        assert!(!words.try_lock(3, RmaLockKind::Exclusive));
        assert_eq!(words.holders(), [7, 129]);
        words.unlock(7, RmaLockKind::Shared);
        assert!(!words.try_lock(3, RmaLockKind::Exclusive));
        words.unlock(129, RmaLockKind::Shared);
        assert!(words.try_lock(3, RmaLockKind::Exclusive) && !words.try_lock(7, RmaLockKind::Shared));
        assert_eq!(words.holders(), [3]);
        words.unlock(3, RmaLockKind::Exclusive);
        assert!(words.try_lock(7, RmaLockKind::Exclusive), "who was refused left nothing");
        assert!(control.words(0).try_lock(0, RmaLockKind::Exclusive), "each member has a lock of its own");
    }

    #[test]
    fn waiters_are_taken_in_turns_and_once() {
        let control = control(70);
        let words = control.words(1);
        assert_eq!(words.take_waiter(0), None);
        for member in [3, 69, 0] {
            assert!(!words.note_waiter(member));
        }
        assert!(words.note_waiter(3), "it is noted");
        assert_eq!((words.take_waiter(3), words.take_waiter(69)), (Some(69), Some(0)));
        assert!(words.forget_waiter(3) && !words.forget_waiter(3));
        assert_eq!(words.take_waiter(3), None);
    }

    #[test]
    fn members_that_wait_for_the_lock_alone_are_known() {
        let control = control(70);
        let words = control.words(1);
        [69, 3].into_iter().for_each(|member| words.queue(member));
        assert_eq!(words.all_queued().collect::<Vec<_>>(), [3, 69]);
        words.leave_queue(3);
        assert_eq!(words.all_queued().collect::<Vec<_>>(), [69]);
        assert_eq!(control.words(0).all_queued().count(), 0);
        assert!(words.try_lock(5, RmaLockKind::Shared) && words.conflicts(RmaLockKind::Exclusive));
        assert!(!words.conflicts(RmaLockKind::Shared));
    }

    #[test]
    fn a_region_that_is_too_short_is_refused() {
        let memory = Arc::new(RegionMemory::private(64).expect("a page"));
        assert!(Control::new(memory.clone(), 100, 0).is_err());
        assert!(Control::new(memory, 1, usize::MAX).is_err());
    }
}
