//! The algorithms of collectives: the possible ones for each call, and their estimates.

use canele_collective::{Algorithm, Operation, Shape};
use canele_sys::topology;

use super::table::CheckedRow;
use super::{CheckEffort, MOST_SECONDS, SettingCheck};
use crate::bench::{BATCHES, Bench, Buffers, PlannedCall, Task};
use crate::info::collective::{ELEMENT_BYTES, OPERATIONS, on_this_host};
use crate::run::Wait;

pub const BYTES: [usize; 4] = [8, 1 << 10, 64 << 10, 1 << 20];
pub const QUICK_BYTES: [usize; 2] = [8, 64 << 10];

/// Approximate time in ns for which a call is repeated in a round.
const ROUND_NS: f64 = 10e6;
/// Least and greatest number of calls in a round, because an estimate may be far off.
const CALLS: (f64, f64) = (2.0, 4000.0);

/// Returns the checks of collectives of `ranks` ranks, one job for each algorithm.
pub fn plan(sizes: &[usize], ranks: u32, effort: &CheckEffort<'_>) -> Vec<SettingCheck> {
    let seat = on_this_host(ranks as usize, topology::usable() as usize, effort.profile);
    let mut rows = Vec::new();
    for (name, operation) in OPERATIONS {
        // The benchmark lacks these operations, which are calls of MPI only.
        if matches!(operation, Operation::ReduceScatter | Operation::Scan | Operation::Exscan) {
            continue;
        }
        let sizes = if operation == Operation::Barrier { &[0] } else { sizes };
        for bytes in sizes {
            let shape = Shape { element: ELEMENT_BYTES, ..Shape::new(operation, *bytes) };
            let chosen = seat.choose(shape);
            for candidate in seat.candidates(shape) {
                if effort.chosen && candidate.algorithm != chosen {
                    continue;
                }
                rows.push(CheckedRow {
                    operation: name.into(),
                    memory: None,
                    bytes: *bytes,
                    candidate: candidate.algorithm.name().into(),
                    is_chosen: candidate.algorithm == chosen,
                    estimated_ns: candidate.ns,
                    measured_ns: 0.0,
                    is_disturbed: false,
                });
            }
        }
    }
    let of = |algorithm: Algorithm| {
        let own = rows.iter().filter(|row| row.candidate == algorithm.name());
        let rows: Vec<CheckedRow> = own.cloned().collect();
        (!rows.is_empty()).then(|| SettingCheck { task: task(algorithm, ranks, &rows, effort), rows })
    };
    Algorithm::ALL.into_iter().filter_map(of).collect()
}

fn task(algorithm: Algorithm, ranks: u32, rows: &[CheckedRow], effort: &CheckEffort<'_>) -> Task {
    Task {
        bench: Bench::Collectives,
        bytes: vec![rows.iter().map(|row| row.bytes).max().unwrap_or(0)],
        ranks,
        buffers: Buffers::Private,
        wait: Wait::Adaptive,
        rounds: effort.rounds(),
        iterations: None,
        strategies: Vec::new(),
        flows: Vec::new(),
        packs: Vec::new(),
        limits: false,
        between_hosts: false,
        settings: vec![("CANELE_COLLECTIVE".into(), algorithm.name().into())],
        calls: rows.iter().map(call).collect(),
        most_seconds: Some(MOST_SECONDS),
    }
}

/// Returns the calls of a round: fewer long ones, so that a check ends in any case.
fn call(row: &CheckedRow) -> PlannedCall {
    let calls = (ROUND_NS / row.estimated_ns.max(1.0)).clamp(CALLS.0, CALLS.1) as u32;
    let batches = calls.min(BATCHES);
    PlannedCall { operation: row.operation.clone(), bytes: row.bytes, batches, iterations: calls / batches }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_profile::{HostProfile, Profile};

    fn planned(ranks: u32, chosen: bool) -> Vec<SettingCheck> {
        let profile = Profile { host: HostProfile::SHARED_CACHES, networks: Vec::new() };
        plan(&BYTES, ranks, &CheckEffort { is_quick: true, chosen, profile: &profile })
    }

    #[test]
    fn each_job_forces_the_algorithm_of_its_rows() {
        let checks = planned(64, false);
        for check in &checks {
            let [(variable, value)] = &check.task.settings[..] else { panic!("{:?}", check.task.settings) };
            assert_eq!(variable, "CANELE_COLLECTIVE");
            assert!(check.rows.iter().all(|row| row.candidate == *value), "{value}");
            assert_eq!(check.task.calls.len(), check.rows.len());
        }
        let operations = |name: &str| {
            checks.iter().flat_map(|check| &check.rows).filter(|row| row.operation == name).count()
        };
        assert!(operations("barrier") >= 2 && operations("alltoall") >= 3 * BYTES.len());
    }

    #[test]
    fn one_algorithm_of_each_call_is_chosen() {
        let checks = planned(2, true);
        let rows: Vec<&CheckedRow> = checks.iter().flat_map(|check| &check.rows).collect();
        assert_eq!(rows.len(), 1 + 7 * BYTES.len());
        assert!(rows.iter().all(|row| row.is_chosen));
    }

    #[test]
    fn calls_of_a_round_are_bounded() {
        let row =
            |estimated_ns| CheckedRow { estimated_ns, ..super::super::table::tests::row("x", 8, "flat") };
        for (estimated_ns, batches, iterations) in [(0.0, 20, 200), (1e6, 10, 1), (1e5, 20, 5), (1e12, 2, 1)]
        {
            let call = call(&row(estimated_ns));
            assert_eq!((call.batches, call.iterations), (batches, iterations), "{estimated_ns}");
        }
    }
}
