//! How long what an algorithm has the members do takes.
//!
//! ```text
//!   time = rounds one after the other                    each a message, or where ranks share processors a turn of all of them
//!        + messages, copies, reductions                  of the busiest rank, or of all divided by the processors: what is more
//! ```
//! Numbers are plain `f64` of additions, multiplications and divisions, so that all members compute the same.

use crate::spec::Shape;

use super::load::Load;
use super::{Algorithm, CollectiveCosts, Seat};

/// Where each rank sends to more peers than these, the lines of its rings are not all in the nearest cache.
const NEAR_PEERS: f64 = 8.0;

/// Bytes that the caches of a processor hold of what is under way.
const CACHE_BYTES: f64 = 1_048_576.0;

/// Ranks that share processors read longer messages from the memory of their sender.
const SINGLE_COPY_BYTES: f64 = 32_768.0;

/// A processor's time to pack a block, beside its bytes.
const PACKING_NS: f64 = 9.0;

/// The estimated time of an algorithm in nanoseconds.
pub(super) fn estimate_ns(seat: Seat, shape: Shape, algorithm: Algorithm) -> f64 {
    if let Some(levels) = seat.levels {
        return levels.estimate_ns(seat, shape, algorithm);
    }
    let load = Load::of(seat, shape, algorithm);
    let costs = seat.costs;
    let ranks = seat.ranks as f64;
    let processors = if seat.oversubscribed { costs.processors.min(ranks) } else { ranks };
    let is_far = load.used * ranks / processors > CACHE_BYTES;
    let (copy_ns, is_read_once) = costs.copy_ns(seat.oversubscribed, &load, is_far);
    // A message that is read from its sender's memory is answered: each of both waits for the other one.
    let waits = if is_read_once { 2.0 * load.waits } else { load.waits };
    let waiting = match seat.oversubscribed {
        true => waits * costs.turn_ns * ranks / processors,
        false => load.rounds * costs.round_ns,
    };
    let fetch_ns = if is_far { costs.far_copy_ns } else { costs.near_copy_ns };
    // Operands that no cache holds are fetched, but for those that are reduced part by part out of shared buffers.
    let reduce_ns =
        if is_far && !load.is_published { costs.reduce_ns + costs.far_copy_ns } else { costs.reduce_ns };
    let many = usize::from(load.peers > NEAR_PEERS);
    waiting
        + load.messages.on(processors) * costs.message_ns[many]
        + load.copied.on(processors) * copy_ns
        + load.fetched.on(processors) * fetch_ns
        + load.reduced.on(processors) * reduce_ns
        + load.packed.on(processors) * PACKING_NS
        + load.readers / processors * costs.publish_ns
}

impl CollectiveCosts {
    /// A byte at one end of a message, and whether the kernel copies it once. Ranks that share processors have it copy long messages so.
    fn copy_ns(&self, oversubscribed: bool, load: &Load, is_far: bool) -> (f64, bool) {
        let twice = match is_far {
            false => self.near_copy_ns,
            true if load.is_scattered => self.scattered_copy_ns,
            true => self.far_copy_ns,
        };
        let once = self.single_copy_ns.map(|(call, byte)| (call / load.read_once + byte) / 2.0);
        match once.filter(|once| oversubscribed && load.read_once > SINGLE_COPY_BYTES && *once < twice) {
            Some(once) => (once, true),
            None => (twice, false),
        }
    }
}
