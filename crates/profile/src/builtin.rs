//! Profiles for machines that were not measured, selected by their topology.

use crate::{CopyRates, HostProfile, LineTimes, RingRates, SingleCopyRates};

impl HostProfile {
    /// The profile of processors that share their caches.
    pub const SHARED_CACHES: Self = Self {
        line_ns: LineTimes { same_core: 25, shared_l2: 50, shared_l3: 50, socket: 250 },
        copy: CopyRates { near: 40_000, far: 16_000 },
        ring: RingRates { near: 60_000, far: 12_000, near_piece: 16 << 10, far_piece: 32 << 10 },
        single_copy: Some(SingleCopyRates {
            call_ns: 500,
            one_end: [14_500, 14_000, 12_000, 8_000, 4_000],
            both_ends: [31_000, 16_000, 12_000, 8_000, 4_000],
        }),
        wakeup_ns: 5000,
        system_call_ns: 100,
    };

    /// The profile of processors with a second-level cache each and one last-level cache, as in servers.
    pub const OWN_CACHES: Self = Self {
        line_ns: LineTimes { same_core: 25, shared_l2: 50, shared_l3: 180, socket: 400 },
        copy: CopyRates { near: 34_000, far: 16_000 },
        ring: RingRates { near: 40_000, far: 12_800, near_piece: 16 << 10, far_piece: 32 << 10 },
        single_copy: Some(SingleCopyRates {
            call_ns: 600,
            one_end: [15_800, 15_000, 14_000, 10_000, 6_000],
            both_ends: [36_000, 30_000, 20_000, 12_000, 6_000],
        }),
        wakeup_ns: 5000,
        system_call_ns: 100,
    };

    /// The profile of a guest whose two processors have caches of their own. Its hypervisor translates
    /// addresses, so system calls and copies by the kernel take longer than on a server. One pair was
    /// measured by `canele tune` on a Xeon. The rates of more pairs are scaled from that, as `canele tune`
    /// does.
    pub const TWO_FAR_PROCESSORS: Self = Self {
        line_ns: LineTimes { shared_l3: 240, ..Self::OWN_CACHES.line_ns },
        copy: CopyRates { far: 8_800, ..Self::OWN_CACHES.copy },
        ring: RingRates { far: 10_600, ..Self::OWN_CACHES.ring },
        single_copy: Some(SingleCopyRates {
            call_ns: 1400,
            one_end: [5700, 5500, 4700, 3200, 1600],
            both_ends: [11_100, 5700, 4300, 2900, 1400],
        }),
        wakeup_ns: 7700,
        system_call_ns: 150,
    };

    /// Returns the built-in profile of a machine on which `sharing` of `processors` processors share each
    /// last-but-one cache.
    pub fn builtin(processors: usize, sharing: usize) -> Self {
        if sharing >= processors { Self::SHARED_CACHES } else { Self::OWN_CACHES }
    }

    /// Returns true for a built-in profile.
    pub(crate) fn is_builtin(&self) -> bool {
        [Self::SHARED_CACHES, Self::OWN_CACHES, Self::TWO_FAR_PROCESSORS].contains(self)
    }

    /// Returns the built-in profile of a guest on which a line takes `ns` nanoseconds between its two
    /// processors. It is the profile whose line time has the ratio to `ns` that is nearer to 1.
    pub(crate) fn builtin_of_line(ns: u32) -> Self {
        let [near, far] = [Self::SHARED_CACHES, Self::TWO_FAR_PROCESSORS];
        let both = u64::from(near.line_ns.shared_l3) * u64::from(far.line_ns.shared_l3);
        if u64::from(ns).pow(2) < both { near } else { far }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_with_a_measured_figure_is_not_built_in() {
        let mut profile = crate::Profile::built_in();
        assert!(profile.is_built_in());
        profile.host.line_ns.shared_l3 += 1;
        assert!(!profile.is_built_in());
    }

    #[test]
    fn a_line_tells_which_profile_is_nearer() {
        let (near, far) = (HostProfile::SHARED_CACHES, HostProfile::TWO_FAR_PROCESSORS);
        for (ns, host) in [(1, near), (109, near), (110, far), (u32::MAX, far)] {
            assert_eq!(HostProfile::builtin_of_line(ns), host, "{ns} ns");
        }
    }
}
