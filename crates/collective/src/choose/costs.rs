//! The costs of the members of a collective, from the machine's profile.

use canele_profile::{HostProfile, NetworkProfile, SingleCopyRates};
use canele_rail::both_ends_from;

/// A processor's time for one end of a message, beside its lines.
const CELL_NS: f64 = 30.0;
/// The number of waits of which one ends in sleep, if ranks share processors; the others yield.
const WAITS_PER_SLEEP: f64 = 8.0;
/// The cost of a reduction in the nearest cache, as a part of a copy.
const REDUCTION_SHARE: f64 = 0.3;
/// A rank's time to find the memory of a shared buffer by its name.
const LOOK_UP_NS: f64 = 150.0;

/// The costs of the members of a collective; equal on all of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CollectiveCosts {
    /// The number of processors that do the work of all members, if these share them.
    pub(super) processors: f64,
    /// The time of a message on its way, in a round of its own.
    pub(super) round_ns: f64,
    /// The turn of one more process on a processor.
    pub(super) turn_ns: f64,
    /// The time of one end of one more message, in three cases. The peer is the only one and has caches of
    /// its own; it is one of few, whose lines stay in the nearest cache; or it is one of many.
    pub(super) message_ns: [f64; 3],
    /// The time of a byte that is copied at one end of a message: if caches hold all bytes under way (near);
    /// otherwise through a single ring (far), or through the rings of all peers by turns (scattered).
    pub(super) near_copy_ns: f64,
    pub(super) far_copy_ns: f64,
    pub(super) scattered_copy_ns: f64,
    /// The host whose processors do the work; `None` between hosts.
    pub(super) host: Option<HostProfile>,
    /// The time of a byte that is reduced, of operands in the nearest cache.
    pub(super) reduce_ns: f64,
    /// The time of a shared buffer for each of its readers: its name is looked up, and its word is counted.
    pub(super) publish_ns: f64,
}

impl Default for CollectiveCosts {
    /// Returns the costs between unknown hosts, over a network like TCP.
    fn default() -> Self {
        Self::of_network(5000.0, 1500.0, 2000.0)
    }
}

impl CollectiveCosts {
    /// Returns the costs between hosts that this network joins.
    pub fn between(network: Option<&NetworkProfile>) -> Self {
        network.map_or_else(Self::default, |network| {
            let NetworkProfile { latency_ns, packet_ns, bytes_per_us, .. } = *network;
            Self::of_network(latency_ns.into(), packet_ns.into(), f64::from(bytes_per_us.max(1)))
        })
    }

    fn of_network(latency_ns: f64, packet_ns: f64, bytes_per_us: f64) -> Self {
        // Both directions are in use at once, and each end of a message has its share of the time on the
        // wire.
        let copy_ns = 1000.0 / bytes_per_us / 2.0;
        Self {
            round_ns: latency_ns,
            message_ns: [packet_ns; 3],
            near_copy_ns: copy_ns,
            far_copy_ns: copy_ns,
            // A network has no rings in memory that could leave the caches.
            scattered_copy_ns: copy_ns,
            host: None,
            ..Self::of(&HostProfile::SHARED_CACHES, 1)
        }
    }

    /// Returns these costs mixed with those of `others`, which have the part `share`. Bytes at the costs of
    /// `others` pass a port that `at_once` ranks use. Each other byte counts at `ends` ends.
    pub(super) fn mixed(&self, others: &Self, share: f64, (at_once, ends): (f64, f64)) -> Self {
        let of = |own: f64, other: f64| own + (other - own) * share;
        let of_bytes = |own: f64, other: f64| of(own * ends, other * at_once);
        Self {
            round_ns: others.round_ns,
            message_ns: [0, 1, 2].map(|many| of(self.message_ns[many], others.message_ns[many])),
            near_copy_ns: of_bytes(self.near_copy_ns, others.near_copy_ns),
            far_copy_ns: of_bytes(self.far_copy_ns, others.far_copy_ns),
            scattered_copy_ns: of_bytes(self.scattered_copy_ns, others.scattered_copy_ns),
            ..*others
        }
    }

    /// Returns the costs on a host with this profile, whose ranks have so many processors.
    pub fn of(host: &HostProfile, processors: usize) -> Self {
        let pair = host.pair_costs();
        let line_ns = f64::from(pair.line_ns);
        let near_copy_ns = per_byte(pair.copy_rate);
        Self {
            processors: processors.max(1) as f64,
            round_ns: line_ns,
            turn_ns: f64::from(host.system_call_ns) + f64::from(host.wakeup_ns) / WAITS_PER_SLEEP,
            message_ns: [CELL_NS, CELL_NS + line_ns / 4.0, CELL_NS + line_ns],
            near_copy_ns,
            far_copy_ns: per_byte(host.copy.far),
            scattered_copy_ns: per_byte(host.ring.far),
            host: Some(*host),
            reduce_ns: near_copy_ns * REDUCTION_SHARE,
            publish_ns: LOOK_UP_NS + 2.0 * line_ns,
        }
    }

    /// Returns the cost of a message that is handed on, beside its way, and of each of its bytes.
    pub(crate) fn hop_ns(&self) -> (f64, f64) {
        (2.0 * self.message_ns[1], 2.0 * self.near_copy_ns + self.reduce_ns)
    }

    /// Returns true if all members are on one host, whose processors do the work.
    pub(crate) fn is_of_host(&self) -> bool {
        self.host.is_some()
    }

    /// Returns true if processors have caches of their own: a line comes from another one's more slowly than
    /// within one.
    pub(crate) fn has_own_caches(&self) -> bool {
        self.host.is_some_and(|host| !host.shares_caches())
    }

    /// Returns the time of a byte that is copied within a processor's own cache.
    pub(super) fn own_copy_ns(&self) -> f64 {
        self.host.map_or(self.near_copy_ns, |host| per_byte(host.copy.near))
    }

    /// Returns the factor by which a copy out of another processor's cache takes longer while so many
    /// processors copy. Their rate together was measured with single copies.
    pub(super) fn crowding(&self, processors: f64) -> f64 {
        let single = self.host.filter(|_| self.has_own_caches());
        let single = single.and_then(|host| host.single_copy.or(HostProfile::OWN_CACHES.single_copy));
        single.map_or(1.0, |single| {
            f64::from(single.rate(1, false)) / f64::from(single.rate(processors as usize, false).max(1))
        })
    }

    /// Returns the costs of a message that the kernel copies once, and of a byte copied by one of so many
    /// processors at once. Returns `None` if the kernel copies none.
    pub(super) fn single_copy_ns(&self, processors: f64) -> Option<(f64, f64)> {
        let SingleCopyRates { call_ns, .. } = self.host?.single_copy?;
        let rate = self.host?.single_copy?.rate(processors as usize, false);
        Some((f64::from(call_ns), per_byte(rate)))
    }

    /// Returns the length from which on both ends copy a message, if so many ranks have a processor each.
    pub(super) fn both_ends_from(&self, ranks: usize) -> usize {
        self.host.map_or(usize::MAX, |host| both_ends_from(&host, ranks / 2))
    }
}

/// Returns the nanoseconds of a byte at so many bytes per microsecond.
fn per_byte(rate: u32) -> f64 {
    1000.0 / f64::from(rate.max(1))
}
