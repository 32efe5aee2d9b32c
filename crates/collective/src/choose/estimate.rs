//! The time of the work that an algorithm gives to the members.
//!
//! ```text
//!   time = rounds one after the other          each a message, or a turn of all ranks that share processors
//!        + messages, copies, reductions        of the busiest rank, or of all by processors: the greater one
//! ```
//! Numbers are plain `f64` of additions, multiplications and divisions, so that all members compute the same.

use crate::spec::Shape;

use super::load::{LAST_CACHE_BYTES, Load};
use super::{Algorithm, Seat};

/// The most peers of a rank for which the lines of its rings are all in the nearest cache.
const NEAR_PEERS: f64 = 8.0;

/// Bytes under way that the caches of a processor hold.
const CACHE_BYTES: f64 = 1_048_576.0;

/// The length from which on ranks that share processors read messages from the memory of their sender.
const SINGLE_COPY_BYTES: f64 = 32_768.0;

/// The factor of the time of a byte from memory to memory, neither of which is in a cache.
const MEMORY_TIMES: f64 = 2.0;

/// The part of a message that one end copies before the other end begins, a packet.
const PACKET_BYTES: f64 = 16_384.0;

/// The factor of the time of a rank that works alone, beside ranks on its processor that wait: they look for
/// their messages meanwhile. It was measured on processors with caches of their own.
const BESIDE_WAITING: f64 = 1.25;

/// A processor's time to pack a block, beside its bytes.
const PACKING_NS: f64 = 9.0;

/// Returns the estimated time of an algorithm in nanoseconds.
pub(super) fn estimate_ns(seat: Seat, shape: Shape, algorithm: Algorithm) -> f64 {
    if let Some(levels) = seat.levels {
        return levels.estimate_ns(seat, shape, algorithm);
    }
    let (costs, mut load) = (seat.costs, Load::of(seat, shape, algorithm));
    if seat.oversubscribed && costs.has_own_caches() {
        load = load.with_busiest_slower(BESIDE_WAITING);
    }
    let ranks = seat.ranks as f64;
    let processors = if seat.oversubscribed { costs.processors.min(ranks) } else { ranks };
    let is_far = load.used * ranks / processors > CACHE_BYTES;
    let crowding = costs.crowding(processors);
    let copying = Copying::of(seat, &load, is_far, processors);
    // A message that is read from its sender's memory is answered: each of both waits for the other one.
    let waits = if copying.is_once { 2.0 } else { 1.0 };
    let waiting = match seat.oversubscribed {
        true => waits * load.waits * costs.turn_ns * ranks / processors,
        false => (2.0 * waits - 1.0) * load.rounds * costs.round_ns,
    };
    // The only peer's operands were copied into this rank's cache, unless they are published.
    let is_own = has_one_peer(seat) && load.readers == 0.0;
    let fetch_ns = match is_far {
        true => costs.far_copy_ns,
        false if is_own => costs.own_copy_ns(),
        false => costs.near_copy_ns,
    };
    // Operands in no cache are fetched, except those that are reduced part by part or came through a cache of
    // both ends.
    let is_near = load.is_in_parts || seat.shares_caches();
    let reduce_ns = if is_far && !is_near { costs.reduce_ns + costs.far_copy_ns } else { costs.reduce_ns };
    let peers = if has_one_peer(seat) { 0 } else { 1 + usize::from(load.peers > NEAR_PEERS) };
    waiting
        + load.messages.on(processors) * costs.message_ns[peers]
        + copying.ns
        + load.fetched.crowded_on(processors, crowding, load.own) * fetch_ns
        + load.reduced.on(processors) * reduce_ns
        + load.packed.on(processors) * PACKING_NS
        + load.readers / processors * costs.publish_ns
}

/// Returns true if there are two members, with caches of their own.
fn has_one_peer(seat: Seat) -> bool {
    seat.ranks == 2 && seat.has_own_caches()
}

/// The copying of an algorithm's messages.
struct Copying {
    /// Its time.
    ns: f64,
    /// True if the kernel copies each message once.
    is_once: bool,
}

impl Copying {
    fn of(seat: Seat, load: &Load, is_far: bool, processors: f64) -> Self {
        let costs = seat.costs;
        let byte_ns = match is_far {
            false => costs.near_copy_ns,
            true if load.is_scattered => costs.scattered_copy_ns,
            true => costs.far_copy_ns,
        };
        let both = load.copied.crowded_on(processors, costs.crowding(processors), 0.0) * byte_ns;
        // Both ends copy at the same time if both have a processor, and caches between them or no other peer.
        let together = match seat.shares_caches() {
            true => 1.0,
            false if has_one_peer(seat) => 1.0 - (PACKET_BYTES / load.message_bytes()).min(1.0),
            false => 0.0,
        };
        let twice = Self { ns: both * (1.0 - together / 2.0), is_once: false };
        match Self::once(seat, load, processors) {
            // To its only peer a rank learns which way is faster. Ranks that share processors do as well.
            Some(ns) if !seat.oversubscribed && !has_one_peer(seat) || ns < twice.ns => {
                Self { ns, is_once: true }
            }
            _ => twice,
        }
    }

    /// Returns the time if the kernel copies each message once; `None` if it does not. Ranks that share
    /// processors let it copy long ones.
    fn once(seat: Seat, load: &Load, processors: f64) -> Option<f64> {
        let (costs, once) = (seat.costs, &load.once);
        if seat.oversubscribed {
            let (call_ns, byte_ns) = costs.single_copy_ns(costs.processors)?;
            let is_long = once.message > SINGLE_COPY_BYTES;
            let copied = load.copied.on(processors) / 2.0;
            return is_long.then_some(copied * (call_ns / once.message + byte_ns));
        }
        let (call_ns, crowded_ns) = costs.single_copy_ns(processors).filter(|_| costs.has_own_caches())?;
        let bytes = match once.message >= costs.both_ends_from(seat.ranks) as f64 {
            true => once.by_both,
            false => once.received,
        };
        let is_long = once.message >= SINGLE_COPY_BYTES;
        // A call takes a processor and no memory, so it costs nothing if the rate of all together is the
        // limit.
        let alone_ns = crowded_ns / costs.crowding(processors);
        let busiest = bytes.busiest * (call_ns / once.message + alone_ns);
        let memory = if once.held > LAST_CACHE_BYTES { MEMORY_TIMES } else { 1.0 };
        is_long.then(|| busiest.max(bytes.all / processors * crowded_ns) * memory)
    }
}
