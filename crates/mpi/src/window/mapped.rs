//! Accesses to a member whose memory is mapped here, by a caller that has looked up everything else before, in a process of which one
//! thread at a time uses windows.

use canele_engine::{RmaLockKind, Window};
use canele_mem::atomic_element::AtomicElement;
use canele_mem::element_lock::{ElementLock, Entered};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

use super::Win;
use super::control::LockWords;
use super::elements::{ElementChange, fetch_and_change};
use super::epoch::EXCLUSIVE;
use super::target::{Reached, Target};

/// So many flushes and unlocks of what is mapped here take no look at the network; a power of 2.
const FLUSHES: u32 = 256;

/// A member of a window whose memory is mapped here.
#[derive(Clone, Copy)]
pub struct MappedTarget<'a> {
    win: &'a Win,
    target: &'a Target,
    memory: Window<'a>,
    /// Bytes of a unit of displacements.
    unit: usize,
    /// Of its elements, and where this process announces that it changes some.
    elements: (ElementLock<'a>, &'a AtomicU64),
    /// Its place in the window, and that of this process.
    member: usize,
    me: usize,
    /// Of the target, unless the window permits no locks or they are elsewhere.
    lock_words: Option<LockWords<'a>>,
}

impl Win {
    /// Returns a member, if its memory was found to be mapped here and may be accessed: it lives, and the window is not revoked.
    pub fn mapped_target(&self, member: usize) -> Option<MappedTarget<'_>> {
        let target = self.targets.get(member)?;
        let Reached::Here(memory, offset) = target.memory.get()? else { return None };
        self.check_target(target).ok()?;
        let locks = self.shares_host && !self.has_no_locks();
        Some(MappedTarget {
            win: self,
            target,
            memory: memory.window(*offset, target.size)?,
            unit: target.unit,
            elements: self.excluding.of_one_thread(&self.control, member),
            member,
            me: self.comm.rank(),
            lock_words: locks.then(|| self.control.words(member)),
        })
    }

    /// Counts a flush or an unlock; true if it is time to look at the network, on which others may wait for this process.
    pub(super) fn is_time_to_poll(&self) -> bool {
        // Relaxed: a count that two threads spoil is good enough.
        let flushes = self.flushes.load(Relaxed).wrapping_add(1);
        self.flushes.store(flushes, Relaxed);
        flushes.is_multiple_of(FLUSHES)
    }
}

impl<'a> MappedTarget<'a> {
    /// The bytes at a displacement, if they may be accessed now and lie in the window.
    #[inline(always)]
    fn part(&self, disp: i64, len: usize) -> Option<Window<'a>> {
        if !self.win.may_access(self.target) {
            return None;
        }
        self.memory.part(usize::try_from(disp).ok()?.checked_mul(self.unit)?, len)
    }

    /// The element at a displacement, if the processor has atomic operations for it that may be used now.
    #[inline(always)]
    fn element(&self, disp: i64, len: usize) -> Option<(AtomicElement<'a>, Entered<'a>)> {
        let element = self.part(disp, len)?.element(0, len)?;
        let (lock, announcement) = self.elements;
        Some((element, lock.enter(announcement)?))
    }

    /// Writes bytes at a displacement; false if nothing was done, as it is not permitted.
    #[inline(always)]
    pub fn put(&self, disp: i64, bytes: &[u8]) -> bool {
        self.part(disp, bytes.len()).is_some_and(|part| {
            part.write(0, bytes);
            self.win.is_unfenced.store(true, Relaxed);
            true
        })
    }

    /// Reads the bytes at a displacement; false as of [`Self::put`].
    #[inline(always)]
    pub fn get(&self, disp: i64, into: &mut [u8]) -> bool {
        self.part(disp, into.len()).is_some_and(|part| {
            part.read(0, into);
            true
        })
    }

    /// Changes the element at a displacement and gives what it was; nothing if nothing was done.
    #[inline(always)]
    pub fn fetch_and_op(&self, disp: i64, change: ElementChange, operand: u64) -> Option<u64> {
        let (element, _entered) = self.element(disp, change.bytes)?;
        Some(fetch_and_change(element, change, operand))
    }

    /// Replaces the element at a displacement, of so many bytes, if it is equal to `compare`, and gives what it was; nothing if nothing was
    /// done.
    #[inline(always)]
    pub fn compare_and_swap(&self, disp: i64, len: usize, compare: u64, new: u64) -> Option<u64> {
        let (element, _entered) = self.element(disp, len)?;
        Some(element.compare_and_swap(compare, new))
    }

    /// Locks it alone, if it is free and no epoch of any kind is open; false if nothing was done.
    #[inline(always)]
    pub fn lock_alone(&self) -> bool {
        let Some(words) = self.lock_words else { return false };
        let (win, target) = (self.win, self.target);
        let is_open = win.epoch.load(Relaxed) | target.epoch.load(Relaxed) != 0;
        // The exchange is a full fence, as `Win::sync`.
        if is_open || !words.try_lock(self.me, RmaLockKind::Exclusive) {
            return false;
        }
        target.epoch.store(EXCLUSIVE, Relaxed);
        win.locks.store(win.locks.load(Relaxed) + 1, Relaxed);
        true
    }

    /// Gives the lock up, if it is locked alone and only mapped memory was accessed; false if nothing was done.
    #[inline(always)]
    pub fn unlock_alone(&self) -> bool {
        let Some(words) = self.lock_words else { return false };
        let (win, target) = (self.win, self.target);
        let flushes = win.flushes.load(Relaxed).wrapping_add(1);
        if target.epoch.load(Relaxed) != EXCLUSIVE
            || win.is_served.load(Relaxed)
            || flushes.is_multiple_of(FLUSHES)
        {
            return false;
        }
        win.flushes.store(flushes, Relaxed);
        target.epoch.store(0, Relaxed);
        win.locks.store(win.locks.load(Relaxed) - 1, Relaxed);
        // A full fence, too.
        words.unlock(self.me, RmaLockKind::Exclusive);
        if words.has_waiters() {
            // Whoever cannot be told is gone, or this process is.
            let _ = win.tell_next(self.member);
        }
        true
    }

    /// Waits until all accesses are done there and here, if only accesses to mapped memory were made; false if nothing was done.
    #[inline(always)]
    pub fn flush(&self) -> bool {
        let done = self.flush_local();
        // Atomic operations are fences by themselves.
        if done && self.win.is_unfenced.load(Relaxed) {
            self.win.is_unfenced.store(false, Relaxed);
            self.win.sync();
        }
        done
    }

    /// The same, here alone.
    #[inline(always)]
    pub fn flush_local(&self) -> bool {
        let win = self.win;
        let flushes = win.flushes.load(Relaxed).wrapping_add(1);
        if !win.is_held(self.target) || win.is_served.load(Relaxed) || flushes.is_multiple_of(FLUSHES) {
            return false;
        }
        win.flushes.store(flushes, Relaxed);
        true
    }
}
