//! The range of each figure: estimates divide by rates, and add and multiply times.

use std::ops::RangeInclusive;

use crate::{HostProfile, NetworkProfile, Profile};

/// The range of times in nanoseconds: up to a second.
const TIMES: RangeInclusive<u32> = 1..=1_000_000_000;
/// The range of rates in bytes per microsecond: up to 100 TB/s.
const RATES: RangeInclusive<u32> = 1..=100_000_000;
/// The range of pieces in bytes.
const PIECES: RangeInclusive<u32> = 1 << 10..=64 << 20;
/// The most networks of a profile.
const MOST_NETWORKS: usize = 64;
/// The most bytes of a network's name.
const MOST_NAME: usize = 64;

/// A figure outside of its range.
#[derive(Debug, PartialEq, Eq)]
pub struct WrongFigure {
    /// The key of the figure, such as `host.ring.near`.
    pub key: String,
    /// A description of the problem.
    pub what: String,
}

/// Returns the first figure of a profile that is outside of its range.
pub fn first_wrong(profile: &Profile) -> Option<WrongFigure> {
    let of_host =
        figures(&profile.host).into_iter().find_map(|(key, value, range)| wrong(key, value, &range));
    of_host
        .or_else(|| too_many(profile.networks.len()))
        .or_else(|| profile.networks.iter().find_map(of_network))
}

fn wrong(key: impl Into<String>, value: u32, range: &RangeInclusive<u32>) -> Option<WrongFigure> {
    let what = || format!("{value} is not a number from {} to {}", range.start(), range.end());
    (!range.contains(&value)).then(|| WrongFigure { key: key.into(), what: what() })
}

fn too_many(networks: usize) -> Option<WrongFigure> {
    let what = format!("a profile has at most {MOST_NETWORKS} networks, and this one has {networks}");
    (networks > MOST_NETWORKS).then(|| WrongFigure { key: "networks".into(), what })
}

fn of_network(network: &NetworkProfile) -> Option<WrongFigure> {
    let NetworkProfile { name, latency_ns, packet_ns, bytes_per_us } = network;
    if name.is_empty() || name.len() > MOST_NAME {
        let what = format!("a name has 1 to {MOST_NAME} bytes, and this one has {}", name.len());
        return Some(WrongFigure { key: "networks.name".into(), what });
    }
    let figures = [
        ("latency_ns", latency_ns, TIMES),
        ("packet_ns", packet_ns, TIMES),
        ("bytes_per_us", bytes_per_us, RATES),
    ];
    figures.into_iter().find_map(|(key, value, range)| wrong(format!("networks.{key}"), *value, &range))
}

/// Returns all figures of a host with their keys and ranges.
fn figures(host: &HostProfile) -> Vec<(&'static str, u32, RangeInclusive<u32>)> {
    let HostProfile { line_ns, copy, ring, single_copy, wakeup_ns, system_call_ns } = host;
    let mut all = vec![
        ("host.line_ns.same_core", line_ns.same_core, TIMES),
        ("host.line_ns.shared_l2", line_ns.shared_l2, TIMES),
        ("host.line_ns.shared_l3", line_ns.shared_l3, TIMES),
        ("host.line_ns.socket", line_ns.socket, TIMES),
        ("host.copy.near", copy.near, RATES),
        ("host.copy.far", copy.far, RATES),
        ("host.ring.near", ring.near, RATES),
        ("host.ring.far", ring.far, RATES),
        ("host.ring.near_piece", ring.near_piece, PIECES),
        ("host.ring.far_piece", ring.far_piece, PIECES),
        ("host.wakeup_ns", *wakeup_ns, TIMES),
        ("host.system_call_ns", *system_call_ns, TIMES),
    ];
    if let Some(single) = single_copy {
        all.push(("host.single_copy.call_ns", single.call_ns, TIMES));
        all.extend(single.one_end.map(|rate| ("host.single_copy.one_end", rate, RATES)));
        all.extend(single.both_ends.map(|rate| ("host.single_copy.both_ends", rate, RATES)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        Profile { host: HostProfile::OWN_CACHES, networks: Vec::new() }
    }

    #[test]
    fn built_in_profiles_are_in_range() {
        for host in [HostProfile::OWN_CACHES, HostProfile::SHARED_CACHES, HostProfile::TWO_FAR_PROCESSORS] {
            assert_eq!(first_wrong(&Profile { host, ..profile() }), None);
        }
    }

    #[test]
    fn a_figure_out_of_range_is_named() {
        let mut wrong = profile();
        wrong.host.single_copy.as_mut().unwrap().both_ends[4] = 0;
        let found = first_wrong(&wrong).unwrap();
        assert_eq!(found.key, "host.single_copy.both_ends");
        assert_eq!(found.what, "0 is not a number from 1 to 100000000");
        let mut wrong = profile();
        wrong.host.ring.near_piece = 1;
        assert_eq!(first_wrong(&wrong).unwrap().key, "host.ring.near_piece");
    }

    #[test]
    fn networks_are_bounded() {
        let network = |name: &str, latency_ns| NetworkProfile {
            name: name.into(),
            latency_ns,
            packet_ns: 1,
            bytes_per_us: 1,
        };
        let with = |networks| first_wrong(&Profile { networks, ..profile() }).map(|wrong| wrong.key);
        assert_eq!(with(vec![network("tcp", 1); 64]), None);
        assert_eq!(with(vec![network("tcp", 1); 65]).unwrap(), "networks");
        assert_eq!(with(vec![network("tcp", 1), network("tcp", 0)]).unwrap(), "networks.latency_ns");
        assert_eq!(with(vec![network("", 1)]).unwrap(), "networks.name");
    }
}
