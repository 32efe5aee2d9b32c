//! Accesses to a member whose memory is mapped here, in a process of which one thread at a time uses windows.
//! The caller has made all look-ups before.

use core::cell::Cell;
use core::hint::cold_path;

use canele_engine::RmaLockKind;
use canele_mem::displaced::{DisplacedWindow, WORD};
use canele_mem::element_lock::{ElementLock, Entered};
use canele_sys::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Relaxed};

use super::control::LockWords;
use super::elements::{ElementChange, WordChange, fetch_and_change};
use super::epoch::EXCLUSIVE;
use super::target::{Reached, WinTarget};
use super::{Win, fencing};

/// Number of flushes and unlocks of mapped memory between two polls of the network; a power of 2.
const FLUSHES: u32 = 256;

/// A member of a window whose memory is mapped here.
pub struct MappedTarget<'a> {
    win: &'a Win,
    target: &'a WinTarget,
    memory: DisplacedWindow<'a>,
    /// The lock of its elements, and the word where this process announces changes.
    elements: (ElementLock<'a>, &'a AtomicU64),
    /// The ranks of the member and of this process in the window.
    member: usize,
    me: usize,
    /// The lock words of the target, unless its owner keeps the lock.
    lock_words: Option<LockWords<'a>>,
    /// True if each flush issues a fence.
    is_shared: bool,
    /// Number of flushes before one that polls the network; 0 if the window is shared.
    flushes_left: Cell<u32>,
}

impl Win {
    /// Returns a member if its memory is known to be mapped here and may be accessed: it is alive, and the
    /// window is not revoked. The result is valid until the program asks for the addresses of the window
    /// ([`Win::shared_part`]).
    pub fn mapped_target(&self, member: usize) -> Option<MappedTarget<'_>> {
        let target = self.targets.get(member)?;
        let Reached::Here(memory, offset) = target.memory.get()? else { return None };
        self.check_target(target).ok()?;
        let locks = self.shares_host;
        let is_shared = self.is_shared.load(Relaxed);
        Some(MappedTarget {
            win: self,
            target,
            memory: DisplacedWindow::new(memory.window(*offset, target.size)?, target.unit),
            elements: self.excluding.of_one_thread(&self.control, member),
            member,
            me: self.comm.rank(),
            lock_words: locks.then(|| self.control.words(member)),
            is_shared,
            flushes_left: Cell::new(if is_shared { 0 } else { FLUSHES }),
        })
    }

    /// Returns true for the one thread of this process that may change elements through a [`MappedTarget`].
    pub fn changes_by_one_thread(&self) -> bool {
        self.excluding.is_first_thread()
    }

    /// Counts a flush or an unlock; returns true if it is time to poll the network, on which other ranks may
    /// wait for this process.
    pub(super) fn is_time_to_poll(&self) -> bool {
        // Relaxed: lost counts of racing threads do no harm.
        let flushes = self.flushes.load(Relaxed).wrapping_add(1);
        self.flushes.store(flushes, Relaxed);
        flushes.is_multiple_of(FLUSHES)
    }
}

impl<'a> MappedTarget<'a> {
    /// Returns true if the target may be accessed now.
    #[inline(always)]
    fn may_access(&self) -> bool {
        self.win.may_access(self.target)
    }

    /// Announces a change of elements by atomic operations of the processor, if such changes are permitted
    /// now.
    #[inline(always)]
    fn enter(&self) -> Option<Entered<'a>> {
        let (lock, announcement) = self.elements;
        lock.enter(announcement)
    }

    /// Writes a word at a displacement; returns false, without effect, if the access is not permitted here.
    #[inline(always)]
    pub fn put_word(&self, disp: i64, word: &[u8; WORD]) -> bool {
        let done = self.may_access() && self.memory.write_word(disp, word);
        if done {
            fencing::store();
        }
        done
    }

    /// Writes bytes at a displacement; returns false in the cases of [`Self::put_word`].
    #[inline(always)]
    pub fn put(&self, disp: i64, bytes: &[u8]) -> bool {
        let done = self.may_access() && self.memory.write(disp, bytes);
        if done {
            fencing::store();
        }
        done
    }

    /// Reads the word at a displacement; returns false in the cases of [`Self::put_word`].
    #[inline(always)]
    pub fn get_word(&self, disp: i64, into: &mut [u8; WORD]) -> bool {
        if !self.may_access() {
            return false;
        }
        fencing::load();
        self.memory.read_word(disp, into)
    }

    /// Reads the bytes at a displacement; returns false in the cases of [`Self::put_word`].
    #[inline(always)]
    pub fn get(&self, disp: i64, into: &mut [u8]) -> bool {
        if !self.may_access() {
            return false;
        }
        fencing::load();
        self.memory.read(disp, into)
    }

    /// Changes the word at a displacement and returns the old value; none if nothing was changed.
    #[inline(always)]
    pub fn fetch_and_op_word(&self, disp: i64, change: WordChange, operand: u64) -> Option<u64> {
        if !self.may_access() {
            return None;
        }
        let word = self.memory.atomic_word(disp)?;
        let _entered = self.enter()?;
        fencing::change();
        // Ordered like all operations of `AtomicElement`.
        Some(match change {
            WordChange::Add => word.fetch_add(operand, AcqRel),
            WordChange::Replace => word.swap(operand, AcqRel),
        })
    }

    /// Changes the element at a displacement and returns the old value; none if nothing was changed.
    #[inline(always)]
    pub fn fetch_and_op(&self, disp: i64, change: ElementChange, operand: u64) -> Option<u64> {
        if !self.may_access() {
            return None;
        }
        let element = self.memory.element(disp, change.bytes)?;
        let _entered = self.enter()?;
        if change.has_operand() {
            fencing::change()
        } else {
            fencing::load()
        }
        Some(fetch_and_change(element, change, operand))
    }

    /// Replaces the element of `len` bytes at a displacement if it is equal to `compare`. Returns the old
    /// value; none if the access is not permitted here.
    #[inline(always)]
    pub fn compare_and_swap(&self, disp: i64, len: usize, compare: u64, new: u64) -> Option<u64> {
        if !self.may_access() {
            return None;
        }
        let element = self.memory.element(disp, len)?;
        let _entered = self.enter()?;
        fencing::change();
        Some(element.compare_and_swap(compare, new))
    }

    /// Takes the exclusive lock, if it is free and no epoch is open; returns false if nothing was done.
    #[inline(always)]
    pub fn lock_alone(&self) -> bool {
        let Some(words) = self.lock_words else { return false };
        let (win, target) = (self.win, self.target);
        let is_open = win.epoch.load(Relaxed) | target.epoch.load(Relaxed) != 0;
        // On x86-64 the exchange is a full fence like `Win::sync`; elsewhere it orders the following
        // accesses.
        if is_open || !words.try_lock(self.me, RmaLockKind::Exclusive) {
            return false;
        }
        target.epoch.store(EXCLUSIVE, Relaxed);
        win.locks.store(win.locks.load(Relaxed) + 1, Relaxed);
        true
    }

    /// Releases the exclusive lock, if only mapped memory was accessed; returns false if nothing was done.
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
        // On x86-64 this is a full fence, too. Elsewhere it publishes the accesses, and the check for waiters
        // is ordered after it.
        words.unlock(self.me, RmaLockKind::Exclusive);
        if words.has_waiters() {
            // This fails only if the waiter or this process is gone.
            let _ = win.tell_next(self.member);
        }
        true
    }

    /// Waits until all accesses are complete at both ends; returns false if nothing was done. The owner of
    /// mapped memory serves no accesses to it.
    #[inline(always)]
    pub fn flush(&self) -> bool {
        if !self.win.is_held(self.target) {
            return false;
        }
        let left = self.flushes_left.get();
        if left == 0 {
            cold_path();
            return self.flush_and_renew();
        }
        self.flushes_left.set(left - 1);
        fencing::flush();
        true
    }

    /// Handles the last flush before one that polls the network, and each flush of a shared window.
    fn flush_and_renew(&self) -> bool {
        if self.is_shared {
            self.win.sync();
            let flushes = self.win.flushes.load(Relaxed).wrapping_add(1);
            if !flushes.is_multiple_of(FLUSHES) {
                self.win.flushes.store(flushes, Relaxed);
                return true;
            }
        } else {
            self.flushes_left.set(FLUSHES);
            self.win.flushes.store(FLUSHES - 1, Relaxed);
        }
        false
    }
}
