//! The costs of the processors and the memory of one host.

use canele_sys::topology::Processor;
use serde::{Deserialize, Serialize};

/// The distance of two processors of one host.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessorDistance {
    /// The two are threads of one core.
    SameCore,
    /// The two share the second-level cache.
    SharedL2,
    /// The two share the last-level cache.
    SharedL3,
    /// The two are on different sockets.
    Socket,
}

impl ProcessorDistance {
    /// All distances, from the shortest.
    pub const ALL: [ProcessorDistance; 4] = [Self::SameCore, Self::SharedL2, Self::SharedL3, Self::Socket];

    /// Returns the distance of two processors. Processors of one package that share no cache are as far apart
    /// as those of two packages.
    pub fn between(one: &Processor, other: &Processor) -> ProcessorDistance {
        match () {
            () if one.core == other.core => Self::SameCore,
            () if one.second_cache == other.second_cache => Self::SharedL2,
            () if one.third_cache == other.third_cache => Self::SharedL3,
            () => Self::Socket,
        }
    }
}

/// The costs of the processors and the memory of one host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostProfile {
    /// The time of a cache line from one processor to another.
    pub line_ns: LineTimes,
    /// The rate at which one processor copies data that another has written.
    pub copy: CopyRates,
    /// The rates of two copies through a ring, with both ends at once.
    pub ring: RingRates,
    /// The rates of one copy between private buffers by the kernel; none if the kernel refuses it.
    pub single_copy: Option<SingleCopyRates>,
    /// The time from a wake-up call until the sleeper runs.
    pub wakeup_ns: u32,
    /// The time of a system call that does nothing.
    pub system_call_ns: u32,
}

/// The time of a cache line from one processor to another, in nanoseconds one way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineTimes {
    /// Between threads of one core.
    pub same_core: u32,
    /// Through a second-level cache.
    pub shared_l2: u32,
    /// Through the last-level cache.
    pub shared_l3: u32,
    /// Between sockets.
    pub socket: u32,
}

impl LineTimes {
    /// Returns the time over this distance.
    pub fn over(&self, distance: ProcessorDistance) -> u32 {
        match distance {
            ProcessorDistance::SameCore => self.same_core,
            ProcessorDistance::SharedL2 => self.shared_l2,
            ProcessorDistance::SharedL3 => self.shared_l3,
            ProcessorDistance::Socket => self.socket,
        }
    }
}

/// The rate at which one processor copies data that another has written, in bytes per microsecond.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopyRates {
    /// Out of a cache that both share.
    pub near: u32,
    /// Out of a cache that only the writer has.
    pub far: u32,
}

/// The rates of two copies through a ring by both ends at once, and the best pieces of a long message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingRates {
    /// Between processors that share a cache, in bytes per microsecond.
    pub near: u32,
    /// Between other processors.
    pub far: u32,
    /// The best piece between processors that share a cache, in bytes.
    pub near_piece: u32,
    /// The best piece between other processors, in bytes.
    pub far_piece: u32,
}

/// The number of pairs of processes that copied at once, for each rate of [`SingleCopyRates`].
pub const PAIRS: [u32; 5] = [1, 2, 4, 8, 16];

/// The rates of one copy between private buffers by the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SingleCopyRates {
    /// The cost of a call, beside its bytes.
    pub call_ns: u32,
    /// The rate of a pair in which one end copies, in bytes per microsecond, for each number of simultaneous
    /// pairs in [`PAIRS`].
    pub one_end: [u32; PAIRS.len()],
    /// The rate of a pair in which both ends copy, in bytes per microsecond.
    pub both_ends: [u32; PAIRS.len()],
}

impl SingleCopyRates {
    /// Returns the rate of one of `pairs` pairs, whose ends both copy if `both_ends`. It is that of the next
    /// larger measured number of pairs.
    pub fn rate(&self, pairs: usize, both_ends: bool) -> u32 {
        let rates = if both_ends { &self.both_ends } else { &self.one_end };
        let place = PAIRS.iter().position(|&measured| measured as usize >= pairs).unwrap_or(PAIRS.len() - 1);
        rates[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_thing_that_two_processors_share_is_their_distance() {
        let processor = |core, second_cache, third_cache| Processor {
            id: 0,
            core,
            package: 0,
            node: 0,
            second_cache,
            third_cache,
        };
        let one = processor(0, 0, 0);
        let distance = |other| ProcessorDistance::between(&one, &other);
        assert_eq!(distance(processor(0, 0, 0)), ProcessorDistance::SameCore);
        assert_eq!(distance(processor(1, 0, 0)), ProcessorDistance::SharedL2);
        assert_eq!(distance(processor(1, 1, 0)), ProcessorDistance::SharedL3);
        assert_eq!(distance(processor(1, 1, 8)), ProcessorDistance::Socket);
    }
}
