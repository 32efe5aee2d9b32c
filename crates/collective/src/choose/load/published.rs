//! The work of members that publish their data in shared buffers.

use crate::build::shared_buffer;
use crate::spec::Operation;

use super::{LAST_CACHE_BYTES, Load, Members, Share};

/// Bytes of a shared buffer: its parts are published by turns.
const SHARED_BYTES: f64 = shared_buffer::BYTES as f64;

impl Members {
    pub(super) fn shared_buffer(&self) -> Load {
        use Operation::*;
        let Self { n, others, bytes, seat, shape } = *self;
        let turns = shared_buffer::turns_of(shape, seat) as f64;
        // Ends of messages of one meeting of all, through the middle.
        let meeting = Share { busiest: 2.0 * others, all: 4.0 * others };
        let (rounds, waits, messages, fetched, reduced) = match shape.operation {
            Broadcast(_) => {
                let all = 2.0 * others * (2.0 * turns - 1.0);
                // Readers with processors fetch while the root informs the others, but for the last part.
                let at_root = if seat.has_own_caches() { others + 2.0 * (turns - 1.0) } else { all / 2.0 };
                let messages = Share { busiest: at_root, all };
                (turns, turns, messages, Share { busiest: bytes + bytes / turns, all: n * bytes }, 0.0)
            }
            // A chain, link by link: each rank copies its input, fetches, and publishes. All processors wait
            // for the one with its turn. The last rank ends after as many links as there are ranks and turns.
            Scan | Exscan => {
                let links = turns + others;
                let chain = if seat.oversubscribed { 1.0 } else { links / turns };
                (
                    links,
                    turns + seat.costs.processors,
                    Share::each(n, 4.0 * turns),
                    Share { busiest: 3.0 * bytes * chain, all: 3.0 * n * bytes },
                    bytes * chain,
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
        let own = match shape.operation {
            // From memory, a rank copies no faster than all ranks together.
            _ if self.given_and_gotten() >= LAST_CACHE_BYTES => 0.0,
            Broadcast(_) => bytes,
            Scan | Exscan => 2.0 * n * bytes,
            _ => n * published,
        };
        Load {
            rounds,
            waits,
            messages,
            fetched,
            own,
            reduced: Share::each(n, reduced),
            used: self.given_and_gotten() + published.min(SHARED_BYTES),
            is_in_parts: true,
            readers,
            ..Load::default()
        }
    }

    pub(super) fn shared_at_root(&self) -> Load {
        let Self { n, others, bytes, shape, .. } = *self;
        let turns = shared_buffer::turns_at_root(shape, self.seat) as f64;
        Load {
            rounds: turns,
            waits: turns,
            messages: Share {
                busiest: others * (2.0 * turns - 1.0),
                all: 2.0 * others * (2.0 * turns - 1.0),
            },
            fetched: Share { busiest: n * bytes, all: 2.0 * others * bytes },
            own: others * bytes,
            reduced: Share { busiest: others * bytes, all: others * bytes },
            used: self.given_and_gotten() + bytes.min(SHARED_BYTES),
            is_in_parts: true,
            readers: n,
            ..Load::default()
        }
    }
}
