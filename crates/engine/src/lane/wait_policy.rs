//! The back-off of a wait: a wait that finds nothing looks again, then yields its processor, and at last
//! sleeps.
//!
//! With a processor for every rank it looks for about twice the time that a wake-up takes. With more ranks
//! than processors looking only keeps the others from running, so it yields at once. The clock is read now
//! and then: on passes that found nothing, and around a yield.
//!
//! A yield among waiting ranks takes microseconds. If another program computes on the same processor, a yield
//! takes a whole time slice, and a message that comes meanwhile does not shorten it. A sleeper is woken and
//! runs at once. So after a yield that took long this rank sleeps instead of yielding, for a number of waits.
//!
//! A yield returns at once if no other process is ready, and also if the kernel shares the processor between
//! groups of processes and each rank is a group of its own. In the second case a rank must use up its share
//! before another one runs. So in a collective, yields that return at once count by their time, and many of
//! them are made.

use std::time::{Duration, Instant};

use canele_sys::tunables::{Tunables, Wait};

/// Idle passes between two looks at the clock.
const PASSES: u32 = 64;

/// The duration of a yield that gave the processor to a process that does not wait as ranks do.
const SLICE: Duration = Duration::from_millis(1);
/// The least duration of a yield in which another rank ran.
const TURN: Duration = Duration::from_micros(3);
/// The most yields of a call, if ranks share processors, before it sleeps.
const CALL_YIELDS: u32 = 4;

/// Number of waits without a yield after a yield that took a time slice.
const WAITS_WITHOUT_YIELD: u32 = 256;

/// Number of polls in a row that find nothing before one gives the processor away. They take about twenty
/// times as long as a yield. So a program that polls between computing loses little, and far less than a time
/// slice.
const POLLS_BEFORE_YIELD: u32 = 256;

/// The way in which this rank waits: its settings, and its experience with its processor.
pub(crate) struct WaitPolicy {
    pub wait: Wait,
    /// The time for which it looks before it gives its processor away.
    spin: Duration,
    yields: u32,
    /// True if ranks share processors.
    pub ranks_share: bool,
    /// True if threads of this rank that wait on several lanes share processors.
    pub threads_share: bool,
    /// Waits still to go without a yield.
    waits_without_yield: u32,
    /// Polls in a row that found nothing.
    idle_polls: u32,
}

impl WaitPolicy {
    /// Takes the settings of waits, which have changed.
    pub fn set(&mut self, tunables: &Tunables) {
        self.wait = tunables.wait;
        self.spin = Duration::from_nanos(tunables.spin_ns);
        self.yields = tunables.yields;
    }

    /// Makes the policy of a rank; `oversubscribed` is true if its host has more ranks than processors.
    pub fn new(tunables: &Tunables, oversubscribed: bool) -> Self {
        Self {
            wait: tunables.wait,
            spin: Duration::from_nanos(tunables.spin_ns),
            yields: tunables.yields,
            ranks_share: oversubscribed,
            threads_share: false,
            waits_without_yield: 0,
            idle_polls: 0,
        }
    }

    /// Returns true if a looking thread keeps another one from running that waits or computes for this job.
    #[inline(always)]
    pub fn is_oversubscribed(&self) -> bool {
        self.ranks_share | self.threads_share
    }

    /// Returns the back-off of the next wait.
    #[inline]
    pub fn backoff(&mut self) -> Backoff {
        let yields = if self.waits_without_yield == 0 { self.yields } else { 0 };
        self.waits_without_yield = self.waits_without_yield.saturating_sub(1);
        let spin = if self.is_oversubscribed() { Duration::ZERO } else { self.spin };
        Backoff::new(self.wait, spin, yields)
    }

    /// Returns true if a poll is to give the processor away: after many in a row that found nothing, if ranks
    /// share processors. A program that polls for a message keeps the sender from running.
    #[inline]
    pub fn poll_yields(&mut self, found: bool) -> bool {
        if found || !self.is_oversubscribed() || self.wait == Wait::Poll {
            self.idle_polls = 0;
            return false;
        }
        self.idle_polls += 1;
        self.idle_polls.is_multiple_of(POLLS_BEFORE_YIELD)
    }

    /// Returns the number of times that a call may yield before it sleeps.
    pub fn yields_of_call(&self) -> u32 {
        if self.wait == Wait::Adaptive && self.waits_without_yield == 0 {
            self.yields.min(CALL_YIELDS)
        } else {
            0
        }
    }

    /// Learns from the duration of a yield; returns true if that was a time slice, after which no other yield
    /// follows.
    pub fn learn_of_yield(&mut self, took: Duration) -> bool {
        let is_slow = took >= SLICE;
        if is_slow {
            self.waits_without_yield = WAITS_WITHOUT_YIELD;
        }
        is_slow
    }

    /// Learns from the duration of a yield in a wait.
    pub fn learn(&mut self, backoff: &mut Backoff, took: Duration) {
        if self.learn_of_yield(took) {
            backoff.yields = 0;
        } else if backoff.is_by_time && self.is_oversubscribed() && took < TURN {
            backoff.count_by_time(took);
        }
    }
}

/// The action after an idle pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Look,
    Yield,
    Sleep,
}

/// The back-off of one wait.
pub(crate) struct Backoff {
    wait: Wait,
    spin: Duration,
    yields: u32,
    since: Option<Instant>,
    /// The time of the last look at the clock, and the time of looking up to then that
    /// [`Backoff::take_looked`] has not taken.
    last: Option<Instant>,
    looked: Duration,
    passes: u32,
    /// The number of yields, and the time of short ones that is not in it yet.
    yielded: u32,
    short: Duration,
    is_by_time: bool,
}

impl Backoff {
    pub fn new(wait: Wait, spin: Duration, yields: u32) -> Self {
        Self {
            wait,
            spin,
            yields,
            since: None,
            last: None,
            looked: Duration::ZERO,
            passes: 0,
            yielded: 0,
            short: Duration::ZERO,
            is_by_time: false,
        }
    }

    /// Counts yields that return at once by their time: for a wait for short messages. In a wait for a long
    /// one the peer copies, and yields would only take its processor.
    pub fn by_time(self) -> Self {
        Self { is_by_time: true, ..self }
    }

    /// Starts the back-off anew, because something moved.
    pub fn renew(&mut self) {
        (self.since, self.last, self.passes, self.yielded) = (None, None, 0, 0);
        self.short = Duration::ZERO;
    }

    /// Counts the last yield by its time, as a part of one in which another rank ran.
    fn count_by_time(&mut self, took: Duration) {
        // A clock that stands still ends the wait too.
        self.short += took.max(TURN / 100);
        if self.short < TURN {
            self.yielded = self.yielded.saturating_sub(1);
        } else {
            self.short -= TURN;
        }
    }

    /// Takes the time for which it has looked, as far as the clock was read.
    #[inline]
    pub fn take_looked(&mut self) -> Duration {
        std::mem::take(&mut self.looked)
    }

    /// Returns the action after a pass that found nothing.
    #[inline]
    pub fn next(&mut self) -> Next {
        match self.wait {
            Wait::Poll => return Next::Look,
            Wait::Sleep => return Next::Sleep,
            Wait::Adaptive => {}
        }
        if self.yielded > 0 || self.spin.is_zero() || self.spun() {
            self.yielded += 1;
            return if self.yielded <= self.yields { Next::Yield } else { Next::Sleep };
        }
        Next::Look
    }

    fn spun(&mut self) -> bool {
        self.passes += 1;
        if !self.passes.is_multiple_of(PASSES) {
            return false;
        }
        let now = Instant::now();
        self.looked += now.duration_since(self.last.replace(now).unwrap_or(now));
        now.duration_since(*self.since.get_or_insert(now)) >= self.spin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forced_modes_never_do_anything_else() {
        let mut poll = Backoff::new(Wait::Poll, Duration::ZERO, 0);
        let mut sleep = Backoff::new(Wait::Sleep, Duration::MAX, u32::MAX);
        for _ in 0..10_000 {
            assert_eq!(poll.next(), Next::Look);
            assert_eq!(sleep.next(), Next::Sleep);
        }
    }

    #[test]
    fn waits_and_polls_yield_while_ranks_or_threads_share_processors() {
        let tunables = Tunables { wait: Wait::Adaptive, yields: 3, ..Tunables::default() };
        for (ranks_share, threads_share) in [(false, false), (true, false), (false, true)] {
            let mut wait_policy = WaitPolicy::new(&tunables, ranks_share);
            wait_policy.threads_share = threads_share;
            let shares = ranks_share || threads_share;
            assert_eq!(wait_policy.backoff().next(), if shares { Next::Yield } else { Next::Look });
            assert_eq!((0..POLLS_BEFORE_YIELD).any(|_| wait_policy.poll_yields(false)), shares);
            wait_policy.threads_share = false;
            assert_eq!(wait_policy.is_oversubscribed(), ranks_share, "fewer threads wait now");
        }
    }

    #[test]
    fn a_yield_that_takes_a_time_slice_is_the_last_for_many_waits() {
        let tunables = Tunables { wait: Wait::Adaptive, yields: 3, ..Tunables::default() };
        let mut wait_policy = WaitPolicy::new(&tunables, true);
        let mut backoff = wait_policy.backoff();
        assert_eq!(backoff.next(), Next::Yield);
        wait_policy.learn(&mut backoff, SLICE / 2);
        assert_eq!(backoff.next(), Next::Yield);
        wait_policy.learn(&mut backoff, SLICE);
        assert_eq!(backoff.next(), Next::Sleep);
        backoff.renew();
        assert_eq!(backoff.next(), Next::Sleep, "this wait has learnt");
        for n in 0..WAITS_WITHOUT_YIELD {
            assert_eq!(wait_policy.backoff().next(), Next::Sleep, "wait {n} after it");
        }
        assert_eq!(wait_policy.backoff().next(), Next::Yield, "it tries again");
    }

    #[test]
    fn polls_yield_where_ranks_share_processors_and_many_found_nothing() {
        let tunables = Tunables::default();
        let mut wait_policy = WaitPolicy::new(&tunables, true);
        let mut yields =
            |found: &[bool]| found.iter().filter(|found| wait_policy.poll_yields(**found)).count();
        let idle = [false; POLLS_BEFORE_YIELD as usize - 1];
        assert_eq!(yields(&idle), 0);
        assert_eq!(yields(&[true]), 0, "it counts anew");
        assert_eq!(yields(&idle), 0);
        assert_eq!(yields(&[false]), 1);
        assert_eq!(yields(&[false; 3 * POLLS_BEFORE_YIELD as usize]), 3, "and again");
        for (wait, oversubscribed) in [(Wait::Adaptive, false), (Wait::Poll, true)] {
            let mut wait_policy = WaitPolicy::new(&Tunables { wait, ..Tunables::default() }, oversubscribed);
            assert!((0..1000).all(|_| !wait_policy.poll_yields(false)), "{wait:?}, {oversubscribed}");
        }
    }

    #[test]
    fn calls_yield_unless_a_yield_took_a_time_slice_lately() {
        let mut wait_policy = WaitPolicy::new(&Tunables::default(), true);
        assert!(!wait_policy.learn_of_yield(SLICE / 2));
        assert_eq!(wait_policy.yields_of_call(), CALL_YIELDS);
        assert!(wait_policy.learn_of_yield(SLICE));
        for n in 0..WAITS_WITHOUT_YIELD {
            assert_eq!(wait_policy.yields_of_call(), 0, "wait {n} after it");
            wait_policy.backoff();
        }
        assert_eq!(wait_policy.yields_of_call(), CALL_YIELDS);
        for wait in [Wait::Poll, Wait::Sleep] {
            let tunables = Tunables { wait, ..Tunables::default() };
            assert_eq!(WaitPolicy::new(&tunables, true).yields_of_call(), 0, "{wait:?}");
        }
    }

    #[test]
    fn a_wait_tells_how_long_it_has_looked_once() {
        let mut backoff = Backoff::new(Wait::Adaptive, Duration::from_millis(2), 0);
        let mut looked = Duration::ZERO;
        while backoff.next() == Next::Look {
            looked += backoff.take_looked();
        }
        looked += backoff.take_looked();
        assert!(looked >= Duration::from_millis(2), "{looked:?}");
        assert_eq!(backoff.take_looked(), Duration::ZERO);
    }

    #[test]
    fn settings_that_change_are_followed() {
        let mut wait_policy = WaitPolicy::new(&Tunables::default(), false);
        assert_eq!(wait_policy.backoff().next(), Next::Look);
        wait_policy.set(&Tunables { wait: Wait::Sleep, ..Tunables::default() });
        assert_eq!(wait_policy.backoff().next(), Next::Sleep);
        wait_policy.set(&Tunables { spin_ns: 0, yields: 1, ..Tunables::default() });
        let mut backoff = wait_policy.backoff();
        assert_eq!([backoff.next(), backoff.next()], [Next::Yield, Next::Sleep]);
    }

    #[test]
    fn yields_that_return_at_once_count_by_their_time() {
        let tunables = Tunables { wait: Wait::Adaptive, yields: 3, ..Tunables::default() };
        let yields_of = |mut backoff: Backoff, took: Duration, is_oversubscribed: bool| {
            let mut wait_policy = WaitPolicy::new(&tunables, is_oversubscribed);
            let mut made = 0;
            while backoff.next() == Next::Yield {
                wait_policy.learn(&mut backoff, took);
                made += 1;
            }
            made
        };
        let new = || Backoff::new(Wait::Adaptive, Duration::ZERO, tunables.yields);
        let yields = |took, is_oversubscribed| yields_of(new().by_time(), took, is_oversubscribed);
        assert_eq!(yields_of(new(), TURN / 10, true), 3, "a wait for a long message");
        assert_eq!(yields(TURN, true), 3);
        assert_eq!(yields(TURN * 7 / 8, true), 4);
        assert_eq!(yields(TURN / 10, true), 30);
        assert_eq!(yields(TURN / 10, false), 3, "with a processor for each rank it has looked before");
        assert_eq!(yields(Duration::ZERO, true), 300, "a clock that stands still");
    }

    #[test]
    fn an_oversubscribed_wait_yields_so_often_and_then_sleeps() {
        let mut backoff = Backoff::new(Wait::Adaptive, Duration::ZERO, 3);
        let steps: Vec<Next> = (0..5).map(|_| backoff.next()).collect();
        assert_eq!(steps, [Next::Yield, Next::Yield, Next::Yield, Next::Sleep, Next::Sleep]);
        backoff.renew();
        assert_eq!(backoff.next(), Next::Yield);
    }
}
