//! What each algorithm has the members do: messages, waits, copies and reductions, of the busiest rank and of all.

use crate::build::shared_buffer;
use crate::spec::{Operation, Root, Shape};

use super::{Algorithm, Seat};

/// Bytes of a shared buffer: its parts are published by turns.
const SHARED_BYTES: f64 = shared_buffer::BYTES as f64;

/// What is done by the rank that does most, and by all.
#[derive(Clone, Copy, Default)]
pub(super) struct Share {
    pub(super) busiest: f64,
    pub(super) all: f64,
}

impl Share {
    /// As much by each of so many ranks.
    fn each(ranks: f64, of_one: f64) -> Self {
        Self { busiest: of_one, all: ranks * of_one }
    }

    /// So many times as much.
    fn times(self, times: f64) -> Self {
        Self { busiest: times * self.busiest, all: times * self.all }
    }

    /// The time on so many processors, in units of what is done.
    pub(super) fn on(self, processors: f64) -> f64 {
        self.busiest.max(self.all / processors)
    }
}

/// What an algorithm has the members do.
#[derive(Clone, Copy, Default)]
pub(super) struct Load {
    /// Messages one after the other.
    pub(super) rounds: f64,
    /// So often does a rank wait for others.
    pub(super) waits: f64,
    /// Ends of messages. So many peers does each rank send to, where all send to all.
    pub(super) messages: Share,
    pub(super) peers: f64,
    /// Bytes copied at the ends of messages.
    pub(super) copied: Share,
    /// Bytes of a message that the kernel may copy once, if it is long: how fast that is was measured for blocks with one reader alone.
    pub(super) read_once: f64,
    /// Bytes copied in and out of shared buffers, or put aside; bytes reduced.
    pub(super) fetched: Share,
    pub(super) reduced: Share,
    /// Blocks that are put together for a message, or taken apart.
    pub(super) packed: Share,
    /// Bytes of one rank's memory and rings that are in use.
    pub(super) used: f64,
    /// The blocks of all peers are under way at once.
    pub(super) is_scattered: bool,
    /// Data goes through shared buffers, which have so many readers together.
    pub(super) is_published: bool,
    pub(super) readers: f64,
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
            Algorithm::Ring | Algorithm::Pairwise => of.ring(),
            Algorithm::Bruck => of.bruck(),
            Algorithm::SharedBuffer => of.shared_buffer(),
            Algorithm::SharedAtRoot => of.shared_at_root(),
            Algorithm::Leaders | Algorithm::Lanes => unreachable!("their estimates are those of both levels"),
        }
    }
}

/// The members, and what they do.
#[derive(Clone, Copy)]
struct Members {
    /// All of them, and all but one.
    n: f64,
    others: f64,
    seat: Seat,
    shape: Shape,
    /// Of a block.
    bytes: f64,
}

impl Members {
    fn reduces(&self) -> bool {
        use Operation::*;
        matches!(self.shape.operation, Reduce(_) | Allreduce | Scan | Exscan | ReduceScatter)
    }

    /// Blocks are exchanged in place, which all members say alike: those that come are put aside until theirs have left.
    fn exchanges_in_place(&self) -> bool {
        self.shape.operation == Operation::Alltoall && self.shape.in_place
    }

    /// Bytes of a message whose block has one reader, and is read there where it belongs.
    fn read_once(&self) -> f64 {
        if self.shape.operation == Operation::Alltoall { self.bytes } else { 0.0 }
    }

    /// Bytes that a rank gives and gets.
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

    /// The rank in the middle does all alone, with the blocks of all in its memory.
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
        Load {
            rounds: ways,
            waits: 1.0,
            messages: Share { busiest: ways * others, all: 2.0 * ways * others },
            // The first rank copies its input before the middle has it, the last one its result behind it.
            copied: Share { busiest: n * (come + go), all: 2.0 * others * (come + go) },
            fetched: Share { busiest: reduced, all: reduced },
            reduced: Share { busiest: reduced, all: reduced },
            used: self.given_and_gotten() + come + go,
            ..Load::default()
        }
    }

    fn tree(&self) -> Load {
        let Self { others, bytes, .. } = *self;
        let (depth, children) = (f64::from(self.seat.ranks.ilog2()), self.doublings());
        // The sum of a tree whose operands keep their places goes from rank 0 to the root.
        let ordered = matches!(self.shape.operation, Operation::Reduce(root) if !self.shape.commutative && root != Root::At(0));
        let handed_on = if ordered { 1.0 } else { 0.0 };
        let levels = depth + handed_on;
        let reduced = if self.reduces() { bytes } else { 0.0 };
        Load {
            rounds: levels,
            waits: levels,
            messages: Share { busiest: children + handed_on, all: 2.0 * (others + handed_on) },
            // The longest way down, or the last child of the root.
            copied: Share {
                busiest: (2.0 * levels).max(children + 1.0) * bytes,
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
        // A rank beyond the largest power of two is represented by a neighbour.
        let beyond = !self.seat.ranks.is_power_of_two() && self.shape.operation == Operation::Allreduce;
        let rounds = if beyond { self.doublings() + 1.0 } else { self.doublings() };
        let reduced = if self.reduces() { rounds * bytes } else { 0.0 };
        Load {
            rounds,
            waits: rounds,
            messages: Share::each(n, 2.0 * rounds),
            copied: Share::each(n, 2.0 * rounds * bytes),
            // The first message comes where the result belongs.
            fetched: Share::each(n, (reduced - bytes).max(0.0)),
            reduced: Share::each(n, reduced),
            used: self.given_and_gotten() + 2.0 * bytes,
            ..Load::default()
        }
    }

    fn burst(&self) -> Load {
        let Self { n, others, bytes, .. } = *self;
        let reduced = if self.reduces() { others * bytes } else { 0.0 };
        Load {
            rounds: 1.0,
            waits: 1.0,
            messages: Share::each(n, 2.0 * others),
            peers: others,
            copied: Share::each(n, 2.0 * others * bytes),
            read_once: self.read_once(),
            fetched: Share::each(
                n,
                if self.reduces() || self.exchanges_in_place() { others * bytes } else { 0.0 },
            ),
            reduced: Share::each(n, reduced),
            is_scattered: true,
            used: self.given_and_gotten() + others * bytes,
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
            read_once: self.read_once(),
            fetched: Share::each(n, if is_put_aside { others * bytes } else { 0.0 }),
            reduced: Share::each(n, reduced),
            // All blocks pass through the ring of the neighbour.
            used: self.given_and_gotten() + n * block,
            ..Load::default()
        }
    }

    fn bruck(&self) -> Load {
        let Self { n, bytes, .. } = *self;
        let rounds = self.doublings();
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

    fn shared_buffer(&self) -> Load {
        use Operation::*;
        let Self { n, others, bytes, seat, shape } = *self;
        let turns = shared_buffer::turns_of(shape, seat.ranks) as f64;
        // Ends of messages of one meeting of all, through the middle.
        let meeting = Share { busiest: 2.0 * others, all: 4.0 * others };
        let (rounds, waits, messages, fetched, reduced) = match shape.operation {
            Broadcast(_) => {
                let messages =
                    Share { busiest: others * (2.0 * turns - 1.0), all: 2.0 * others * (2.0 * turns - 1.0) };
                (turns, turns, messages, Share { busiest: bytes + bytes / turns, all: n * bytes }, 0.0)
            }
            // A chain, link by link: each rank copies its input, fetches, and publishes. All processors wait for the one with its turn.
            Scan | Exscan => {
                let links = turns + others;
                (
                    links,
                    turns + seat.costs.processors,
                    Share::each(n, 4.0 * turns),
                    Share::each(n, 3.0 * bytes),
                    bytes,
                )
            }
            Reduce(_) | Allreduce => {
                let all = if shape.operation == Allreduce { 3.0 * n - 2.0 } else { 2.0 * n };
                let fetched = Share { busiest: 3.0 * bytes, all: all * bytes };
                (4.0 * turns, 2.0 * turns, meeting.times(2.0 * turns), fetched, others / n * bytes)
            }
            Allgather => (2.0 * turns, turns, meeting.times(turns), Share::each(n, n * bytes), 0.0),
            Alltoall => (2.0 * turns, turns, meeting.times(turns), Share::each(n, 2.0 * others * bytes), 0.0),
            ReduceScatter => (
                2.0 * turns,
                turns,
                meeting.times(turns),
                Share::each(n, 2.0 * others * bytes),
                others * bytes,
            ),
            Barrier | Gather(_) | Scatter(_) => unreachable!("nothing is published"),
        };
        let published = match shape.operation {
            Alltoall | ReduceScatter => others * bytes,
            _ => bytes,
        };
        let readers = match shape.operation {
            Broadcast(_) | Scan | Exscan => n,
            _ => n * others,
        };
        Load {
            rounds,
            waits,
            messages,
            fetched,
            reduced: Share::each(n, reduced),
            used: self.given_and_gotten() + published.min(SHARED_BYTES),
            is_published: true,
            readers,
            ..Load::default()
        }
    }

    fn shared_at_root(&self) -> Load {
        let Self { n, others, bytes, shape, .. } = *self;
        let turns = shared_buffer::turns_at_root(shape) as f64;
        Load {
            rounds: turns,
            waits: turns,
            messages: Share {
                busiest: others * (2.0 * turns - 1.0),
                all: 2.0 * others * (2.0 * turns - 1.0),
            },
            fetched: Share { busiest: n * bytes, all: 2.0 * others * bytes },
            reduced: Share { busiest: others * bytes, all: others * bytes },
            used: self.given_and_gotten() + bytes.min(SHARED_BYTES),
            is_published: true,
            readers: n,
            ..Load::default()
        }
    }

    /// ⌈log₂ n⌉.
    fn doublings(&self) -> f64 {
        f64::from(self.seat.ranks.next_power_of_two().ilog2())
    }
}
