//! The directions of one operation's roundings, and the instructions that round.

use super::directed::DirectedRounding;
use super::fused::FusedMultiplyAdd;

/// Instructions by which results are rounded up and down. All have the same results to the last bit.
#[derive(Clone, Copy, Debug)]
pub enum Instructions {
    /// Those that name their direction (AVX-512), for sums and products; the others are faster with those below.
    Directed(DirectedRounding, FusedMultiplyAdd),
    /// Two samples in a register, and fused multiply-adds for their errors (FMA).
    Fused(FusedMultiplyAdd),
    /// Those that each processor has.
    Portable,
}

impl Instructions {
    /// Returns the fastest that the processor has.
    pub fn fastest() -> Self {
        Self::detect().next().unwrap_or(Self::Portable)
    }

    /// Returns all that the processor has, the fastest first.
    pub fn detect() -> impl Iterator<Item = Self> {
        let fused = FusedMultiplyAdd::detect();
        let directed =
            DirectedRounding::detect().zip(fused).map(|(directed, fused)| Self::Directed(directed, fused));
        let fused = fused.map(Self::Fused);
        directed.into_iter().chain(fused).chain([Self::Portable])
    }
}

/// The direction of the rounding of each of N samples.
#[derive(Clone, Copy, Debug)]
pub struct Directions<const N: usize> {
    /// One bit of each word decides: 1 to round up.
    pub(super) words: [u64; N],
    /// Bits above the one that decides.
    pub(super) above: u32,
    pub(super) instructions: Instructions,
}

impl<const N: usize> Directions<N> {
    /// The directions that bit 63 - `above` of each word decides: 1 to round up. `above` is less than 64.
    #[inline(always)]
    pub fn new(words: [u64; N], above: u32, instructions: Instructions) -> Self {
        Self { words, above, instructions }
    }

    /// A mask for each sample: all ones to round up, 0 to round down.
    #[inline(always)]
    pub(crate) fn masks(self) -> [u64; N] {
        self.words.map(|word| (word >> ((63 - self.above) & 63) & 1).wrapping_neg())
    }
}
