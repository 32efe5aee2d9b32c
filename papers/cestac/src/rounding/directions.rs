//! The rounding directions of one operation, and the rounding instructions.

use super::directed::DirectedRounding;
use super::fused::FusedMultiplyAdd;

/// The instructions that round results up and down. All give the same results to the last bit.
#[derive(Clone, Copy, Debug)]
pub enum Instructions {
    /// Instructions with a direction (AVX-512) for sums and products; other operations are faster with those
    /// below.
    Directed(DirectedRounding, FusedMultiplyAdd),
    /// Two samples in a register, and fused multiply-adds for their errors (FMA).
    Fused(FusedMultiplyAdd),
    /// Instructions that every processor has.
    Portable,
}

impl Instructions {
    /// Returns the fastest instructions of the processor.
    pub fn fastest() -> Self {
        Self::detect().next().unwrap_or(Self::Portable)
    }

    /// Returns all kinds of instructions of the processor, the fastest first.
    pub fn detect() -> impl Iterator<Item = Self> {
        let fused = FusedMultiplyAdd::detect();
        let directed =
            DirectedRounding::detect().zip(fused).map(|(directed, fused)| Self::Directed(directed, fused));
        let fused = fused.map(Self::Fused);
        directed.into_iter().chain(fused).chain([Self::Portable])
    }
}

/// Most samples that are rounded at once.
const MOST: usize = 3;
/// The lowest bit of the directions in a byte, for the first sample.
pub(crate) const FIRST_BIT: u32 = u8::BITS - MOST as u32;

/// Returns one row for each value of the byte's upper bits, with a word for each sample. All rows have 32
/// bytes, so the byte without its other bits is the offset of a row.
const fn rows(down: u64, up: u64) -> [[u64; 4]; 1 << MOST] {
    let mut rows = [[0; 4]; 1 << MOST];
    let mut row = 0;
    while row < rows.len() {
        let mut k = 0;
        while k < MOST {
            rows[row][k] = if row >> k & 1 == 1 { up } else { down };
            k += 1;
        }
        row += 1;
    }
    rows
}

/// All ones for each sample that is rounded up.
static UP: [[u64; 4]; 1 << MOST] = rows(0, u64::MAX);
/// The sign bit of a double for each sample that is rounded down.
static DOWN: [[u64; 4]; 1 << MOST] = rows(1 << 63, 0);
/// The sign bit of a single for each sample that is rounded down.
static SINGLES_DOWN: [[u32; 8]; 1 << MOST] = {
    let mut singles = [[0; 8]; 1 << MOST];
    let mut row = 0;
    while row < DOWN.len() {
        let mut k = 0;
        while k < MOST {
            singles[row][k] = (DOWN[row][k] >> 32) as u32;
            k += 1;
        }
        row += 1;
    }
    singles
};

/// The rounding direction of each of N samples, and the chosen instructions, if any. It is a byte with a bit
/// for each sample from `FIRST_BIT` on (1 to round up). The lower bits have one of the numbers below.
#[derive(Clone, Copy, Debug)]
pub struct Directions<const N: usize>(u8);

/// [`Instructions::Fused`]. It is 0 because its test is the most frequent one and a test for 0 costs least.
const FUSED: u8 = 0;
/// [`Instructions::Directed`].
const DIRECTED: u8 = 1;
/// [`Instructions::Portable`].
const PORTABLE: u8 = 2;
/// No instructions are chosen.
const UNDECIDED: u8 = 3;

/// Returns the number of a kind of instructions.
#[inline(always)]
fn number_of(instructions: Option<Instructions>) -> u8 {
    match instructions {
        Some(Instructions::Fused(_)) => FUSED,
        Some(Instructions::Directed(..)) => DIRECTED,
        Some(Instructions::Portable) => PORTABLE,
        None => UNDECIDED,
    }
}

impl<const N: usize> Directions<N> {
    /// Directions that no fast operation takes.
    pub(crate) const UNDECIDED: Self = Self(UNDECIDED);

    /// Returns the directions of eight operations, the first in the least significant byte. The upper three
    /// bits of a byte decide: 1 rounds up.
    #[inline(always)]
    pub(crate) fn eight(up: u64, instructions: Option<Instructions>) -> [Self; 8] {
        const { assert!(N <= MOST, "more samples than a byte has directions") };
        let upper = u64::from_le_bytes([u8::MAX << FIRST_BIT; 8]);
        let numbers = u64::from_le_bytes([number_of(instructions); 8]);
        (up & upper | numbers).to_le_bytes().map(Self)
    }

    /// Returns these directions with other instructions.
    #[inline(always)]
    pub(crate) fn rounded_by(self, instructions: Option<Instructions>) -> Self {
        Self(self.0 >> FIRST_BIT << FIRST_BIT | number_of(instructions))
    }

    /// Returns the rounding instructions. Their number proves that the processor has them, because numbers
    /// are made from instructions only.
    #[inline(always)]
    pub(crate) fn instructions(self) -> Option<Instructions> {
        match self.0 & UNDECIDED {
            FUSED => Some(Instructions::Fused(FusedMultiplyAdd(()))),
            DIRECTED => Some(Instructions::Directed(DirectedRounding(()), FusedMultiplyAdd(()))),
            PORTABLE => Some(Instructions::Portable),
            _ => None,
        }
    }

    /// Returns the row of a table.
    #[inline(always)]
    fn row(self) -> usize {
        usize::from(self.0 >> FIRST_BIT)
    }

    /// Returns a mask for each sample: all ones to round up, 0 to round down.
    #[inline(always)]
    pub(crate) fn masks(self) -> [u64; N] {
        let row = &UP[self.row()];
        std::array::from_fn(|k| row[k])
    }

    /// Returns the sign bits of doubles that are rounded down.
    #[inline(always)]
    pub(super) fn down(self) -> &'static [u64; 4] {
        &DOWN[self.row()]
    }

    /// Returns the sign bits of singles that are rounded down.
    #[inline(always)]
    pub(super) fn singles_down(self) -> &'static [u32; 8] {
        &SINGLES_DOWN[self.row()]
    }
}
