//! Numbers from a seed (SplitMix64: Steele, Lea, Flood, OOPSLA 2014).

/// The generator; the seed is all its state.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns the next number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Returns a number from 0 to `most`.
    pub fn up_to(&mut self, most: u64) -> u64 {
        let number = self.next_u64();
        most.checked_add(1).map_or(number, |n| number % n)
    }

    /// Returns a number below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        self.up_to((n as u64).saturating_sub(1)) as usize
    }

    /// Returns true in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the given values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
