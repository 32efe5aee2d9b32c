//! Spare memory of received payload, by size: a small message never takes the memory of a large one. So at
//! most twice the needed memory is allocated.

/// The most vectors of a size that are kept.
const MOST: usize = 64;

/// Vectors whose capacity is at least `1 << n`, at place `n`; larger ones are not kept.
#[derive(Default)]
pub(crate) struct Spare([Vec<Vec<u8>>; 32]);

impl Spare {
    /// Returns `len` bytes with any content.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let size = len.next_power_of_two();
        let same = self.0.get_mut(size.trailing_zeros() as usize);
        let mut data = same.and_then(Vec::pop).unwrap_or_else(|| Vec::with_capacity(size));
        data.resize(len, 0);
        data
    }

    /// Takes memory back.
    pub fn give(&mut self, data: Vec<u8>) {
        let Some(size) = data.capacity().checked_ilog2() else { return };
        if let Some(same) = self.0.get_mut(size as usize).filter(|same| same.len() < MOST) {
            same.push(data);
        }
    }
}
