//! The algorithms, and the calls that each can carry out.

use crate::build::shared_buffer;
use crate::spec::{Operation, Shape};

use super::Seat;

/// An algorithm of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// One rank in the middle receives from all, then answers all.
    Flat,
    /// A binomial tree.
    Tree,
    /// Distances 1, 2, 4 …: each rank learns of twice as many in each round.
    Doubling,
    /// Each rank sends all other ranks their blocks at once.
    Burst,
    /// Each block, or piece of a vector, goes from neighbour to neighbour.
    Ring,
    /// One message out and one in at a time, each round with other partners.
    Pairwise,
    /// Blocks are carried by others: few messages, and more bytes.
    Bruck,
    /// A rank hands half of its rest to a partner, and gets the other half: few messages.
    Halving,
    /// Data is published in shared buffers, once.
    SharedBuffer,
    /// Inputs are published in shared buffers, and the root reduces them.
    SharedAtRoot,
    /// Each rank owns a slice of a vector, which it gets from all at once and hands to all at once.
    Slices,
    /// One rank of each host speaks for it: one packet for each pair of hosts.
    Leaders,
    /// Each rank of a host carries its share between hosts, all at once.
    Lanes,
}

use Algorithm::*;

/// The fewest bytes of a share that a rank of a host carries, a cache line. Below it one packet for each pair
/// of hosts costs less than one of each rank.
const LEAST_SHARE: usize = 64;

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 13] = [
        Flat,
        Tree,
        Doubling,
        Burst,
        Ring,
        Pairwise,
        Bruck,
        Halving,
        SharedBuffer,
        SharedAtRoot,
        Slices,
        Leaders,
        Lanes,
    ];

    /// Returns its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Flat => "flat",
            Tree => "tree",
            Doubling => "doubling",
            Burst => "burst",
            Ring => "ring",
            Pairwise => "pairwise",
            Bruck => "bruck",
            Halving => "halving",
            SharedBuffer => "shared-buffer",
            SharedAtRoot => "shared-at-root",
            Slices => "slices",
            Leaders => "leaders",
            Lanes => "lanes",
        }
    }

    /// Returns the algorithm of this name; `None` for `auto`, with which the estimates choose. The names are
    /// [`canele_sys::tunables::COLLECTIVE_ALGORITHMS`].
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }

    /// Returns its description.
    pub fn doc(self) -> &'static str {
        match self {
            Flat => "one rank in the middle receives from all, then answers all",
            Tree => "a binomial tree",
            Doubling => "distances 1, 2, 4 …: each rank hears of twice as many in each round",
            Burst => "each rank sends each other its block at once",
            Ring => "each block, or piece of a vector, goes from neighbour to neighbour",
            Pairwise => "one message out and one in at a time, each round with other partners",
            Bruck => "blocks are carried by others: few messages, and more bytes",
            Halving => "each rank hands half of what is left to be reduced to a partner: few messages",
            SharedBuffer => "data is published in shared buffers, once",
            SharedAtRoot => "inputs are published in shared buffers, and the root reduces them",
            Slices => {
                "each rank owns a slice of a vector, which it gets from all at once and hands to all at once"
            }
            Leaders => "one rank of each host speaks for it: one packet for each pair of hosts",
            Lanes => "each rank of a host carries its share between hosts, all at once",
        }
    }

    /// Returns the algorithms for an operation. Of two with equal estimates the first is taken.
    pub(super) fn of(operation: Operation) -> &'static [Self] {
        match operation {
            Operation::Barrier => &[Doubling, Flat, Leaders],
            Operation::Broadcast(_) => &[Tree, Flat, SharedBuffer, Slices, Leaders, Lanes],
            Operation::Reduce(_) => &[Tree, Flat, SharedAtRoot, SharedBuffer, Slices, Leaders, Lanes],
            Operation::Allreduce => &[Doubling, Ring, Flat, SharedBuffer, Slices, Leaders, Lanes],
            Operation::Gather(_) | Operation::Scatter(_) => &[Flat, Tree, Leaders],
            Operation::Allgather => &[Burst, Ring, Flat, Bruck, SharedBuffer, Leaders, Lanes],
            Operation::Alltoall => &[Burst, Pairwise, Bruck, SharedBuffer, Leaders],
            Operation::ReduceScatter => &[Burst, Ring, Flat, Halving, SharedBuffer, Leaders, Lanes],
            Operation::Scan | Operation::Exscan => &[Doubling, Ring, Flat, SharedBuffer, Slices, Leaders],
        }
    }

    /// Returns true if it can carry out such a call; `is_even` is true if this rank knows all its blocks.
    pub(super) fn can_carry_out(self, seat: Seat, shape: Shape, is_even: bool) -> bool {
        let reduces = !matches!(
            shape.operation,
            Operation::Barrier
                | Operation::Broadcast(_)
                | Operation::Gather(_)
                | Operation::Scatter(_)
                | Operation::Allgather
                | Operation::Alltoall
        );
        let is_scan = matches!(shape.operation, Operation::Scan | Operation::Exscan);
        // Inside a host the vector of a scan goes through caches, and messages cost little.
        let is_worth_it = !is_scan || seat.is_over_a_network();
        match self {
            // A rank sends contiguous blocks of others, whose lengths it must know.
            Bruck if shape.operation == Operation::Allgather => is_even && seat.is_over_a_network(),
            Bruck => is_even,
            Tree if !reduces && !matches!(shape.operation, Operation::Broadcast(_)) => {
                is_even && seat.is_over_a_network()
            }
            Halving => seat.is_over_a_network() && shape.commutative,
            Leaders if !is_even => false,
            SharedBuffer | SharedAtRoot => {
                let holds = !reduces || shared_buffer::hold(seat, shape.element);
                let alltoall = shape.operation == Operation::Alltoall;
                let on_one_host = seat.shared_buffers && seat.levels.is_none();
                on_one_host && seat.ranks > 1 && shape.bytes > 0 && holds && (is_even || !alltoall)
            }
            // Two ranks share no vector with others, and ranks without processors wait for each other's
            // turns.
            Slices => is_worth_it && !seat.oversubscribed && seat.ranks > 2 && shape.bytes > 0,
            Ring if is_scan => is_worth_it && shape.bytes > 0,
            // Each share of a vector begins its way at another rank.
            Ring => !reduces || shape.commutative && shape.bytes > 0,
            // Operands keep their order if the members of each host follow each other.
            Leaders => {
                let keeps_order = reduces && (is_scan || !shape.commutative);
                seat.levels.is_some_and(|levels| !keeps_order || levels.are_in_blocks)
            }
            Lanes => {
                // The blocks of a host are contiguous in the reduced vector.
                let needs_blocks = shape.operation == Operation::ReduceScatter;
                let is_long = |levels: super::HostLevels| {
                    seat.forced == Some(Lanes) || levels.share(shape) >= LEAST_SHARE
                };
                let can_be = |levels: super::HostLevels| {
                    levels.is_even && (levels.are_in_blocks || !needs_blocks) && is_long(levels)
                };
                seat.levels.is_some_and(can_be) && (!reduces || shape.commutative)
            }
            Flat | Tree | Doubling | Burst | Pairwise => true,
        }
    }
}
