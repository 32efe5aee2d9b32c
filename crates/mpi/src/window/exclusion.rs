//! Exclusion of other processes from the elements of a member's part.
//!
//! This module chooses the method: single elements are announced, long runs and wide elements are changed
//! under a lock. The lock is that of [`canele_mem::element_lock`]; its words lie in the control region of the
//! host.

use std::thread;

use canele_engine::{Engine, Rank};
use canele_mem::displaced::WORD;
use canele_mem::element_lock::{ANNOUNCEMENTS, ElementLock, ElementWait, Entered, Held};
use canele_sys::atomic::AtomicU64;
use canele_sys::fork::thread_number;

use super::Win;
use super::control::Control;
use crate::Result;

/// Length in bytes from which on a run is worth the reading of all announcements.
const LONG_RUN: usize = 4 << 10;
/// Length in bytes from which a run is long if no announcements must be read.
const NEXT_RUN: usize = 256;

/// The identity of this process among those that change elements.
#[derive(Clone, Copy)]
pub(super) struct Excluding {
    /// The rank of this process in the window.
    pub member: usize,
    /// The rank of this process in the job.
    pub me: Rank,
    /// True if verbs may change words of the window, so that plain loops must not.
    pub words_by_verbs: bool,
    /// The number of the thread that announces itself without an atomic operation.
    pub first_thread: u64,
}

/// The exclusion of one part, from this process's side.
pub(super) struct Exclusion<'a> {
    lock: ElementLock<'a>,
    control: &'a Control,
    this: Excluding,
    waiting: ElementWait<'a>,
}

impl Excluding {
    /// Makes the identity of this thread, the first one that uses the window.
    pub fn new(member: usize, me: Rank) -> Self {
        // The number 0 stands for many threads.
        let first_thread = Some(thread_number()).filter(|number| *number != 0).unwrap_or(u64::MAX);
        Self { member, me, words_by_verbs: false, first_thread }
    }

    fn lock(self, control: &Control, part: usize) -> ElementLock<'_> {
        ElementLock::new(control.words(part).elements(), part as u32, self.me)
    }

    /// Returns the lock of a part and the announcement word of a process in which one thread at a time
    /// changes elements.
    pub fn of_one_thread(self, control: &Control, part: usize) -> (ElementLock<'_>, &AtomicU64) {
        (self.lock(control, part), control.words(self.member).announcement(0))
    }

    /// Returns true for the thread that owns the announcement word 0.
    #[inline(always)]
    pub fn is_first_thread(self) -> bool {
        thread_number() == self.first_thread
    }

    /// Announces a change of single elements of a part, if it is permitted at once.
    #[inline(always)]
    fn enter<'a>(self, control: &'a Control, lock: ElementLock<'a>) -> Option<Entered<'a>> {
        let words = control.words(self.member);
        if self.is_first_thread() {
            lock.enter(words.announcement(0))
        } else {
            lock.enter_shared((1..ANNOUNCEMENTS).map(|n| words.announcement(n)))
        }
    }
}

impl<'a> Exclusion<'a> {
    /// Makes the exclusion of a part, for this process.
    pub fn new(control: &'a Control, part: usize, this: Excluding, waiting: ElementWait<'a>) -> Self {
        Self { lock: this.lock(control, part), control, this, waiting }
    }

    /// Announces a change of single elements; returns none while another process changes a long run.
    pub fn enter(&self) -> Option<Entered<'a>> {
        let enter = || self.this.enter(self.control, self.lock);
        enter().or_else(|| self.lock.end_long_mode(self.waiting.is_gone).then(enter).flatten())
    }

    /// Locks the part, so that no other long run or wide element is changed.
    pub fn hold(&self) -> Option<Held<'a>> {
        self.lock.try_hold(self.waiting.is_gone)
    }

    /// Locks the part exclusively.
    pub fn hold_long(&self) -> Option<Held<'a>> {
        self.lock.try_hold_long(self.control.announcements(), &self.waiting)
    }

    /// Returns true if plain loops may change this many bytes of elements, and are faster.
    pub fn suits_long(&self, bytes: usize, element_bytes: usize) -> bool {
        let is_long = bytes >= NEXT_RUN && (bytes >= LONG_RUN || self.lock.is_in_long_mode());
        is_long && !(self.this.words_by_verbs && element_bytes == WORD)
    }
}

impl Win {
    /// Announces a change of a single element of a target, if it is permitted at once.
    #[inline(always)]
    pub(super) fn enter(&self, target: usize) -> Option<Entered<'_>> {
        self.excluding.enter(&self.control, self.excluding.lock(&self.control, target))
    }

    /// Runs an operation that excludes other processes from a target's elements. It retries while another
    /// process changes them, which takes only a short time.
    pub(super) fn atomically<T>(
        &self,
        target: usize,
        mut attempt: impl FnMut(&Exclusion<'_>) -> Result<Option<T>>,
    ) -> Result<T> {
        let engine = &self.comm.engine;
        let is_gone = |rank| is_gone(engine, rank);
        // Only a pass detects deaths, and the process waited for may need this processor.
        let relax = || {
            let _ = engine.poll();
            thread::yield_now();
        };
        let waiting = ElementWait { is_gone: &is_gone, relax: Some(&relax) };
        let exclusion = Exclusion::new(&self.control, target, self.excluding, waiting);
        loop {
            if let Some(done) = attempt(&exclusion)? {
                return Ok(done);
            }
            engine.poll()?;
            thread::yield_now();
        }
    }
}

fn is_gone(engine: &Engine, rank: Rank) -> bool {
    engine.ask(|view| (rank.0 as usize) < view.ranks() && view.why_gone(rank).is_some()).unwrap_or(false)
}
