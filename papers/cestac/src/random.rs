//! Random bits: one stream for each sample, one bit for each operation.
//!
//! Stream k of a seed is the same in both forms. The sequential form takes a bit from each of three streams;
//! rank k of the parallel form takes one from stream k. Bits come in words of 64 and are then sorted by
//! operation. An operation costs a count and one byte, with the bits of all samples and the rounding
//! instructions.

use std::array::from_fn;
use std::cell::Cell;

use crate::rounding::{Directions, FIRST_BIT, Instructions};

/// Number of words that are taken at once.
const WORDS: usize = 3;
/// Number of operations that these words serve.
const OPERATIONS: usize = WORDS * u64::BITS as usize;

/// N streams that advance together.
pub struct Streams<const N: usize> {
    /// Number of operations whose bits are used up: any byte is an index of `directions`.
    used: Cell<u8>,
    /// The directions of each operation. The entries after them are undecided, which ends the fast path.
    directions: [Cell<Directions<N>>; 1 << u8::BITS],
    instructions: Cell<Instructions>,
    /// The instructions to use; none for the fastest ones.
    wanted: Cell<Option<Instructions>>,
    /// True if no operation takes the fast path.
    is_slow: Cell<bool>,
    states: [Cell<u64>; N],
}

impl<const N: usize> Streams<N> {
    /// Makes streams 0 to N - 1 of seed 0.
    pub const fn new() -> Self {
        let mut states = [const { Cell::new(0) }; N];
        let mut k = 0;
        while k < N {
            states[k] = Cell::new(initial_state(0, k as u64));
            k += 1;
        }
        Self {
            used: Cell::new(OPERATIONS as u8),
            directions: [const { Cell::new(Directions::UNDECIDED) }; 1 << u8::BITS],
            instructions: Cell::new(Instructions::Portable),
            wanted: Cell::new(None),
            is_slow: Cell::new(false),
            states,
        }
    }

    /// Starts the streams `first` to `first` + N - 1 of `seed`. Rounds with `instructions`, or with the
    /// fastest ones.
    pub fn start(&self, seed: u64, first: u64, instructions: Option<Instructions>) {
        self.wanted.set(instructions);
        self.used.set(OPERATIONS as u8);
        for (stream, state) in (first..).zip(&self.states) {
            state.set(initial_state(seed, stream));
        }
    }

    /// Disables or enables the fast path for all operations.
    pub fn slow_down(&self, is_slow: bool) {
        self.is_slow.set(is_slow);
        for directions in &self.directions[..OPERATIONS] {
            directions.set(directions.get().rounded_by(self.fast_instructions()));
        }
    }

    /// Takes one bit of each stream.
    #[inline(always)]
    pub fn take(&self) -> Directions<N> {
        if usize::from(self.used.get()) == OPERATIONS {
            self.renew();
        }
        let used = self.used.get();
        self.used.set(used + 1);
        self.directions[usize::from(used)].get().rounded_by(Some(self.instructions.get()))
    }

    /// Takes one bit of each stream for an operation, unless the operation returns none.
    #[inline(always)]
    pub fn take_for<R>(&self, operation: impl FnOnce(Directions<N>) -> Option<R>) -> Option<R> {
        let used = self.used.get();
        let result = operation(self.directions[usize::from(used)].get())?;
        self.used.set(used + 1);
        Some(result)
    }

    /// Returns the instructions of the fast path.
    fn fast_instructions(&self) -> Option<Instructions> {
        (!self.is_slow.get()).then_some(self.instructions.get())
    }

    #[cold]
    #[inline(never)]
    fn renew(&self) {
        self.used.set(0);
        self.instructions.set(self.wanted.get().unwrap_or_else(Instructions::fastest));
        let instructions = self.fast_instructions();
        for places in self.directions[..OPERATIONS].chunks_exact(u64::BITS as usize) {
            let words: [_; N] = from_fn(|k| self.word(k).to_be_bytes());
            for (eighth, places) in places.chunks_exact(8).enumerate() {
                let up =
                    words.iter().zip(FIRST_BIT..).map(|(word, place)| spread(word[eighth]) << place).sum();
                for (place, directions) in places.iter().zip(Directions::eight(up, instructions)) {
                    place.set(directions);
                }
            }
        }
    }

    /// Returns the next word of a stream.
    fn word(&self, stream: usize) -> u64 {
        let state = &self.states[stream];
        state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        mixed(state.get())
    }
}

/// Returns each bit of a byte as a byte of 0 or 1, the most significant bit in the least significant byte.
const fn spread(bits: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let single = (bits as u64 * ONES) & 0x0102_0408_1020_4080;
    (single + 0x7f * ONES) >> 7 & ONES
}

/// Returns the first state of a stream; streams of one seed are far apart.
const fn initial_state(seed: u64, stream: u64) -> u64 {
    mixed(mixed(seed) ^ mixed(!stream))
}

/// Mixes a word so that each bit of the result depends on all bits of `word` (SplitMix64).
const fn mixed(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_alone_equals_that_among_three() {
        let (together, alone) = (Streams::<3>::new(), Streams::<1>::new());
        for (seed, k) in [(0, 0), (7, 1), (7, 2), (u64::MAX, 2)] {
            together.start(seed, 0, None);
            alone.start(seed, k as u64, None);
            assert!((0..1000).all(|_| together.take().masks()[k] == alone.take().masks()[0]));
        }
    }

    #[test]
    fn bits_of_a_word_are_taken_from_the_most_significant_one_on() {
        let streams = Streams::<3>::new();
        streams.start(7, 0, None);
        for operation in 0..1000 {
            let step = 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(operation / 64 + 1);
            let expected = [0, 1, 2].map(|k| {
                let word = mixed(initial_state(7, k).wrapping_add(step));
                (word >> (63 - operation % 64) & 1).wrapping_neg()
            });
            assert_eq!(streams.take().masks(), expected, "{operation}");
        }
    }

    #[test]
    fn the_fast_way_takes_the_same_bits_and_ends_where_it_must() {
        let (fast, slow) = (Streams::<3>::new(), Streams::<3>::new());
        fast.start(7, 0, None);
        slow.start(7, 0, None);
        for operation in 0..1000 {
            // An operation without a result takes no bits; neither does one while the fast path is disabled.
            assert!(fast.take_for(|_| None::<()>).is_none());
            fast.slow_down(operation % 7 == 0);
            let taken = fast.take_for(|directions| directions.instructions().map(|_| directions));
            assert_eq!(taken.is_none(), operation % 7 == 0 || operation % OPERATIONS == 0, "{operation}");
            let taken = taken.unwrap_or_else(|| fast.take());
            assert_eq!(taken.masks(), slow.take().masks(), "{operation}");
        }
    }

    #[test]
    fn bits_are_fair_and_streams_differ() {
        let streams = Streams::<3>::new();
        streams.start(1, 0, None);
        let taken: Vec<_> = (0..30_000).map(|_| streams.take().masks()).collect();
        let count = |is: &dyn Fn(&[u64; 3]) -> bool| taken.iter().filter(|bits| is(bits)).count();
        for k in 0..3 {
            assert!((14_500..15_500).contains(&count(&|bits| bits[k] == u64::MAX)));
            assert!((14_500..15_500).contains(&count(&|bits| bits[k] == bits[(k + 1) % 3])));
        }
        assert_eq!(count(&|bits| bits.iter().any(|bit| *bit != 0 && *bit != u64::MAX)), 0);
    }
}
