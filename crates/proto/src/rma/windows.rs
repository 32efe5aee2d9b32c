//! The calls under way of this rank in each exposure of each owner, for flushes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use canele_sys::ids::Rank;

use super::MemoryKey;
use super::call::RmaFailure;
use crate::slab::Key;

/// The most failures of calls in one exposure that are kept until a flush takes them.
const MOST_FAILURES: usize = 64;

/// Memory of one owner; `None` stands for requests without memory.
pub(super) type WindowAt = (Rank, Option<MemoryKey>);

/// The state of one exposure.
#[derive(Default)]
pub(super) struct WindowUse {
    /// Calls that have not ended, by their numbers.
    open: BTreeSet<u64>,
    /// The numbers of the last call without an answer, and of the last flush that was answered.
    last_silent: u64,
    last_flushed: u64,
    /// Failures since the last flush, by the numbers of the calls.
    failures: BTreeMap<u64, RmaFailure>,
    /// Flushes that were answered, or need no answer, and wait for calls before them.
    pub flushes: Vec<Key>,
}

/// The exposures in which calls are or were under way.
#[derive(Default)]
pub(super) struct Windows(HashMap<WindowAt, WindowUse>);

impl Windows {
    pub fn at(&mut self, window: WindowAt) -> &mut WindowUse {
        self.0.entry(window).or_default()
    }

    pub fn known(&self, window: WindowAt) -> Option<&WindowUse> {
        self.0.get(&window)
    }

    /// Forgets an exposure whose state is empty: regions have no call that ends their use.
    pub fn forget_unused(&mut self, window: WindowAt) {
        if self.0.get(&window).is_some_and(WindowUse::is_unused) {
            self.0.remove(&window);
        }
    }

    /// Forgets an exposure in which nothing is under way.
    pub fn forget(&mut self, window: WindowAt) {
        if self.0.get(&window).is_some_and(|used| used.open.is_empty() && used.flushes.is_empty()) {
            self.0.remove(&window);
        }
    }
}

impl WindowUse {
    pub fn begin(&mut self, serial: u64) {
        self.open.insert(serial);
    }

    /// Notes that a request of this call was submitted that gets no answer.
    pub fn note_silent(&mut self, serial: u64) {
        self.last_silent = self.last_silent.max(serial);
    }

    pub fn end(&mut self, serial: u64) {
        self.open.remove(&serial);
    }

    pub fn fail(&mut self, serial: u64, failure: RmaFailure) {
        if self.failures.len() < MOST_FAILURES {
            self.failures.insert(serial, failure);
        }
    }

    /// Takes the failures of the calls before this number, and returns the first of them.
    pub fn take_failure_before(&mut self, serial: u64) -> Option<RmaFailure> {
        let later = self.failures.split_off(&serial);
        std::mem::replace(&mut self.failures, later).into_values().next()
    }

    /// Returns true if the owner has to confirm that all earlier requests are done.
    pub fn needs_flush(&self) -> bool {
        self.last_silent > self.last_flushed
    }

    fn is_unused(&self) -> bool {
        self.open.is_empty() && self.flushes.is_empty() && self.failures.is_empty() && !self.needs_flush()
    }

    /// Notes that a flush of this number was answered.
    pub fn flushed(&mut self, serial: u64) {
        self.last_flushed = self.last_flushed.max(serial);
    }

    /// Returns true if a call before this number has not ended.
    pub fn is_open_before(&self, serial: u64) -> bool {
        self.open.first().is_some_and(|first| *first < serial)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rma::Refusal;

    #[test]
    fn nothing_is_kept_of_an_exposure_once_all_is_answered_or_flushed() {
        let (mut windows, at) = (Windows::default(), (Rank(1), Some(MemoryKey::from_word(7))));
        windows.at(at).begin(1);
        windows.forget_unused(at);
        assert!(windows.known(at).is_some_and(|used| used.is_open_before(2)));
        windows.at(at).end(1);
        windows.forget_unused(at);
        assert!(windows.known(at).is_none());
        windows.at(at).begin(2);
        windows.at(at).note_silent(2);
        windows.at(at).end(2);
        windows.forget_unused(at);
        assert!(windows.known(at).is_some_and(WindowUse::needs_flush));
        windows.at(at).flushed(3);
        windows.forget_unused(at);
        assert!(windows.known(at).is_none());
    }

    #[test]
    fn a_flush_asks_only_for_what_nothing_else_answers() {
        let mut window = WindowUse::default();
        window.begin(1);
        assert!(!window.needs_flush() && window.is_open_before(2));
        window.begin(2);
        window.note_silent(2);
        window.end(2);
        assert!(window.needs_flush());
        window.begin(4);
        window.note_silent(4);
        window.flushed(3);
        assert!(window.needs_flush(), "what came later is not flushed");
        window.flushed(5);
        window.end(1);
        window.end(4);
        assert!(!window.needs_flush() && !window.is_open_before(9));
    }

    #[test]
    fn a_flush_takes_the_failures_of_calls_before_it_alone() {
        let refused = |refusal| RmaFailure::Refused(None, refusal);
        let mut window = WindowUse::default();
        window.fail(4, refused(Refusal::Broken));
        window.fail(2, refused(Refusal::NoRegion));
        window.fail(1, refused(Refusal::NotLocked));
        assert_eq!(window.take_failure_before(3), Some(refused(Refusal::NotLocked)));
        assert_eq!(window.take_failure_before(4), None);
        assert_eq!(window.take_failure_before(5), Some(refused(Refusal::Broken)));
        (0..1000).for_each(|serial| window.fail(serial, refused(Refusal::Broken)));
        assert_eq!(window.failures.len(), MOST_FAILURES);
    }
}
