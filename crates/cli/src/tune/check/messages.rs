//! The protocols of messages between two ranks: the setting that selects each, and its estimate.

use canele_engine::choice::{Ends, choose, eager_bytes};
use canele_sys::tunables::Tunables;

use super::table::CheckedRow;
use super::{CheckEffort, MOST_SECONDS, SettingCheck};
use crate::bench::{Bench, Buffers, Failure, Task};
use crate::info::protocol::shared_memory;
use crate::run::Wait;

pub const OPERATION: &str = "message";
pub const BYTES: [usize; 10] =
    [8, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
pub const QUICK_BYTES: [usize; 4] = [8, 4 << 10, 64 << 10, 1 << 20];

/// Round trips of short messages in a round.
const ROUND_TRIPS: u32 = 4000;
/// Limits of eager messages, the present one first. Each of them moves the limits of other protocols in
/// proportion.
const EAGER_BYTES: [usize; 6] = [0, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20];

/// Returns the checks of messages of these sizes.
///
/// # Errors
/// Fails if a setting of the environment is invalid, or the rail of shared memory cannot be opened.
pub fn plan(sizes: &[usize], effort: &CheckEffort<'_>) -> Result<Vec<SettingCheck>, Failure> {
    let caps = shared_memory(2, &Tunables::from_env()?)?;
    let host = &effort.profile.host;
    let mut checks = Vec::new();
    for (buffers, is_region, name) in
        [(Buffers::Private, false, "private"), (Buffers::Region, true, "region")]
    {
        let ends = Ends { source: is_region, target: is_region };
        let mut seen = Vec::new();
        for setting in EAGER_BYTES {
            if effort.chosen && setting != 0 {
                continue;
            }
            let mut rows = Vec::new();
            for bytes in sizes {
                let choice = choose(&caps, host, eager_bytes(setting, host), *bytes, ends);
                let protocol = choice.variant.row().name;
                let estimate = choice.estimates.iter().find(|(other, _)| *other == protocol);
                let Some(estimated_ns) = estimate.and_then(|(_, ns)| *ns) else { continue };
                if seen.contains(&(*bytes, protocol)) {
                    continue;
                }
                seen.push((*bytes, protocol));
                rows.push(CheckedRow {
                    operation: OPERATION.into(),
                    memory: Some(name),
                    bytes: *bytes,
                    candidate: protocol.into(),
                    is_chosen: setting == 0,
                    estimated_ns,
                    measured_ns: 0.0,
                    is_disturbed: false,
                });
            }
            if !rows.is_empty() {
                checks.push(SettingCheck { task: task(buffers, setting, &rows, effort), rows });
            }
        }
    }
    Ok(checks)
}

fn task(buffers: Buffers, eager_bytes: usize, rows: &[CheckedRow], effort: &CheckEffort<'_>) -> Task {
    Task {
        bench: Bench::Latency,
        bytes: rows.iter().map(|row| row.bytes).collect(),
        ranks: 2,
        buffers,
        wait: Wait::Adaptive,
        rounds: effort.rounds(),
        iterations: Some(ROUND_TRIPS),
        strategies: Vec::new(),
        flows: Vec::new(),
        packs: Vec::new(),
        limits: false,
        between_hosts: false,
        // Copies by the kernel are not among these candidates.
        settings: vec![
            ("CANELE_EAGER_BYTES".into(), eager_bytes.to_string()),
            ("CANELE_SINGLE_COPY".into(), "never".into()),
        ],
        calls: Vec::new(),
        most_seconds: Some(MOST_SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_profile::{HostProfile, Profile};

    fn profile() -> Profile {
        Profile { host: HostProfile::SHARED_CACHES, networks: Vec::new() }
    }

    #[test]
    fn each_protocol_of_a_size_is_measured_once_and_one_is_chosen() {
        let profile = profile();
        let checks = plan(&BYTES, &CheckEffort { is_quick: true, chosen: false, profile: &profile }).unwrap();
        let rows: Vec<&CheckedRow> = checks.iter().flat_map(|check| &check.rows).collect();
        for memory in ["private", "region"] {
            for bytes in BYTES {
                let of: Vec<_> =
                    rows.iter().filter(|row| row.memory == Some(memory) && row.bytes == bytes).collect();
                assert_eq!(of.iter().filter(|row| row.is_chosen).count(), 1, "{memory} {bytes}");
                for (place, row) in of.iter().enumerate() {
                    assert!(of[..place].iter().all(|other| other.candidate != row.candidate), "{row:?}");
                }
            }
        }
        let has =
            |bytes, candidate: &str| rows.iter().any(|row| row.bytes == bytes && row.candidate == candidate);
        assert!(has(8, "short") && has(4 << 10, "eager") && has(4 << 10, "streamed"), "{rows:?}");
        assert!(has(1 << 20, "direct-both"), "{rows:?}");
    }

    #[test]
    fn the_chosen_ones_alone_need_one_job_for_each_memory() {
        let profile = profile();
        let checks = plan(&BYTES, &CheckEffort { is_quick: true, chosen: true, profile: &profile }).unwrap();
        assert_eq!(checks.len(), 2);
        assert!(checks.iter().flat_map(|check| &check.rows).all(|row| row.is_chosen));
    }
}
