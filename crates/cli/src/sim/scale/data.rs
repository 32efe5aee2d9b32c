//! The input of each rank to an operation, and the expected output.

use crate::sim::arguments::ScaleOperation;

/// The data of one case, in words of eight bytes.
pub struct Data {
    pub operation: ScaleOperation,
    pub ranks: usize,
    /// Words of a block.
    pub words: usize,
}

/// The factors by which a word depends on its giver, its taker and its position. They are odd numbers, so
/// that two words are hardly ever equal.
const FROM: u64 = 0x9E37_79B9_7F4A_7C15;
const TO: u64 = 0xC2B2_AE3D_27D4_EB4F;
const PLACE: u64 = 0x1656_67B1_9E37_79F9;

/// Returns a word that one rank has for another one, or that rank 0 has for all.
fn word(from: usize, to: usize, place: usize) -> u64 {
    sum(from + 1, to, place).wrapping_sub(sum(from, to, place))
}

/// Returns the sum of the words of the first `ranks` ranks.
fn sum(ranks: usize, to: usize, place: usize) -> u64 {
    let ranks = ranks as u64;
    let of_all = (to as u64).wrapping_mul(TO).wrapping_add((place as u64).wrapping_mul(PLACE));
    let givers = ranks * ranks.saturating_sub(1) / 2;
    givers.wrapping_mul(FROM).wrapping_add(ranks.wrapping_mul(of_all))
}

impl Data {
    /// Returns the block of one rank for another one.
    fn block(&self, from: usize, to: usize) -> impl Iterator<Item = u64> {
        (0..self.words).map(move |place| word(from, to, place))
    }

    /// Returns the input of a rank.
    pub fn input(&self, me: usize) -> Vec<u8> {
        use ScaleOperation::*;
        let is_root = me == 0;
        match self.operation {
            Connect | Barrier | Broadcast => Vec::new(),
            Scatter if !is_root => Vec::new(),
            Scatter | Alltoall | ReduceScatter => bytes((0..self.ranks).flat_map(|to| self.block(me, to))),
            Reduce | Allreduce | Gather | Allgather | Scan | Exscan => bytes(self.block(me, 0)),
        }
    }

    /// Returns the memory for the output of a rank. The root of a broadcast has its data there.
    pub fn output(&self, me: usize) -> Vec<u8> {
        use ScaleOperation::*;
        let is_root = me == 0;
        let blocks = match self.operation {
            Connect | Barrier => 0,
            Broadcast if is_root => return bytes(self.block(0, 0)),
            Reduce | Gather if !is_root => 0,
            Gather | Allgather | Alltoall => self.ranks,
            Broadcast | Reduce | Allreduce | Scatter | ReduceScatter | Scan | Exscan => 1,
        };
        vec![0; blocks * self.words * 8]
    }

    /// Returns true if the output of a rank is correct.
    pub fn is_right(&self, me: usize, output: &[u8]) -> bool {
        use ScaleOperation::*;
        let got = output.chunks_exact(8).map(|word| word.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b)));
        let sums = |ranks, to| (0..self.words).map(move |place| sum(ranks, to, place));
        match self.operation {
            Connect | Barrier => true,
            Reduce | Gather if me > 0 => true,
            // The first rank of an exclusive scan has no result.
            Exscan if me == 0 => true,
            Broadcast => got.eq(self.block(0, 0)),
            Reduce | Allreduce => got.eq(sums(self.ranks, 0)),
            Scatter => got.eq(self.block(0, me)),
            Gather | Allgather => got.eq((0..self.ranks).flat_map(|from| self.block(from, 0))),
            Alltoall => got.eq((0..self.ranks).flat_map(|from| self.block(from, me))),
            ReduceScatter => got.eq(sums(self.ranks, me)),
            Scan => got.eq(sums(me + 1, 0)),
            Exscan => got.eq(sums(me, 0)),
        }
    }
}

fn bytes(words: impl Iterator<Item = u64>) -> Vec<u8> {
    words.flat_map(u64::to_le_bytes).collect()
}
