//! The lengths up to which a message begins in each way: there the estimates of two ways are equal.

use canele_profile::HostProfile;
use canele_rail::{Caps, Distance};

use super::{LinkCosts, Variant};

/// The greatest limit.
const LONGEST: usize = 1 << 30;

/// The greatest lengths of messages that begin in each way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// In one packet, if a packet carries as much.
    pub whole_bytes: u32,
    /// In one packet, if the peer has no other link over which an announced message would share the time of
    /// its transmission.
    pub only_link_bytes: u32,
    /// In several packets without a handshake.
    pub multi_bytes: u32,
    /// In several packets without a handshake, out of a region that the receiver can read.
    pub region_multi_bytes: u32,
}

impl Default for Limits {
    /// Returns limits that no message exceeds, for a peer of which nothing is known before its link opens.
    fn default() -> Self {
        Self {
            whole_bytes: u32::MAX,
            only_link_bytes: u32::MAX,
            multi_bytes: u32::MAX,
            region_multi_bytes: u32::MAX,
        }
    }
}

impl Limits {
    /// Returns the limits of links with these capabilities, on hosts with this profile. `eager_bytes` go
    /// unannounced to a rank of this host; if a user has set that, all limits change in proportion.
    pub fn over(caps: &Caps, host: &HostProfile, eager_bytes: usize) -> Self {
        let of_host = Self::estimated(&LinkCosts::of_host(host), true);
        let estimated = match caps.distance {
            Distance::Host => of_host,
            Distance::Network => Self::estimated(&LinkCosts::over(caps, host), !caps.needs_numbers()),
        };
        let set = |limit: u32| {
            let limit = u64::from(limit) * eager_bytes as u64 / u64::from(of_host.whole_bytes.max(1));
            limit.min(LONGEST as u64) as u32
        };
        Self {
            whole_bytes: set(estimated.whole_bytes),
            only_link_bytes: set(estimated.only_link_bytes),
            multi_bytes: set(estimated.multi_bytes),
            region_multi_bytes: set(estimated.region_multi_bytes),
        }
    }

    /// Returns the length of the longest message in several packets; `reached` is true if a receiver could
    /// read it out of a region.
    #[inline]
    pub fn multi_bytes(&self, reached: bool) -> usize {
        (if reached { self.region_multi_bytes } else { self.multi_bytes }) as usize
    }

    /// Returns the limits by the estimates alone; `has_multi` is true if the link allows several packets
    /// without a handshake.
    pub fn estimated(costs: &LinkCosts, has_multi: bool) -> Self {
        let ns = |variant, bytes| costs.estimate_ns(variant, bytes);
        let is_whole = |links| {
            last(|bytes| {
                let whole = ns(Variant::Eager, bytes);
                whole <= costs.streamed_ns(bytes, links)
                    && (!has_multi || whole <= ns(Variant::EagerMulti, bytes))
            })
        };
        let multi_is_before = |other| last(|bytes| ns(Variant::EagerMulti, bytes) <= ns(other, bytes));
        Self {
            whole_bytes: rounded(is_whole(2)),
            only_link_bytes: rounded(is_whole(1)),
            multi_bytes: rounded(multi_is_before(Variant::Streamed)),
            region_multi_bytes: rounded(multi_is_before(Variant::DirectRead)),
        }
    }
}

/// Returns the largest length for which `is_so` holds; it must hold up to there, and not beyond.
fn last(is_so: impl Fn(usize) -> bool) -> usize {
    let (mut yes, mut no) = (0, LONGEST);
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        *(if is_so(middle) { &mut yes } else { &mut no }) = middle;
    }
    yes
}

/// Returns the nearest length of three binary digits: the estimates are no more exact, and lengths of
/// programs have few digits.
fn rounded(bytes: usize) -> u32 {
    let unit = (bytes.next_power_of_two() / 8).max(1);
    ((bytes + unit / 2) / unit * unit) as u32
}

/// Returns the number of bytes that go unannounced to a rank of this host: the user's setting, or if that is
/// 0 the estimated one.
pub fn eager_bytes(setting: usize, host: &HostProfile) -> usize {
    match setting {
        0 => Limits::estimated(&LinkCosts::of_host(host), true).whole_bytes as usize,
        set => set,
    }
}
