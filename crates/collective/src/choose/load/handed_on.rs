//! The work of members that hand on blocks of others: few messages one after the other, and more bytes.

use super::{Load, Members, Share};
use crate::build::scan;
use crate::spec::Operation;

impl Members {
    /// Returns the load of a chain: pieces of a vector go from rank to rank. The last rank has the first
    /// piece after all others.
    pub(super) fn chain(&self) -> Load {
        let Self { others, bytes, .. } = *self;
        let pieces = scan::pieces(self.seat, self.shape.bytes) as f64;
        let (steps, piece) = (pieces + others - 1.0, bytes / pieces);
        Load {
            rounds: others,
            waits: steps,
            messages: Share { busiest: 2.0 * steps, all: 2.0 * pieces * others },
            copied: Share { busiest: 2.0 * steps * piece, all: 2.0 * others * bytes },
            reduced: Share { busiest: steps * piece, all: others * bytes },
            used: self.given_and_gotten() + bytes,
            ..Load::default()
        }
    }

    /// Returns the load of a tree in which a rank hands on the blocks of its subtree.
    pub(super) fn tree_of_blocks(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        let depth = self.doublings();
        Load {
            rounds: depth,
            waits: depth,
            messages: Share { busiest: depth, all: 2.0 * others },
            // The subtrees on the longest way hold half of all blocks, a quarter, and so on.
            copied: Share { busiest: 2.0 * others * bytes, all: depth * n * bytes },
            used: self.given_and_gotten() + n / 2.0 * bytes,
            ..Load::default()
        }
    }

    pub(super) fn halving(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        // A rank beyond the largest power of two gives all its data to a neighbour, which gives it its block.
        let (folds, folded) = if self.seat.ranks.is_power_of_two() { (0.0, 0.0) } else { (2.0, n * bytes) };
        let rounds = f64::from(self.seat.ranks.ilog2()) + folds;
        let moved = others * bytes + folded;
        Load {
            rounds,
            waits: rounds,
            messages: Share::each(n, 2.0 * rounds),
            copied: Share::each(n, 2.0 * moved),
            fetched: Share::each(n, moved),
            reduced: Share::each(n, moved),
            used: self.given_and_gotten() + moved,
            ..Load::default()
        }
    }

    pub(super) fn bruck(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        let rounds = self.doublings();
        if self.shape.operation == Operation::Allgather {
            return Load {
                rounds,
                waits: rounds,
                messages: Share::each(n, 2.0 * rounds),
                copied: Share::each(n, 2.0 * others * bytes),
                // All blocks are turned back.
                fetched: Share::each(n, n * bytes),
                used: self.given_and_gotten() + n * bytes,
                ..Load::default()
            };
        }
        // Half of all blocks travel in a round, and are packed and unpacked; all are turned before and after.
        let (travelling, packed) = (rounds * n / 2.0, rounds * n + 2.0 * n);
        Load {
            rounds,
            waits: rounds,
            messages: Share::each(n, 2.0 * rounds),
            copied: Share::each(n, 2.0 * travelling * bytes),
            fetched: Share::each(n, packed * bytes),
            packed: Share::each(n, packed),
            used: self.given_and_gotten() + 2.0 * n * bytes,
            ..Load::default()
        }
    }
}
