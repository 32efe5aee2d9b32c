//! Ranks given as ranges.

use super::Group;
use crate::{Result, fail};

/// The ranks from the first to the last in steps of the stride: `[first, last, stride]`.
pub type Range = [i32; 3];

impl Group {
    /// Returns the members with the ranks of these ranges, in their order.
    ///
    /// # Errors
    /// Fails if a range never ends or leaves the group, or if a rank is in two ranges.
    pub fn range_incl(&self, ranges: &[Range]) -> Result<Group> {
        self.incl(&self.ranks(ranges)?)
    }

    /// Returns the members without the ranks of these ranges.
    ///
    /// # Errors
    /// Fails like [`range_incl`](Self::range_incl).
    pub fn range_excl(&self, ranges: &[Range]) -> Result<Group> {
        self.excl(&self.ranks(ranges)?)
    }

    fn ranks(&self, ranges: &[Range]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for (index, &[first, last, stride]) in ranges.iter().enumerate() {
            if stride == 0 {
                fail!(Argument, "ranges[{index}] has stride 0; a stride is positive or negative");
            }
            let (first, last, stride) = (i64::from(first), i64::from(last), i64::from(stride));
            if (last - first).signum() * stride < 0 {
                fail!(Argument, "ranges[{index}] never gets from {first} to {last} with stride {stride}");
            }
            // Both ends are checked first, so the list is never longer than the group.
            let steps = (last - first) / stride;
            for rank in [first, first + steps * stride] {
                if !(0..self.size() as i64).contains(&rank) {
                    let size = self.size();
                    fail!(
                        Rank,
                        "ranges[{index}] has rank {rank}, which is not in a group of {size} processes"
                    );
                }
            }
            ranks.extend((0..=steps).map(|step| (first + step * stride) as i32));
            if ranks.len() > self.size() {
                fail!(Rank, "ranges[{index}] has ranks that an earlier range has too; list each rank once");
            }
        }
        Ok(ranks)
    }
}
