//! Accesses to a member whose memory is mapped here, by a caller that has looked up everything else before, in a process of which one
//! thread at a time uses windows.

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

/// So many flushes and unlocks of what is mapped here take no look at the network; a power of 2.
const FLUSHES: u32 = 256;

/// A member of a window whose memory is mapped here.
pub struct MappedTarget<'a> {
    win: &'a Win,
    target: &'a WinTarget,
    memory: DisplacedWindow<'a>,
    /// Of its elements, and where this process announces that it changes some.
    elements: (ElementLock<'a>, &'a AtomicU64),
    /// Its place in the window, and that of this process.
    member: usize,
    me: usize,
    /// Of the target, unless they are elsewhere.
    lock_words: Option<LockWords<'a>>,
    /// Each flush fences.
    is_shared: bool,
    /// Flushes of it before one is to look at the network; 0 if it is shared.
    flushes_left: Cell<u32>,
}

impl Win {
    /// Returns a member, if its memory was found to be mapped here and may be accessed: it lives, and the window is not revoked. What is
    /// returned is good until the program asks where the window's memory is ([`Win::shared_part`]).
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

    /// True of the one thread of this process that may change elements through a [`MappedTarget`].
    pub fn changes_by_one_thread(&self) -> bool {
        self.excluding.is_first_thread()
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
    /// True if it may be accessed now.
    #[inline(always)]
    fn may_access(&self) -> bool {
        self.win.may_access(self.target)
    }

    /// Announces that elements are changed by the processor's atomic operations, if they may be now.
    #[inline(always)]
    fn enter(&self) -> Option<Entered<'a>> {
        let (lock, announcement) = self.elements;
        lock.enter(announcement)
    }

    /// Writes a word at a displacement; false if nothing was done, as it is not permitted.
    #[inline(always)]
    pub fn put_word(&self, disp: i64, word: &[u8; WORD]) -> bool {
        let done = self.may_access() && self.memory.write_word(disp, word);
        if done {
            fencing::store();
        }
        done
    }

    /// Writes bytes at a displacement; false as of [`Self::put_word`].
    #[inline(always)]
    pub fn put(&self, disp: i64, bytes: &[u8]) -> bool {
        let done = self.may_access() && self.memory.write(disp, bytes);
        if done {
            fencing::store();
        }
        done
    }

    /// Reads the word at a displacement; false as of [`Self::put_word`].
    #[inline(always)]
    pub fn get_word(&self, disp: i64, into: &mut [u8; WORD]) -> bool {
        if !self.may_access() {
            return false;
        }
        fencing::load();
        self.memory.read_word(disp, into)
    }

    /// Reads the bytes at a displacement; false as of [`Self::put_word`].
    #[inline(always)]
    pub fn get(&self, disp: i64, into: &mut [u8]) -> bool {
        if !self.may_access() {
            return false;
        }
        fencing::load();
        self.memory.read(disp, into)
    }

    /// Changes the word at a displacement and gives what it was; nothing if nothing was done.
    #[inline(always)]
    pub fn fetch_and_op_word(&self, disp: i64, change: WordChange, operand: u64) -> Option<u64> {
        if !self.may_access() {
            return None;
        }
        let word = self.memory.atomic_word(disp)?;
        let _entered = self.enter()?;
        fencing::change();
        // As all operations of `AtomicElement`.
        Some(match change {
            WordChange::Add => word.fetch_add(operand, AcqRel),
            WordChange::Replace => word.swap(operand, AcqRel),
        })
    }

    /// Changes the element at a displacement and gives what it was; nothing if nothing was done.
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

    /// Replaces the element at a displacement, of so many bytes, if it is equal to `compare`, and gives what it was; nothing if nothing was
    /// done.
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

    /// Locks it alone, if it is free and no epoch of any kind is open; false if nothing was done.
    #[inline(always)]
    pub fn lock_alone(&self) -> bool {
        let Some(words) = self.lock_words else { return false };
        let (win, target) = (self.win, self.target);
        let is_open = win.epoch.load(Relaxed) | target.epoch.load(Relaxed) != 0;
        // On x86-64 the exchange is a full fence, as `Win::sync`; elsewhere it orders what follows.
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
        // On x86-64 a full fence, too; elsewhere it publishes what was done, and the question below is ordered behind it.
        words.unlock(self.me, RmaLockKind::Exclusive);
        if words.has_waiters() {
            // A process that cannot be told is gone, or this process is.
            let _ = win.tell_next(self.member);
        }
        true
    }

    /// Waits until all accesses are done there and here; false if nothing was done. The owner of memory that is mapped serves no accesses
    /// to it.
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

    /// The last flush before one that is to look at the network, and each of a window that is shared.
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
