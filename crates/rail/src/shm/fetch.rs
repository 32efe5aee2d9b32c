//! Which messages the peer reads from the memory of their sender, with one copy, and how long that took.
//!
//! The kernel copies (`process_vm_readv`), one end works and the other one waits: where the sender has not written the message since it
//! was last read, and above some megabytes, that is faster than two copies through the ring; with what is fresh in the sender's cache it
//! takes three times as long. Neither is known beforehand, so both are timed: now and then some messages in a row go the other way.
//!
//! ```text
//!   reader: reads the sender's word at start: may it? ──▶ able      each read timed ──▶ times, by length ──▶ sender's choice
//! ```
//! Owns the choice and the words it is made of. Never reads memory itself.

use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};

/// Shorter messages go through the ring.
const LEAST: usize = 32 << 10;
/// Up to so many bytes each, and more: the lengths whose times are kept apart.
const CLASSES: [usize; 3] = [128 << 10, 512 << 10, 2 << 20];
/// A message that is read has so much beside its bytes: the announcement and its answer.
const BESIDE_PS: u64 = 500_000;
/// Long bulks through the ring before the first trial; doubled with each, up to `LONGEST`.
const FIRST: u32 = 128;
const LONGEST: u32 = 1024;
/// As many messages in a row are a trial: the first one finds the reader's caches without any of it.
const TRIAL: u32 = 3;
/// Of so many that are read one goes through the ring.
const PERIOD: u32 = 64;

/// Messages that caches hold are read if that takes less than so many hundredths of the time through the ring: the sender's next stores
/// there cost more afterwards, because its lines have gone to the reader.
const BEGIN: u64 = 60;
/// And as long as it takes less than these.
const STAY: u64 = 70;
/// Longer ones are read unless it takes more than these.
const SLOWER: u64 = 120;
/// The same where both ends share processors: two copies take their turns on one of them, and what the ring takes was measured of
/// messages that caches hold. All that are long enough are read there.
const SLOWER_SHARED: u64 = 200;

/// Whether messages are read from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SingleCopy {
    /// Where it can be and is measured to be faster.
    Auto,
    /// Where it can be.
    Always,
    /// Nowhere.
    Never,
}

/// What the reader tells the sender; in shared memory.
#[repr(C)]
#[derive(Default)]
pub struct FetchTimes {
    /// 1 if the reader may read the sender's memory.
    able: AtomicU32,
    /// Picoseconds for each byte, by length; 0 as long as that is not known.
    took_ps: [AtomicU32; CLASSES.len() + 1],
}

fn class(bytes: usize) -> usize {
    CLASSES.iter().take_while(|most| bytes > **most).count()
}

impl FetchTimes {
    /// The reader may read the sender's memory.
    pub fn say_able(&self) {
        self.able.store(1, Relaxed);
    }

    /// So many bytes of a message of `message` were read in this time. One that took longer counts for a quarter.
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

    /// How long it takes to read a message so long, in hundredths of the time in which it goes through a ring that takes `ring_ps` for
    /// each byte; nothing if one of the two is not known.
    fn hundredths(&self, bytes: usize, ring_ps: u64) -> Option<u64> {
        let took = u64::from(self.took_ps[class(bytes)].load(Relaxed)) * bytes as u64;
        let ring = ring_ps.saturating_mul(bytes as u64) / 100;
        (took != 0 && ring != 0).then(|| (took + BESIDE_PS) / ring)
    }
}

/// The sender's choice.
pub struct Offers {
    how: SingleCopy,
    /// Longer messages are read unless that is measured to take more than so many hundredths of the time through the ring.
    long: usize,
    slower: u64,
    /// Whether shorter ones are read at present, by length.
    reads: [bool; CLASSES.len()],
    /// Messages of a trial that are still to be offered.
    trial: u32,
    /// Long bulks until the next trial, and how many there were before it.
    left: u32,
    interval: u32,
    /// Messages offered beside trials.
    offered: u32,
    /// The next one goes through the ring.
    skip: bool,
}

impl Offers {
    /// Before any message; `shared`: both ends share processors, so that no copy is made beside another.
    pub fn new(how: SingleCopy, shared: bool) -> Self {
        let (long, slower) = if shared { (LEAST - 1, SLOWER_SHARED) } else { (CLASSES[2], SLOWER) };
        Self {
            how,
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

    /// Whether a message of so many bytes had better be read.
    #[inline]
    pub fn prefers_peer_copy(&mut self, bytes: usize, times: &FetchTimes, ring_ps: u64) -> bool {
        if bytes < LEAST || self.how == SingleCopy::Never || !times.is_able() {
            return false;
        }
        self.how == SingleCopy::Always
            || self.trial > 0
            || !self.skip && self.is_faster(bytes, times, ring_ps)
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

    /// A message was offered.
    pub fn note_offer(&mut self) {
        if self.trial > 0 {
            self.trial -= 1;
            return;
        }
        self.offered += 1;
        self.skip = self.offered.is_multiple_of(PERIOD);
    }

    /// A long bulk goes through the ring; says whether it is to be timed: before a trial, and among messages that are read.
    #[inline]
    pub fn bulk(&mut self) -> bool {
        if self.how != SingleCopy::Auto {
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

    /// Sends so many messages in four bulks each, of which reading takes so many picoseconds a byte; how many were read.
    fn run(offers: &mut Offers, times: &FetchTimes, messages: u32, (ring_ps, fetch_ps): (u64, u64)) -> u32 {
        let mut fetched = 0;
        for _ in 0..messages {
            if offers.prefers_peer_copy(BYTES, times, ring_ps) {
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
        let (mut offers, times) = (Offers::new(SingleCopy::Auto, false), FetchTimes::default());
        assert_eq!(run(&mut offers, &times, 1000, (100, 10)), 0);
        times.say_able();
        assert!(!Offers::new(SingleCopy::Always, false).prefers_peer_copy(LEAST - 1, &times, 100));
        assert!(Offers::new(SingleCopy::Always, false).prefers_peer_copy(LEAST, &times, 100));
        assert!(!Offers::new(SingleCopy::Never, false).prefers_peer_copy(LEAST, &times, 100));
    }

    #[test]
    fn the_faster_way_is_taken_and_the_other_one_tried() {
        let (mut offers, times) = (Offers::new(SingleCopy::Auto, false), FetchTimes::default());
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
        let (mut offers, times) = (Offers::new(SingleCopy::Auto, false), FetchTimes::default());
        times.say_able();
        assert!(run(&mut offers, &times, 10_000, (100, 75)) < 150);
    }

    #[test]
    fn long_messages_are_read_unless_that_is_slower_and_lengths_are_learnt_apart() {
        let (times, bytes) = (FetchTimes::default(), 1 << 20);
        times.say_able();
        let prefers_peer_copy =
            |shared, bytes| Offers::new(SingleCopy::Auto, shared).prefers_peer_copy(bytes, &times, 100);
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
                |shared| Offers::new(SingleCopy::Auto, shared).prefers_peer_copy(bytes, &times, 100);
            assert_eq!((prefers_peer_copy(true), prefers_peer_copy(false)), (is_read, false), "{took_ps}");
        }
        assert!(prefers_peer_copy(true, LEAST) && !prefers_peer_copy(true, LEAST - 1));
    }
}
