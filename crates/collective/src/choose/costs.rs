//! What the members of a collective pay, from the machine's profile.

use canele_profile::{HostProfile, NetworkProfile};

/// A processor's time for one end of a message, beside its lines.
const CELL_NS: f64 = 30.0;
/// Waits of which one ends in sleep, where ranks share processors; the others give their processor away.
const WAITS_PER_SLEEP: f64 = 8.0;
/// A reduction works on what the nearest cache holds: part of a copy.
const REDUCTION_SHARE: f64 = 0.3;
/// So many times as long does a byte take over links whose buffers are in no cache.
const SCATTERED_TIMES: f64 = 1.3;
/// A rank's time to find the memory of a shared buffer by its name.
const LOOK_UP_NS: f64 = 150.0;

/// What the members of a collective pay; equal on all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CollectiveCosts {
    /// So many processors do the work of all members where they share them.
    pub(super) processors: f64,
    /// A message on its way, in a round of its own.
    pub(super) round_ns: f64,
    /// One process more has its turn on a processor.
    pub(super) turn_ns: f64,
    /// One end of one message more: of few peers, whose lines stay in the nearest cache, and of many.
    pub(super) message_ns: [f64; 2],
    /// A byte that is copied at one end of a message where caches hold all that is under way; where they do not, through one ring; and
    /// through those of all peers by turns.
    pub(super) near_copy_ns: f64,
    pub(super) far_copy_ns: f64,
    pub(super) scattered_copy_ns: f64,
    /// A message that the kernel copies once, and each of its bytes; nothing where it does not.
    pub(super) single_copy_ns: Option<(f64, f64)>,
    /// A byte that is reduced, of operands in the nearest cache.
    pub(super) reduce_ns: f64,
    /// A shared buffer, for each of its readers: its name is looked up, and its word counts.
    pub(super) publish_ns: f64,
}

impl Default for CollectiveCosts {
    /// The costs between hosts of which nothing is known, over a network like TCP.
    fn default() -> Self {
        Self::of_network(5000.0, 1500.0, 2000.0)
    }
}

impl CollectiveCosts {
    /// The costs between hosts that this network joins.
    pub fn between(network: Option<&NetworkProfile>) -> Self {
        network.map_or_else(Self::default, |network| {
            let NetworkProfile { latency_ns, packet_ns, bytes_per_us, .. } = *network;
            Self::of_network(latency_ns.into(), packet_ns.into(), f64::from(bytes_per_us.max(1)))
        })
    }

    fn of_network(latency_ns: f64, packet_ns: f64, bytes_per_us: f64) -> Self {
        // Both directions are in use at once, and each end of a message has its share of the time on the wire.
        let copy_ns = 1000.0 / bytes_per_us / 2.0;
        Self {
            round_ns: latency_ns,
            message_ns: [packet_ns; 2],
            near_copy_ns: copy_ns,
            far_copy_ns: copy_ns,
            scattered_copy_ns: copy_ns * SCATTERED_TIMES,
            single_copy_ns: None,
            ..Self::of(&HostProfile::SHARED_CACHES, 1)
        }
    }

    /// The costs of messages of which so large a share is paid as by `others`.
    pub(super) fn mixed(&self, others: &Self, share: f64) -> Self {
        let of = |own: f64, other: f64| own + (other - own) * share;
        Self {
            round_ns: others.round_ns,
            message_ns: [0, 1].map(|many| of(self.message_ns[many], others.message_ns[many])),
            near_copy_ns: of(self.near_copy_ns, others.near_copy_ns),
            far_copy_ns: of(self.far_copy_ns, others.far_copy_ns),
            scattered_copy_ns: of(self.scattered_copy_ns, others.scattered_copy_ns),
            ..*others
        }
    }

    /// The costs on a host with this profile, whose ranks have so many processors.
    pub fn of(host: &HostProfile, processors: usize) -> Self {
        let pair = host.pair_costs();
        let line_ns = f64::from(pair.line_ns);
        let per_byte = |rate: u32| 1000.0 / f64::from(rate.max(1));
        let near_copy_ns = per_byte(pair.copy_rate);
        Self {
            processors: processors.max(1) as f64,
            round_ns: line_ns,
            turn_ns: f64::from(host.system_call_ns) + f64::from(host.wakeup_ns) / WAITS_PER_SLEEP,
            message_ns: [CELL_NS + line_ns / 4.0, CELL_NS + line_ns],
            near_copy_ns,
            far_copy_ns: per_byte(host.copy.far),
            scattered_copy_ns: per_byte(host.ring.far),
            single_copy_ns: host
                .single_copy
                .map(|single| (f64::from(single.call_ns), per_byte(single.rate(processors, false)))),
            reduce_ns: near_copy_ns * REDUCTION_SHARE,
            publish_ns: LOOK_UP_NS + 2.0 * line_ns,
        }
    }
}
