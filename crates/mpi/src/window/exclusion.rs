//! How this process changes elements of a member's part while others do, too.
//!
//! Owns which of the ways is taken: single elements are entered, long runs and wide elements are held. The lock is of
//! [`canele_mem::element_lock`]; its words lie in the control region of the host.

use std::thread;

use canele_engine::{Engine, Rank};
use canele_mem::displaced::WORD;
use canele_mem::element_lock::{ANNOUNCEMENTS, ElementLock, ElementWait, Entered, Held};
use canele_sys::atomic::AtomicU64;
use canele_sys::fork::thread_number;

use super::Win;
use super::control::Control;
use crate::Result;

/// Bytes of a run for which the look at all announcements pays.
const LONG_RUN: usize = 4 << 10;
/// Bytes of a run that is long where no such look is needed.
const NEXT_RUN: usize = 256;

/// This process among those that change elements.
#[derive(Clone, Copy)]
pub(super) struct Excluding {
    /// Its place in the window.
    pub member: usize,
    /// Its rank in the job.
    pub me: Rank,
    /// Verbs may change words of the window: no plain loop does.
    pub words_by_verbs: bool,
    /// The number of the thread that announces itself where no other does.
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
    /// Of this thread, the first of those that use the window.
    pub fn new(member: usize, me: Rank) -> Self {
        // 0 is the number of many threads.
        let first_thread = Some(thread_number()).filter(|number| *number != 0).unwrap_or(u64::MAX);
        Self { member, me, words_by_verbs: false, first_thread }
    }

    fn lock(self, control: &Control, part: usize) -> ElementLock<'_> {
        ElementLock::new(control.words(part).elements(), part as u32, self.me)
    }

    /// The lock of a part and the announcement of a process one of whose threads at a time changes elements.
    pub fn of_one_thread(self, control: &Control, part: usize) -> (ElementLock<'_>, &AtomicU64) {
        (self.lock(control, part), control.words(self.member).announcement(0))
    }

    /// True of the thread that announces itself where no other does.
    #[inline(always)]
    pub fn is_first_thread(self) -> bool {
        thread_number() == self.first_thread
    }

    /// Announces a change of single elements of a part, if that may be made at once.
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
    /// Of a part, for this process.
    pub fn new(control: &'a Control, part: usize, this: Excluding, waiting: ElementWait<'a>) -> Self {
        Self { lock: this.lock(control, part), control, this, waiting }
    }

    /// Announces a change of single elements; nothing while another changes a long run.
    pub fn enter(&self) -> Option<Entered<'a>> {
        let enter = || self.this.enter(self.control, self.lock);
        enter().or_else(|| self.lock.end_long_mode(self.waiting.is_gone).then(enter).flatten())
    }

    /// Holds the part, so that no other long run or wide element is changed.
    pub fn hold(&self) -> Option<Held<'a>> {
        self.lock.try_hold(self.waiting.is_gone)
    }

    /// Holds the part alone.
    pub fn hold_long(&self) -> Option<Held<'a>> {
        self.lock.try_hold_long(self.control.announcements(), &self.waiting)
    }

    /// True if so many bytes of such elements are better changed by plain loops, be they one run or scattered, and may be.
    pub fn suits_long(&self, bytes: usize, element_bytes: usize) -> bool {
        let is_long = bytes >= NEXT_RUN && (bytes >= LONG_RUN || self.lock.is_in_long_mode());
        is_long && !(self.this.words_by_verbs && element_bytes == WORD)
    }
}

impl Win {
    /// Announces a change of a single element of a target, if that may be made at once.
    #[inline(always)]
    pub(super) fn enter(&self, target: usize) -> Option<Entered<'_>> {
        self.excluding.enter(&self.control, self.excluding.lock(&self.control, target))
    }

    /// Does something that excludes others from a target's elements, until it was done: it is tried again while another process is at
    /// them, which is not for long.
    pub(super) fn atomically<T>(
        &self,
        target: usize,
        mut attempt: impl FnMut(&Exclusion<'_>) -> Result<Option<T>>,
    ) -> Result<T> {
        let engine = &self.comm.engine;
        let is_gone = |rank| is_gone(engine, rank);
        // Deaths become known in passes; who is waited for may need this processor.
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
