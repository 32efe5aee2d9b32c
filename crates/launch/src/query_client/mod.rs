//! The asking side of `canele info --job`, `canele why` and `canele top`: finds launchers and gets their
//! reports.
//!
//! ```text
//!   /proc/net/unix ─▶ names ─▶ reach: connect with all, check their users
//!                                └─▶ conversations: read all, by one deadline ─▶ reports
//! ```
//! Owns the choice of the launcher that a process number means. No answer is trusted: abstract names belong
//! to the first process that binds them.

mod answer;
mod conversations;
mod reach;
#[cfg(test)]
mod tests;

use std::io;

use canele_sys::peer_credentials::PeerCredentials;
use rustix::process::getuid;

use super::job_report::JobReport;
use super::query_name::QueryNames;
use conversations::converse;
use reach::{Reach, Reached, reach};

/// The reason why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// No process listens under this number.
    #[error("process {0} is no launcher of a running job on this host")]
    NoLauncher(u32),
    /// The launcher closed the connection without an answer.
    #[error("the job of process {0} belongs to another user, or has just ended")]
    Refused(u32),
    /// A process of another user listens under the launcher's number.
    #[error(
        "a process of user {user}{} answers for process {asked}: it is no launcher of yours, so its answer is not read",
        .found.map(|pid| format!(" (process {pid})")).unwrap_or_default()
    )]
    Impostor {
        /// The launcher that was asked.
        asked: u32,
        /// The process that listens, if it is visible from here.
        found: Option<u32>,
        /// Its user.
        user: u32,
    },
    /// Several launchers have the number.
    #[error(
        "{count} launchers are process {asked} of containers that share this host's network: ask inside the container{}",
        .visible.as_deref().map(|pids| format!(", or by their numbers here: {pids}")).unwrap_or_default()
    )]
    Ambiguous {
        /// The number that was asked.
        asked: u32,
        /// The number of launchers that have it.
        count: usize,
        /// Their numbers in the pid namespace of the asker, if they have any there.
        visible: Option<String>,
    },
    /// Connections of other processes fill the launcher's queue.
    #[error("the launcher {0} cannot be asked now: the queue of its socket is full")]
    Full(u32),
    /// The launcher answers other requests.
    #[error("the launcher {0} answers as many questions as it can at a time: ask it again")]
    Busy(u32),
    /// Not all possible launchers were asked.
    #[error(
        "more sockets have names of launchers than are asked at a time, and process {0} is not among those that were: there may be a job of it all the same"
    )]
    NotAllAsked(u32),
    /// The launcher took too long.
    #[error("the launcher {0} does not answer in time")]
    Late(u32),
    /// The answer is longer than the limit.
    #[error(
        "the answer of process {job} of user {user} has more than {limit} MiB, and is not read further: ask as that user"
    )]
    TooLong {
        /// The launcher.
        job: u32,
        /// Its user.
        user: u32,
        /// The limit in MiB.
        limit: usize,
    },
    /// The answer is not a report.
    #[error("the launcher {0} answers in another version's way: {1}")]
    Unreadable(u32, String),
    /// The system refused.
    #[error("the launcher {0} cannot be asked: {1}")]
    System(u32, io::Error),
    /// The system does not list the launchers.
    #[error("the running jobs of this host cannot be listed: {0}")]
    Unlisted(io::Error),
    /// There are more sockets with launchers' names than are asked.
    #[error(
        "more sockets have names of launchers than are asked at a time: jobs may be missing here, name one by its process"
    )]
    TooMany,
}

/// The jobs that were found.
#[derive(Debug, Default)]
pub struct RunningJobs {
    /// The reports, in the order of the launchers' processes.
    pub reports: Vec<JobReport>,
    /// The reasons why other jobs have no report, as far as they concern the user.
    pub errors: Vec<QueryError>,
}

/// Asks the launcher `pid` about its job.
///
/// # Errors
/// Fails with a [`QueryError`].
pub fn query_job(pid: u32) -> Result<JobReport, QueryError> {
    let own = getuid().as_raw();
    let names = QueryNames::list().map_err(|error| QueryError::System(pid, error))?;
    let launcher = find(pid, &names, own)?;
    let mut answered = converse(vec![launcher], own);
    answered.pop().map_or(Err(QueryError::NoLauncher(pid)), |(_, result)| result)
}

/// Asks all launchers of the user on this host; for root, those of all users.
pub fn query_jobs() -> RunningJobs {
    let own = getuid().as_raw();
    let failed = |error| RunningJobs { reports: Vec::new(), errors: vec![QueryError::Unlisted(error)] };
    let names = match QueryNames::list() {
        Ok(names) => names,
        Err(error) => return failed(error),
    };
    match reach(&names.all, own, |_| true) {
        Ok(reach) => answers(reach, own, names.is_cut),
        Err(errno) => failed(errno.into()),
    }
}

/// Returns the answers of launchers that were reached.
fn answers(reach: Reach, own: u32, is_cut: bool) -> RunningJobs {
    let mut jobs = RunningJobs::default();
    if is_cut || reach.is_cut {
        jobs.errors.push(QueryError::TooMany);
    }
    for (with, result) in converse(reach.reached, own) {
        match result {
            Ok(report) => jobs.reports.push(report),
            // The launcher has closed the connection because its job is over.
            Err(QueryError::Refused(_)) => {}
            // A process of another user that has a launcher's name may be no launcher.
            Err(error) if with.peer.uid == own || matches!(error, QueryError::TooLong { .. }) => {
                jobs.errors.push(error);
            }
            Err(_) => {}
        }
    }
    jobs.reports.sort_by_key(|report| report.job);
    jobs
}

/// Returns the launcher that a process number means: the process that has the number here, or the only one
/// that has it in its own pid namespace.
fn find(pid: u32, names: &QueryNames, own: u32) -> Result<Reached, QueryError> {
    let system = |errno: rustix::io::Errno| QueryError::System(pid, errno.into());
    let is_it = |peer: &PeerCredentials| peer.pid == Some(pid);
    // For root, a process of another user must have exactly this number.
    let may_be = |peer: &PeerCredentials| is_it(peer) || peer.uid == own || peer.uid == 0;
    let (named, others): (Vec<_>, Vec<_>) = names.all.iter().copied().partition(|name| name.pid == pid);
    let mut of_name = reach(&named, own, may_be).map_err(system)?;
    if let Some(place) = of_name.reached.iter().position(|reached| is_it(&reached.peer)) {
        return Ok(of_name.reached.swap_remove(place));
    }
    // A launcher of a container has another number here than in its name.
    let mut of_others = reach(&others, own, is_it).map_err(system)?;
    if let Some(it) = of_others.reached.pop() {
        return Ok(it);
    }
    // A launcher that was not asked may be the process itself, or another launcher with its number.
    if names.is_cut || of_name.is_cut || of_others.is_cut {
        return Err(QueryError::NotAllAsked(pid));
    }
    let count = of_name.reached.len();
    match of_name.reached.pop() {
        Some(only) if count == 1 => Ok(only),
        Some(last) => {
            let all = of_name.reached.iter().chain([&last]).filter_map(|reached| reached.peer.pid);
            let pids: Vec<String> = all.map(|pid| pid.to_string()).collect();
            let visible = (!pids.is_empty()).then(|| pids.join(", "));
            Err(QueryError::Ambiguous { asked: pid, count, visible })
        }
        None => Err(match (of_name.stranger, of_name.full.is_empty()) {
            (Some(PeerCredentials { pid: found, uid: user }), _) => {
                QueryError::Impostor { asked: pid, found, user }
            }
            (None, false) => QueryError::Full(pid),
            (None, true) => QueryError::NoLauncher(pid),
        }),
    }
}
