//! The machine's profile by which a job's protocols and collectives are chosen.

use canele_collective::Algorithm;
use canele_control::JobInfo;
use canele_profile::HostProfile;
use canele_sys::topology;

/// Processors of a machine of which nothing else is known that share a second-level cache.
const SHARING: usize = 2;

/// The profile of a job's hosts: it follows from what all ranks know alike. Hosts may differ in processors, of which each knows its own, so
/// a job of several has the profile under which the limits were measured.
pub(crate) fn job_profile(job: &JobInfo) -> HostProfile {
    match job.hosts.len() {
        1 => HostProfile::builtin(job.processors as usize, SHARING),
        _ => HostProfile::SHARED_CACHES,
    }
}

/// The algorithm that all collectives of the job take that it can carry out: for measurements, by a variable that is no setting and that the
/// launcher hands to all ranks alike.
pub(crate) fn forced_algorithm() -> Option<Algorithm> {
    let name = std::env::var("FORCED_COLLECTIVE_ALGORITHM").ok()?;
    Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
}

/// The profile of this machine, for a job of ranks on it alone.
pub fn machine_profile() -> HostProfile {
    HostProfile::builtin(topology::usable() as usize, SHARING)
}
