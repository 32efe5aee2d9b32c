//! The costs of communication between two processes of one host.

use crate::HostProfile;

/// The costs of communication between two processes of one host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PairCosts {
    /// The time of a cache line, in nanoseconds one way.
    pub line_ns: u32,
    /// The rate at which one of them copies data that the other one has written, in bytes per microsecond.
    pub copy_rate: u32,
    /// The rate of two copies through a ring by both at once, in bytes per microsecond.
    pub ring_rate: u32,
}

impl HostProfile {
    /// Returns the costs of two processes that may run on any processors of the host: those of far
    /// processors, unless all share their caches.
    pub fn pair_costs(&self) -> PairCosts {
        let line_ns = self.line_ns.shared_l3;
        let (copy_rate, ring_rate) = match self.shares_caches() {
            true => (self.copy.near, self.ring.near),
            false => (self.copy.far, self.ring.far),
        };
        PairCosts { line_ns, copy_rate, ring_rate }
    }

    /// Returns true if a line takes no longer through the last-level cache than through the second-level
    /// cache.
    pub fn shares_caches(&self) -> bool {
        self.line_ns.shared_l3 <= self.line_ns.shared_l2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_pay_for_far_processors_unless_all_share_their_caches() {
        let near = HostProfile::SHARED_CACHES.pair_costs();
        assert_eq!(near, PairCosts { line_ns: 50, copy_rate: 40_000, ring_rate: 60_000 });
        let far = HostProfile::OWN_CACHES.pair_costs();
        assert_eq!(far, PairCosts { line_ns: 180, copy_rate: 16_000, ring_rate: 12_800 });
    }
}
