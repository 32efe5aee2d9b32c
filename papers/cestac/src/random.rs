//! Random bits: one stream for each sample, one bit for each operation.
//!
//! Stream k of a seed is the same in both forms: the sequential form takes a bit from each of three streams, rank k of
//! the parallel form takes one from stream k. Bits come in words of 64, so that an operation costs a count and a
//! shift, of all samples at once.

use std::cell::Cell;

use crate::rounding::{Directions, Instructions};

/// Operations that a word lasts for.
const BITS: u32 = u64::BITS;

/// N streams that advance together.
pub struct Streams<const N: usize> {
    /// Bits of the words that are used up.
    used: Cell<u32>,
    instructions: Cell<Instructions>,
    /// The instructions to use; nothing for the fastest ones.
    wanted: Cell<Option<Instructions>>,
    words: [Cell<u64>; N],
    states: [Cell<u64>; N],
}

impl<const N: usize> Streams<N> {
    /// Streams 0 to N - 1 of seed 0.
    pub const fn new() -> Self {
        let mut states = [const { Cell::new(0) }; N];
        let mut k = 0;
        while k < N {
            states[k] = Cell::new(initial_state(0, k as u64));
            k += 1;
        }
        Self {
            used: Cell::new(BITS),
            instructions: Cell::new(Instructions::Portable),
            wanted: Cell::new(None),
            words: [const { Cell::new(0) }; N],
            states,
        }
    }

    /// Begins with the streams `first` to `first` + N - 1 of `seed`, and rounds with `instructions`, or with the fastest.
    pub fn start(&self, seed: u64, first: u64, instructions: Option<Instructions>) {
        self.wanted.set(instructions);
        self.used.set(BITS);
        for (stream, state) in (first..).zip(&self.states) {
            state.set(initial_state(seed, stream));
        }
    }

    /// Takes one bit of each stream.
    #[inline(always)]
    pub fn take(&self) -> Directions<N> {
        if self.used.get() == BITS {
            self.renew();
        }
        let used = self.used.get();
        self.used.set(used + 1);
        Directions::new(std::array::from_fn(|k| self.words[k].get()), used, self.instructions.get())
    }

    #[cold]
    #[inline(never)]
    fn renew(&self) {
        for (word, state) in self.words.iter().zip(&self.states) {
            state.set(state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
            word.set(mixed(state.get()));
        }
        self.used.set(0);
        self.instructions.set(self.wanted.get().unwrap_or_else(Instructions::fastest));
    }
}

/// Where a stream begins: streams of one seed lie far apart.
const fn initial_state(seed: u64, stream: u64) -> u64 {
    mixed(mixed(seed) ^ mixed(!stream))
}

/// Each bit of the result depends on all bits of `word` (SplitMix64).
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
