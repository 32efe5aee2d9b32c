//! Chooses the way to write bulk data for a peer: through the caches, or past them.
//!
//! The speeds differ by up to six times. The faster way depends on whether the two processors share a cache,
//! which can change while the job runs. So both ways are tried from time to time, and the one with the
//! smaller total time of both ends is taken. Stores past the caches are often cheaper for the writer even
//! where the reader pays for them.
//!
//! ```text
//!   writer: trial, clock ──▶ bulk, marked ──▶ reader: clock, copy, clock ──▶ answer word ──▶ writer, at the next trial
//! ```
//! Never reads the data, and decides nothing for short bulks.

use std::time::Instant;

use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};

/// Length in bytes below which bulks go through the caches.
pub(super) const LEAST_PACED: usize = 4 << 10;
/// Length in bytes below which bulks are not timed, because reading the clock would distort the result.
pub(super) const LEAST_TIMED: usize = 8 << 10;
/// Number of bulks in a period. One of them is timed and written the other way, one in the middle is timed
/// and written the present way.
const PERIOD: u32 = 128;
/// Bulks before the first trial, because fresh memory is slower.
const WARM_UP: u32 = 256;

/// The ways to write a bulk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyMethod {
    /// Ordinary stores.
    Cached,
    /// Stores past the caches.
    Past,
}

/// Measured times of one direction of a link.
pub struct Pace {
    way: CopyMethod,
    /// Average time of each way in picoseconds per byte, both ends together; 0 if unknown.
    cached_ps: u64,
    past_ps: u64,
    /// Bulks until this period ends.
    left: u32,
    /// Number of the last bulk that the reader was asked to time.
    number: u32,
    trial: Option<Trial>,
}

/// A bulk whose writing is timed.
struct Trial {
    way: CopyMethod,
    bytes: usize,
    since: Instant,
    /// The time of writing it, once it is written.
    wrote_ns: Option<u64>,
}

impl Pace {
    /// Starts with writes through the caches, until trials say otherwise.
    pub fn new() -> Self {
        Self { way: CopyMethod::Cached, cached_ps: 0, past_ps: 0, left: WARM_UP, number: 0, trial: None }
    }

    /// Returns the time of the present way in picoseconds per byte, both ends together; 0 if unknown.
    /// `answer` is that of [`Pace::choose`].
    pub fn took_ps(&mut self, answer: &AtomicU64) -> u64 {
        if self.trial.is_some() && (answer.load(Relaxed) >> 32) as u32 == self.number {
            self.end(answer);
        }
        match self.way {
            CopyMethod::Cached => self.cached_ps,
            CopyMethod::Past => self.past_ps,
        }
    }

    /// Makes the next suitable bulk a timed one.
    pub fn hasten(&mut self) {
        self.left = if self.left > PERIOD / 2 { PERIOD / 2 + 1 } else { 1 };
    }

    /// Returns the way to write the next bulk; `answer` is the reader's report on the last trial.
    #[inline]
    pub fn choose(&mut self, bytes: usize, answer: &AtomicU64) -> CopyMethod {
        if bytes < LEAST_PACED {
            return CopyMethod::Cached;
        }
        if bytes >= LEAST_TIMED {
            self.left -= 1;
            if self.left == 0 || self.left == PERIOD / 2 {
                return self.begin(bytes, answer);
            }
        }
        self.way
    }

    /// Begins the next trial.
    #[cold]
    fn begin(&mut self, bytes: usize, answer: &AtomicU64) -> CopyMethod {
        self.end(answer);
        let way = match (self.left, self.way) {
            (0, CopyMethod::Cached) => CopyMethod::Past,
            (0, CopyMethod::Past) => CopyMethod::Cached,
            (_, way) => way,
        };
        if self.left == 0 {
            self.left = PERIOD;
        }
        self.trial = Some(Trial { way, bytes, since: Instant::now(), wrote_ns: None });
        way
    }

    /// Notes that the chosen bulk is written. Returns true if the reader must time it.
    #[inline(always)]
    pub fn written(&mut self) -> bool {
        // Most bulks are not timed and need no call.
        self.trial.is_some() && self.note_written()
    }

    #[cold]
    fn note_written(&mut self) -> bool {
        match &mut self.trial {
            Some(trial) if trial.wrote_ns.is_none() => {
                trial.wrote_ns = Some(trial.since.elapsed().as_nanos() as u64);
                self.number = self.number.wrapping_add(1);
                true
            }
            _ => false,
        }
    }

    /// Evaluates the last trial, if the reader has timed it.
    fn end(&mut self, answer: &AtomicU64) {
        // Relaxed: no other memory depends on the word.
        let answer = answer.load(Relaxed);
        let Some(Trial { way, bytes, wrote_ns: Some(wrote_ns), .. }) = self.trial.take() else { return };
        if (answer >> 32) as u32 == self.number {
            let took_ns = wrote_ns + (answer & u64::from(u32::MAX));
            self.learn(way, took_ns.saturating_mul(1000) / bytes as u64);
        }
    }

    fn learn(&mut self, way: CopyMethod, took_ps: u64) {
        let known = match way {
            CopyMethod::Cached => &mut self.cached_ps,
            CopyMethod::Past => &mut self.past_ps,
        };
        // An interruption counts as at most four times the known value.
        *known = match *known {
            0 => took_ps.max(1),
            before => (before * 3 + took_ps.clamp(1, 4 * before)) / 4,
        };
        if self.cached_ps != 0 && self.past_ps != 0 {
            self.way = if self.past_ps < self.cached_ps { CopyMethod::Past } else { CopyMethod::Cached };
        }
    }
}

/// The reader's part of the timing.
#[derive(Default)]
pub struct Reading {
    since: Option<Instant>,
    number: u32,
}

impl Reading {
    /// Starts the clock before a marked bulk is read.
    #[cold]
    pub fn begin(&mut self) {
        self.since = Some(Instant::now());
    }

    /// Notes that a bulk has been read, and reports its time.
    #[inline(always)]
    pub fn end(&mut self, answer: &AtomicU64) {
        if let Some(since) = self.since {
            self.tell_time(since, answer);
        }
    }

    #[cold]
    fn tell_time(&mut self, since: Instant, answer: &AtomicU64) {
        self.since = None;
        self.number = self.number.wrapping_add(1);
        let took_ns = since.elapsed().as_nanos().min(u128::from(u32::MAX)) as u64;
        answer.store(u64::from(self.number) << 32 | took_ns, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes `bulks` bulks with these total times per byte in picoseconds. Returns the number of bulks
    /// written past the caches.
    fn run(pace: &mut Pace, bulks: u32, cached_ps: u64, past_ps: u64) -> u32 {
        const BYTES: usize = 64 << 10;
        let (answer, mut past) = (AtomicU64::new(0), 0);
        for _ in 0..bulks {
            let way = pace.choose(BYTES, &answer);
            past += u32::from(way == CopyMethod::Past);
            if pace.written() {
                let ps = if way == CopyMethod::Past { past_ps } else { cached_ps };
                pace.trial.as_mut().unwrap().wrote_ns = Some(0);
                answer.store((u64::from(pace.number) << 32) + ps * BYTES as u64 / 1000, Relaxed);
            }
        }
        past
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried_now_and_then() {
        let mut pace = Pace::new();
        assert_eq!(run(&mut pace, WARM_UP - 1, 40, 80), 0);
        let past = run(&mut pace, 100 * PERIOD, 40, 80);
        assert_eq!(past, 100, "one trial a period");
        // From here on the processors share no cache.
        run(&mut pace, 8 * PERIOD, 400, 80);
        let cached = 100 * PERIOD - run(&mut pace, 100 * PERIOD, 400, 80);
        assert_eq!(cached, 100, "one trial a period");
        run(&mut pace, 16 * PERIOD, 40, 80);
        assert_eq!(run(&mut pace, 100 * PERIOD, 40, 80), 100);
    }

    #[test]
    fn one_interruption_changes_nothing() {
        let mut pace = Pace::new();
        run(&mut pace, 10 * PERIOD, 40, 80);
        pace.learn(CopyMethod::Cached, 1_000_000);
        assert_eq!(run(&mut pace, PERIOD / 4, 40, 80), 0);
    }

    #[test]
    fn a_trial_that_the_reader_has_not_timed_counts_for_nothing() {
        let (mut pace, stale) = (Pace::new(), AtomicU64::new(7 << 32 | 1));
        for _ in 0..4 * PERIOD {
            pace.choose(64 << 10, &stale);
            pace.written();
        }
        assert_eq!((pace.cached_ps, pace.past_ps), (0, 0));
    }

    #[test]
    fn the_reader_numbers_its_answers_as_the_writer_does_its_trials() {
        let (mut pace, mut reading, answer) = (Pace::new(), Reading::default(), AtomicU64::new(0));
        for _ in 0..4 * WARM_UP {
            pace.choose(64 << 10, &answer);
            if pace.written() {
                reading.begin();
            }
            reading.end(&answer);
        }
        assert!(pace.cached_ps > 0 && pace.past_ps > 0);
    }

    #[test]
    fn a_trial_that_was_never_sent_is_not_counted() {
        let mut pace = Pace { left: 1, ..Pace::new() };
        pace.choose(64 << 10, &AtomicU64::new(0));
        pace.left = 1;
        pace.choose(64 << 10, &AtomicU64::new(0));
        assert!(pace.written());
        assert_eq!(pace.number, 1);
    }

    #[test]
    fn short_bulk_goes_through_the_caches_and_counts_for_nothing() {
        let (mut pace, answer) = (Pace { way: CopyMethod::Past, ..Pace::new() }, AtomicU64::new(0));
        assert!((0..10 * WARM_UP).all(|_| pace.choose(LEAST_PACED - 1, &answer) == CopyMethod::Cached));
        assert!((0..10 * WARM_UP).all(|_| pace.choose(LEAST_PACED, &answer) == CopyMethod::Past));
        assert_eq!(pace.left, WARM_UP);
    }
}
