//! Measures the costs of the networks between two hosts by the benchmarks: latency and rate of short
//! messages, bandwidth of long ones.
//!
//! Each network is measured alone, by one job of two ranks after the other.

use canele_profile::NetworkProfile;

use crate::bench::{Bench, Buffers, Failure, Report, Task, run_all};
use crate::run::{HostOptions, Wait};

/// Bytes of a long message.
const LONG_BYTES: usize = 4 << 20;
/// Bytes of a short message.
const SHORT_BYTES: usize = 8;

/// Refuses hosts that do not allow a job of two ranks on two hosts.
pub fn check(place: &HostOptions) -> Result<(), String> {
    let hosts = place.named_hosts()?.map_or(0, |hosts| hosts.len());
    match (hosts, place.capacity()?) {
        (2, Some(2)) => Ok(()),
        _ => {
            Err("tune measures the networks between two hosts, with one rank on each: --hosts h0:1,h1:1"
                .into())
        }
    }
}

/// Measures each network between the two hosts. Returns each profile with the spreads of its three figures.
///
/// # Errors
/// Fails if a job failed, or no network connects the hosts.
pub fn measure(place: &HostOptions, is_quick: bool) -> Result<Vec<(NetworkProfile, [f64; 3])>, Failure> {
    let task = |bench, bytes, rails: &str| Task {
        bench,
        bytes: vec![bytes],
        ranks: 2,
        buffers: Buffers::Private,
        wait: Wait::Adaptive,
        rounds: if is_quick { 3 } else { 11 },
        iterations: Some(if is_quick { 1000 } else { 20_000 }),
        strategies: Vec::new(),
        flows: Vec::new(),
        packs: Vec::new(),
        limits: false,
        between_hosts: true,
        settings: if rails.is_empty() { Vec::new() } else { vec![("CANELE_RAILS".into(), rails.to_owned())] },
        calls: Vec::new(),
        most_seconds: None,
    };
    let run = |bench, bytes, rails: &str| run_all(&[task(bench, bytes, rails)], place);
    let all = run(Bench::Latency, SHORT_BYTES, "")?;
    let names = all.lines.first().and_then(|line| line.row.rails.clone()).unwrap_or_default();
    let of_network = |name: String| {
        // If there is only one network, the first job has used it alone.
        let latency = if names.len() == 1 { all.clone() } else { run(Bench::Latency, SHORT_BYTES, &name)? };
        let rate = run(Bench::Rate, SHORT_BYTES, &name)?;
        let bandwidth = run(Bench::Bandwidth, LONG_BYTES, &name)?;
        profile(name, [&latency, &rate, &bandwidth])
    };
    match names.is_empty() {
        true => Err("no network between the hosts was measured".into()),
        false => names.iter().cloned().map(of_network).collect(),
    }
}

/// Returns the profile of a network from the fastest rows of three reports: latency, rate and bandwidth.
fn profile(name: String, reports: [&Report; 3]) -> Result<(NetworkProfile, [f64; 3]), Failure> {
    let fastest = |report: &Report| {
        let rows = report.lines.iter().filter_map(|line| Some((line.row.median_ns?, line.spread)));
        rows.min_by(|one, other| one.0.total_cmp(&other.0)).ok_or("a benchmark measured nothing")
    };
    let [latency, packet, long] = [fastest(reports[0])?, fastest(reports[1])?, fastest(reports[2])?];
    let whole = |figure: f64| figure.round().max(1.0) as u32;
    let network = NetworkProfile {
        name,
        latency_ns: whole(latency.0),
        packet_ns: whole(packet.0),
        bytes_per_us: whole(LONG_BYTES as f64 * 1000.0 / long.0),
    };
    Ok((network, [latency.1, packet.1, long.1]))
}
