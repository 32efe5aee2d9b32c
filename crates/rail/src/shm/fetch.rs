//! Selects the messages that are copied once, from the sender's memory to the receiver's, and measures their
//! copy time.
//!
//! The kernel copies (`process_vm_readv`, `process_vm_writev`). Where the machine's profile says that both ends at once are faster than two
//! copies through the ring, both copy: the receiver from the front, the sender from the back.
//!
//! Otherwise the receiver may copy alone, while the sender waits. This beats two copies through the ring for
//! messages above some megabytes, or if the sender has not written the message since the last read. For data
//! that is fresh in the sender's cache it takes three times as long. Neither is known beforehand, so both
//! ways are timed: from time to time some messages in a row go the other way.
//!
//! ```text
//!   reader: reads the sender's word at start: may it? ──▶ able      each read timed ──▶ times, by length ──▶ sender's choice
//! ```
//! Owns the choice and its shared words. Never reads memory itself.

use canele_profile::{HostProfile, PairCosts};
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

use crate::CopyingEnds;

/// Length in bytes from which a message may be copied by its receiver alone; shorter ones go through the
/// ring.
const LEAST: usize = 32 << 10;
/// Length in bytes from which both ends may copy a message.
const LEAST_OF_BOTH: usize = 16 << 10;
/// Upper lengths in bytes of the classes whose times are kept apart; the last class has no limit.
const CLASSES: [usize; 3] = [128 << 10, 512 << 10, 2 << 20];
/// Fixed time of a message that is read, in picoseconds: the announcement and its answer.
const BESIDE_PS: u64 = 500_000;
/// Number of long bulks through the ring before the first trial; it doubles with each trial, up to `LONGEST`.
const FIRST: u32 = 128;
const LONGEST: u32 = 1024;
/// Number of successive messages of a trial: the first one finds none of its data in the reader's caches.
const TRIAL: u32 = 3;
/// Of this number of read messages, one goes through the ring.
const PERIOD: u32 = 64;

/// Messages that fit in caches are read if that takes fewer hundredths of the ring's time than this. The
/// limit is below 100 because the sender's next stores are slower after its cache lines went to the reader.
const BEGIN: u64 = 60;
/// Such messages continue to be read below this number of hundredths.
const STAY: u64 = 70;
/// Longer messages are read unless that takes more hundredths than this.
const SLOWER: u64 = 120;
/// The limit for longer messages where both ends share processors. There two copies take turns on one
/// processor, and the ring's time was measured with cached messages. All long enough messages are read there.
const SLOWER_SHARED: u64 = 200;

/// Policy for copying messages directly from memory to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingleCopy {
    /// Messages are copied directly where that is possible and faster.
    Auto {
        /// Length in bytes from which both ends copy.
        both_from: usize,
    },
    /// The receiver alone copies, where possible.
    Always,
    /// Both ends copy, where possible.
    Both,
    /// No message is copied directly.
    Never,
}

impl SingleCopy {
    /// Returns the length from which on both ends copy; `usize::MAX` if they never do.
    pub fn both_from(self) -> usize {
        match self {
            Self::Auto { both_from } => both_from,
            Self::Both => LEAST_OF_BOTH,
            Self::Always | Self::Never => usize::MAX,
        }
    }
}

/// Returns the length from which on a copy by both ends beats the ring while `pairs` pairs copy at once. The
/// estimate uses the host's profile; it is `usize::MAX` if no length qualifies.
pub fn both_ends_from(profile: &HostProfile, pairs: usize) -> usize {
    let PairCosts { line_ns, ring_rate: ring, .. } = profile.pair_costs();
    let Some(single) = profile.single_copy else { return usize::MAX };
    let [one, both] = [false, true].map(|both_ends| single.rate(pairs, both_ends));
    if both <= ring.max(one) {
        return usize::MAX;
    }
    // The announcement and its answer cost a cache line each. The two ends make their system calls at the
    // same time.
    let beside_ns = u64::from(single.call_ns) + 2 * u64::from(line_ns);
    // Solves bytes ÷ ring = beside + bytes ÷ both.
    let bytes = beside_ns * u64::from(ring) / 1000 * u64::from(both) / u64::from(both - ring);
    usize::try_from(bytes).unwrap_or(usize::MAX).max(LEAST_OF_BOTH)
}

/// Times that the reader reports to the sender, in shared memory.
#[repr(C)]
#[derive(Default)]
pub struct FetchTimes {
    /// 1 if the reader may read the sender's memory.
    able: AtomicU32,
    /// Picoseconds for each byte, by length class; 0 if unknown.
    took_ps: [AtomicU32; CLASSES.len() + 1],
}

fn class(bytes: usize) -> usize {
    CLASSES.iter().take_while(|most| bytes > **most).count()
}

impl FetchTimes {
    /// Reports that the reader may read the sender's memory.
    pub fn say_able(&self) {
        self.able.store(1, Relaxed);
    }

    /// Notes that `bytes` bytes of a message of `message` bytes were read in `took_ns`. A slower read counts
    /// for a quarter.
    pub fn learn(&self, message: usize, bytes: usize, took_ns: u64) {
        let took = (took_ns.saturating_mul(1000) / bytes.max(1) as u64).clamp(1, 1 << 24);
        let time = &self.took_ps[class(message)];
        let before = u64::from(time.load(Relaxed));
        let now = if before == 0 || took < before { took } else { (3 * before + took.min(4 * before)) / 4 };
        time.store(now as u32, Relaxed);
    }

    fn is_able(&self) -> bool {
        self.able.load(Relaxed) != 0
    }

    /// Returns the time to read a message in hundredths of its time through a ring of `ring_ps` for each
    /// byte; `None` if either is unknown.
    fn hundredths(&self, bytes: usize, ring_ps: u64) -> Option<u64> {
        let took = u64::from(self.took_ps[class(bytes)].load(Relaxed)) * bytes as u64;
        let ring = ring_ps.saturating_mul(bytes as u64) / 100;
        (took != 0 && ring != 0).then(|| (took + BESIDE_PS) / ring)
    }
}

/// The sender's choice between ring and direct copy.
pub struct Offers {
    how: SingleCopy,
    /// Length from which both ends copy messages.
    both_from: usize,
    /// Messages above this length are read unless that measured more than `slower` hundredths of the ring's
    /// time.
    long: usize,
    slower: u64,
    /// True for each class of shorter messages that are read at present.
    reads: [bool; CLASSES.len()],
    /// Messages of a trial that are still to be offered.
    trial: u32,
    /// Long bulks left until the next trial, and the length of the interval before it.
    left: u32,
    interval: u32,
    /// Number of messages offered outside of trials.
    offered: u32,
    /// True if the next message goes through the ring.
    skip: bool,
}

impl Offers {
    /// Makes the state before any message. `shared` is true if both ends share processors, so that copies do
    /// not run in parallel.
    pub fn new(how: SingleCopy, shared: bool) -> Self {
        let (long, slower) = if shared { (LEAST - 1, SLOWER_SHARED) } else { (CLASSES[2], SLOWER) };
        Self {
            how,
            both_from: how.both_from(),
            long,
            slower,
            reads: Default::default(),
            trial: 0,
            left: FIRST,
            interval: FIRST,
            offered: 0,
            skip: false,
        }
    }

    /// Returns the ends that should copy a message of `bytes` bytes; `None` if it goes through the ring.
    #[inline]
    pub fn prefers_peer_copy(
        &mut self,
        bytes: usize,
        times: &FetchTimes,
        ring_ps: impl FnOnce() -> u64,
    ) -> Option<CopyingEnds> {
        if bytes < LEAST.min(self.both_from) || self.how == SingleCopy::Never || !times.is_able() {
            return None;
        }
        if bytes >= self.both_from {
            return Some(CopyingEnds::Both);
        }
        let is_read = match self.how {
            SingleCopy::Always => true,
            SingleCopy::Both | SingleCopy::Never => false,
            SingleCopy::Auto { .. } => {
                self.trial > 0 || !self.skip && self.is_faster(bytes, times, ring_ps())
            }
        };
        (is_read && bytes >= LEAST).then_some(CopyingEnds::Receiver)
    }

    /// Returns true if both ends copy a message of `bytes` bytes and the peer may access the memory of this
    /// process.
    #[inline]
    pub fn prefers_both_ends(&self, bytes: usize, times: &FetchTimes) -> bool {
        bytes >= self.both_from && times.is_able()
    }

    fn is_faster(&mut self, bytes: usize, times: &FetchTimes, ring_ps: u64) -> bool {
        let took = times.hundredths(bytes, ring_ps);
        if bytes > self.long {
            return took.is_none_or(|took| took < self.slower);
        }
        let reads = &mut self.reads[class(bytes)];
        *reads = took.is_some_and(|took| took < if *reads { STAY } else { BEGIN });
        *reads
    }

    /// Notes that a message was offered.
    pub fn note_offer(&mut self) {
        if self.trial > 0 {
            self.trial -= 1;
            return;
        }
        self.offered += 1;
        self.skip = self.offered.is_multiple_of(PERIOD);
    }

    /// Notes that a long bulk goes through the ring. Returns true if it must be timed: before a trial, or
    /// among messages that are read.
    #[inline]
    pub fn bulk(&mut self) -> bool {
        if !matches!(self.how, SingleCopy::Auto { .. }) {
            return false;
        }
        self.left -= 1;
        let begins = self.left == 0;
        if begins {
            self.interval = (2 * self.interval).min(LONGEST);
            (self.left, self.trial) = (self.interval, TRIAL);
        }
        begins | std::mem::take(&mut self.skip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 64 << 10;
    /// The policy where both ends are never faster than the ring.
    const AUTO: SingleCopy = SingleCopy::Auto { both_from: usize::MAX };

    /// Sends so many messages in four bulks each, of which reading takes so many picoseconds a byte; how many were read.
    fn run(offers: &mut Offers, times: &FetchTimes, messages: u32, (ring_ps, fetch_ps): (u64, u64)) -> u32 {
        let mut fetched = 0;
        for _ in 0..messages {
            if offers.prefers_peer_copy(BYTES, times, || ring_ps).is_some() {
                offers.note_offer();
                times.learn(BYTES, BYTES, fetch_ps * BYTES as u64 / 1000);
                fetched += 1;
            } else {
                (0..4).for_each(|_| {
                    offers.bulk();
                });
            }
        }
        fetched
    }

    #[test]
    fn nothing_is_read_of_whom_it_cannot_be_and_nothing_short() {
        let (mut offers, times) = (Offers::new(AUTO, false), FetchTimes::default());
        assert_eq!(run(&mut offers, &times, 1000, (100, 10)), 0);
        times.say_able();
        let ends = |how, bytes| Offers::new(how, false).prefers_peer_copy(bytes, &times, || 100);
        assert_eq!(ends(SingleCopy::Always, LEAST - 1), None);
        assert_eq!(ends(SingleCopy::Always, LEAST), Some(CopyingEnds::Receiver));
        assert_eq!(ends(SingleCopy::Both, LEAST_OF_BOTH - 1), None);
        assert_eq!(ends(SingleCopy::Both, LEAST_OF_BOTH), Some(CopyingEnds::Both));
        assert_eq!(ends(SingleCopy::Never, 64 << 20), None);
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried() {
        let (mut offers, times) = (Offers::new(AUTO, false), FetchTimes::default());
        times.say_able();
        let tried = run(&mut offers, &times, 10_000, (100, 300));
        assert!((3..=150).contains(&tried), "{tried} of 10000 messages were read though that is slower");
        let read = run(&mut offers, &times, 10_000, (100, 40));
        assert!(read > 9000, "{read} of 10000 messages were read though that is faster");
        let read = run(&mut offers, &times, 10_000, (100, 300));
        assert!(read < 150, "{read} of 10000 messages were read though that is slower again");
    }

    #[test]
    fn what_caches_hold_is_read_only_where_that_is_much_faster() {
        let (mut offers, times) = (Offers::new(AUTO, false), FetchTimes::default());
        times.say_able();
        assert!(run(&mut offers, &times, 10_000, (100, 75)) < 150);
    }

    #[test]
    fn long_messages_are_read_unless_that_is_slower_and_lengths_are_learnt_apart() {
        let (times, bytes) = (FetchTimes::default(), 1 << 20);
        times.say_able();
        let prefers_peer_copy =
            |shared, bytes| Offers::new(AUTO, shared).prefers_peer_copy(bytes, &times, || 100).is_some();
        assert!(prefers_peer_copy(false, 8 * bytes) && prefers_peer_copy(true, 8 * bytes));
        assert!(!prefers_peer_copy(false, bytes) && prefers_peer_copy(true, bytes));
        times.learn(8 * bytes, bytes, 300_000);
        assert!(!prefers_peer_copy(false, 8 * bytes) && prefers_peer_copy(true, bytes));
        // 150 and 250 hundredths of the 100 ps for each byte.
        for (took_ps, is_read) in [(150, true), (250, false)] {
            let times = FetchTimes::default();
            times.say_able();
            times.learn(bytes, bytes, took_ps * bytes as u64 / 1000);
            let prefers_peer_copy =
                |shared| Offers::new(AUTO, shared).prefers_peer_copy(bytes, &times, || 100).is_some();
            assert_eq!((prefers_peer_copy(true), prefers_peer_copy(false)), (is_read, false), "{took_ps}");
        }
        assert!(prefers_peer_copy(true, LEAST) && !prefers_peer_copy(true, LEAST - 1));
    }

    #[test]
    fn both_ends_copy_from_the_length_on_that_the_setting_says_and_where_the_peer_may() {
        let (times, how) = (FetchTimes::default(), SingleCopy::Auto { both_from: 20_000 });
        let mut offers = Offers::new(how, false);
        let mut ends = |bytes, times: &FetchTimes| {
            let ends = offers.prefers_peer_copy(bytes, times, || 100);
            assert_eq!(offers.prefers_both_ends(bytes, times), ends == Some(CopyingEnds::Both));
            ends
        };
        assert_eq!(ends(20_000, &times), None, "the peer may not");
        times.say_able();
        assert_eq!(ends(19_999, &times), None);
        assert_eq!(ends(20_000, &times), Some(CopyingEnds::Both));
        assert_eq!(ends(64 << 20, &times), Some(CopyingEnds::Both));
    }

    #[test]
    fn both_ends_win_where_caches_are_far_and_few_pairs_copy() {
        let (near, far) = (HostProfile::SHARED_CACHES, HostProfile::OWN_CACHES);
        assert_eq!(both_ends_from(&near, 1), usize::MAX, "the ring is faster");
        let from = both_ends_from(&far, 1);
        assert!((16 << 10..32 << 10).contains(&from), "from {from} bytes on");
        assert!(both_ends_from(&far, 4) > from, "more pairs are slower");
        assert_eq!(both_ends_from(&far, 16), usize::MAX);
        assert_eq!(both_ends_from(&HostProfile { single_copy: None, ..far }, 1), usize::MAX);
    }
}
