//! The work of the members by each algorithm: messages, waits, copies and reductions, of the busiest rank and
//! of all.

mod handed_on;
mod published;

use crate::build::slices;
use crate::spec::{Operation, Root, Shape};

use super::share::Share;
use super::{Algorithm, Seat};

/// Bytes of a processor's share of all caches, the last one too.
pub(super) const LAST_CACHE_BYTES: f64 = 4_194_304.0;

/// The work of the members by an algorithm.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    /// Messages one after the other.
    pub(super) rounds: f64,
    /// The number of times that a rank waits for others.
    pub(super) waits: f64,
    /// Ends of messages, and the number of peers that each rank sends to, if all send to all.
    pub(super) messages: Share,
    pub(super) peers: f64,
    /// Bytes copied at the ends of messages.
    pub(super) copied: Share,
    /// Copies by the kernel, if it copies messages once because they are long.
    pub(super) once: SingleCopies,
    /// Bytes copied in and out of shared buffers, or put aside; the part that ranks copy out of their own
    /// memory; and bytes reduced.
    pub(super) fetched: Share,
    pub(super) own: f64,
    pub(super) reduced: Share,
    /// Blocks that are packed into a message, or unpacked.
    pub(super) packed: Share,
    /// Bytes of one rank's memory and rings that are in use.
    pub(super) used: f64,
    /// True if operands come part by part, and are reduced while a cache holds them.
    pub(super) is_in_parts: bool,
    /// True if the blocks of all peers are under way at once.
    pub(super) is_scattered: bool,
    /// The readers of all shared buffers together.
    pub(super) readers: f64,
}

/// Messages between private buffers that the kernel may copy once.
#[derive(Clone, Copy, Default)]
pub(super) struct SingleCopies {
    /// Bytes of a message; 0 if it is not counted. The speed of such copies was measured with blocks that
    /// have one reader at a time.
    pub(super) message: f64,
    /// Bytes copied by the receivers alone, and by both ends.
    pub(super) received: Share,
    pub(super) by_both: Share,
    /// Bytes of a rank's memory that messages leave or come to; equal for all ranks.
    pub(super) held: f64,
}

impl SingleCopies {
    /// Returns copies of which each rank makes as many.
    fn each(message: f64, bytes: Share, held: f64) -> Self {
        Self { message, received: bytes, by_both: bytes, held }
    }
}

impl Load {
    pub(super) fn of(seat: Seat, shape: Shape, algorithm: Algorithm) -> Self {
        let n = seat.ranks as f64;
        let bytes = if shape.operation == Operation::Barrier { 0.0 } else { shape.bytes as f64 };
        let of = Members { n, others: n - 1.0, seat, shape, bytes };
        match algorithm {
            Algorithm::Flat => of.flat(),
            Algorithm::Tree => of.tree(),
            Algorithm::Doubling => of.doubling(),
            Algorithm::Burst => of.burst(),
            Algorithm::Ring if of.scans() => of.chain(),
            Algorithm::Ring | Algorithm::Pairwise => of.ring(),
            Algorithm::Bruck => of.bruck(),
            Algorithm::Halving => of.halving(),
            Algorithm::SharedBuffer => of.shared_buffer(),
            Algorithm::SharedAtRoot => of.shared_at_root(),
            Algorithm::Slices => of.slices(),
            Algorithm::Leaders | Algorithm::Lanes => unreachable!("their estimates are those of both levels"),
        }
    }

    /// Returns this load with the busiest rank's work times a factor.
    pub(super) fn with_busiest_slower(self, factor: f64) -> Self {
        let slower = |share: Share| Share { busiest: factor * share.busiest, ..share };
        Self {
            messages: slower(self.messages),
            copied: slower(self.copied),
            fetched: slower(self.fetched),
            reduced: slower(self.reduced),
            ..self
        }
    }

    /// Returns the mean length of the busiest rank's messages, at least a byte.
    pub(super) fn message_bytes(&self) -> f64 {
        (self.copied.busiest / self.messages.busiest.max(1.0)).max(1.0)
    }
}

/// The members and their collective.
#[derive(Clone, Copy)]
struct Members {
    /// The number of members, and of all but one.
    n: f64,
    others: f64,
    seat: Seat,
    shape: Shape,
    /// The bytes of a block.
    bytes: f64,
}

impl Members {
    fn reduces(&self) -> bool {
        use Operation::*;
        matches!(self.shape.operation, Reduce(_) | Allreduce | Scan | Exscan | ReduceScatter)
    }

    fn scans(&self) -> bool {
        matches!(self.shape.operation, Operation::Scan | Operation::Exscan)
    }

    /// Returns true if blocks are exchanged in place, equally on all members: received ones are put aside
    /// until theirs have left.
    fn exchanges_in_place(&self) -> bool {
        self.shape.operation == Operation::Alltoall && self.shape.in_place
    }

    /// Returns true if the ranks have a processor and caches each.
    fn has_own_caches(&self) -> bool {
        self.seat.has_own_caches()
    }

    /// Returns the weight of a copied byte that goes one way. On a network it is that of both ends, because
    /// both directions of a port are in use at once.
    fn one_way(&self) -> f64 {
        if self.seat.is_over_a_network() { 2.0 } else { 1.0 }
    }

    /// Returns the copies of a block to or from each other rank, which is read from its place.
    fn single_copies(&self) -> SingleCopies {
        let Self { n, others, bytes, .. } = *self;
        let message = match self.shape.operation {
            Operation::ReduceScatter => bytes.min(self.part()),
            _ => bytes,
        };
        // Operands that are reduced at once stay in a cache.
        let held = if self.reduces() { 0.0 } else { self.given_and_gotten() };
        let is_counted = self.shape.operation == Operation::Alltoall || self.has_own_caches();
        let copies = SingleCopies::each(message, Share::each(n, others * bytes), held);
        if is_counted { copies } else { SingleCopies::default() }
    }

    /// Returns the bytes of a block that are reduced before the next ones come.
    fn part(&self) -> f64 {
        slices::part(self.seat, self.shape.element) as f64
    }

    /// Returns the bytes that a rank gives and gets.
    fn given_and_gotten(&self) -> f64 {
        use Operation::*;
        let Self { n, bytes, .. } = *self;
        match self.shape.operation {
            Barrier => 0.0,
            Broadcast(_) => bytes,
            Reduce(_) | Allreduce | Scan | Exscan => 2.0 * bytes,
            Gather(_) | Scatter(_) | Allgather | ReduceScatter => (n + 1.0) * bytes,
            Alltoall => 2.0 * n * bytes,
        }
    }

    /// Returns the load of a rank in the middle that does all alone, with the blocks of all in its memory.
    fn flat(&self) -> Load {
        use Operation::*;
        let Self { n, others, bytes, .. } = *self;
        // Bytes that come to the middle from each other rank, and go back to it.
        let (come, go) = match self.shape.operation {
            Barrier => (0.0, 0.0),
            Broadcast(_) | Scatter(_) => (0.0, bytes),
            Reduce(_) | Gather(_) => (bytes, 0.0),
            Allreduce | Scan | Exscan => (bytes, bytes),
            Allgather => (bytes, n * bytes),
            ReduceScatter => (n * bytes, bytes),
            Alltoall => (n * bytes, n * bytes),
        };
        let ways = match self.shape.operation {
            Broadcast(_) | Scatter(_) | Reduce(_) | Gather(_) => 1.0,
            _ => 2.0,
        };
        let reduced = if self.reduces() { others * come } else { 0.0 };
        let once = match self.shape.operation {
            // Either the root copies all blocks, or each other rank copies its own. The root's memory holds
            // all of them.
            Gather(_) if self.has_own_caches() => SingleCopies {
                message: bytes,
                received: Share { busiest: others * bytes, all: others * bytes },
                by_both: Share { busiest: bytes, all: others * bytes },
                held: 2.0 * bytes,
            },
            Scatter(_) if self.has_own_caches() => {
                let all = Share { busiest: bytes, all: others * bytes };
                SingleCopies::each(bytes, all, 2.0 * bytes)
            }
            _ => SingleCopies::default(),
        };
        Load {
            once,
            rounds: ways,
            waits: 1.0,
            messages: Share { busiest: ways * others, all: 2.0 * ways * others },
            // The first rank copies its input before the middle has it, the last one its result after it.
            copied: Share {
                busiest: (self.one_way() * others).max(n) * (come + go),
                all: 2.0 * others * (come + go),
            },
            fetched: Share { busiest: reduced, all: reduced },
            reduced: Share { busiest: reduced, all: reduced },
            used: self.given_and_gotten() + come + go,
            ..Load::default()
        }
    }

    fn tree(&self) -> Load {
        if matches!(self.shape.operation, Operation::Gather(_) | Operation::Scatter(_)) {
            return self.tree_of_blocks();
        }
        let Self { n, others, bytes, .. } = *self;
        let (depth, children) = (f64::from(self.seat.ranks.ilog2()), self.doublings());
        // The sum of a tree whose operands keep their places goes from rank 0 to the root.
        let ordered = matches!(self.shape.operation, Operation::Reduce(root) if !self.shape.commutative && root != Root::At(0));
        let handed_on = if ordered { 1.0 } else { 0.0 };
        let levels = depth + handed_on;
        let reduced = if self.reduces() { bytes } else { 0.0 };
        let once = match self.has_own_caches() {
            // In each level at most half of the ranks have a message, and wait for it.
            true => SingleCopies {
                message: bytes,
                received: Share { busiest: levels.max(children) * bytes, all: levels * n / 2.0 * bytes },
                by_both: Share { busiest: levels.max(children) / 2.0 * bytes, all: levels * n / 2.0 * bytes },
                held: self.given_and_gotten(),
            },
            false => SingleCopies::default(),
        };
        Load {
            once,
            rounds: levels,
            waits: levels,
            messages: Share { busiest: children + handed_on, all: 2.0 * (others + handed_on) },
            // The longest way down, or the last child of the root.
            copied: Share {
                busiest: (2.0 * levels).max(self.one_way() * children).max(children + 1.0) * bytes,
                all: 2.0 * (others + handed_on) * bytes,
            },
            fetched: Share { busiest: children * reduced, all: others * reduced },
            reduced: Share { busiest: children * reduced, all: others * reduced },
            used: self.given_and_gotten() + bytes,
            ..Load::default()
        }
    }

    fn doubling(&self) -> Load {
        let Self { n, bytes, .. } = *self;
        // A neighbour represents each rank beyond the largest power of two.
        let beyond = !self.seat.ranks.is_power_of_two() && self.shape.operation == Operation::Allreduce;
        let rounds = if beyond { self.doublings() + 1.0 } else { self.doublings() };
        let reduced = if self.reduces() { rounds * bytes } else { 0.0 };
        Load {
            rounds,
            waits: rounds,
            messages: Share::each(n, 2.0 * rounds),
            copied: Share::each(n, 2.0 * rounds * bytes),
            // The first message comes to the place of the result.
            fetched: Share::each(n, (reduced - bytes).max(0.0)),
            reduced: Share::each(n, reduced),
            used: self.given_and_gotten() + 2.0 * bytes,
            ..Load::default()
        }
    }

    fn burst(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        let reduced = if self.reduces() { others * bytes } else { 0.0 };
        let is_in_parts = self.reduces() && self.has_own_caches();
        let parts = if is_in_parts { (bytes / self.part()).ceil().max(1.0) } else { 1.0 };
        let is_put_aside = self.reduces() && !is_in_parts || self.exchanges_in_place();
        Load {
            rounds: parts,
            waits: parts,
            messages: Share::each(n, 2.0 * others * parts),
            peers: others,
            copied: Share::each(n, 2.0 * others * bytes),
            once: self.single_copies(),
            fetched: Share::each(n, if is_put_aside { others * bytes } else { 0.0 }),
            reduced: Share::each(n, reduced),
            is_in_parts,
            is_scattered: true,
            used: self.given_and_gotten() + others * bytes,
            ..Load::default()
        }
    }

    /// Returns the load of bursts of slices. One burst brings slices to their owners, and another one hands
    /// the results to all; or all slices come from the root, or go to it.
    fn slices(&self) -> Load {
        use Operation::*;
        let Self { n, others, bytes, .. } = *self;
        // The root of a broadcast keeps no slice.
        let owners = if self.reduces() { n } else { others };
        let (slice, peers) = (bytes / owners, owners - 1.0);
        let parts = if self.reduces() { (slice / self.part()).ceil().max(1.0) } else { 1.0 };
        // The number of bursts, each of parts or of whole slices; the number of slices that a rank exchanges
        // with each peer; and the messages that the root sends or receives.
        let (bursts, whole, root) = match self.shape.operation {
            Allreduce => (parts + 1.0, 2.0, 0.0),
            Scan | Exscan => (2.0, 2.0, 0.0),
            _ => (parts, 1.0, others),
        };
        let with_root = root.min(1.0);
        let ends = |bursts: f64| Share {
            busiest: 2.0 * bursts * peers + root,
            all: 2.0 * (bursts * peers * owners + root),
        };
        let reduced = if self.reduces() { peers * slice } else { 0.0 };
        let by_both = Share {
            busiest: (whole * peers + with_root) * slice,
            all: (whole * peers * owners + root) * slice,
        };
        let received = match self.shape.operation {
            Reduce(_) => Share { busiest: (whole * peers + root) * slice, ..by_both },
            _ => by_both,
        };
        let message = if self.has_own_caches() { slice.min(self.part()) } else { 0.0 };
        Load {
            rounds: bursts + with_root,
            waits: bursts + with_root,
            messages: ends(bursts),
            peers,
            copied: Share {
                busiest: (2.0 * whole * peers + self.one_way() * root) * slice,
                ..ends(whole).times(slice)
            },
            once: SingleCopies { message, received, by_both, held: self.given_and_gotten() },
            fetched: Share::each(n, if self.has_own_caches() { 0.0 } else { reduced }),
            reduced: Share::each(n, reduced),
            is_in_parts: self.has_own_caches(),
            is_scattered: true,
            used: self.given_and_gotten() + peers * slice,
            ..Load::default()
        }
    }

    fn ring(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        // An allreduce goes round twice, with a share of the vector at a time.
        let (rounds, block) = match self.shape.operation {
            Operation::Allreduce => (2.0 * others, bytes / n),
            _ => (others, bytes),
        };
        let reduced = if self.reduces() { others * block } else { 0.0 };
        let is_put_aside = self.exchanges_in_place() || self.shape.operation == Operation::ReduceScatter;
        Load {
            rounds,
            waits: rounds,
            messages: Share::each(n, 2.0 * rounds),
            peers: if self.shape.operation == Operation::Alltoall { others } else { 0.0 },
            copied: Share::each(n, 2.0 * rounds * block),
            once: if self.shape.operation == Operation::Alltoall {
                self.single_copies()
            } else {
                SingleCopies::default()
            },
            fetched: Share::each(n, if is_put_aside { others * bytes } else { 0.0 }),
            reduced: Share::each(n, reduced),
            // All blocks pass through the ring of the neighbour.
            used: self.given_and_gotten() + n * block,
            ..Load::default()
        }
    }

    /// Returns ⌈log₂ n⌉.
    fn doublings(&self) -> f64 {
        f64::from(self.seat.ranks.next_power_of_two().ilog2())
    }
}
