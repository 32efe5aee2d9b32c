//! Failure detection: the ends of processes, and which of them are failures. Owns the wording and the exit
//! statuses.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::wording::rank_list;

/// The way in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// The process exited with this status.
    Status(u8),
    /// This signal ended the process.
    Signal(u8),
    /// The end is unknown, because its host was lost.
    Lost,
    /// Only the parent knows the end, and the parent is not of the job.
    Unknown,
}

/// The reason why a rank counts as failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RankFailure {
    /// A signal killed the rank.
    Killed(u8),
    /// The rank exited with a status other than 0.
    Exited(u8),
    /// The rank exited with 0, had initialised, but not finalised.
    Unfinished,
    /// The rank ended in a way that only its parent knows, and had not finalised.
    Unknown,
    /// The rank broke the rules of the control socket.
    Broken(String),
    /// The rank's host is no longer heard from.
    HostLost,
}

impl RankFailure {
    /// Returns the job's exit status if this is its first failure.
    pub fn status(&self) -> u8 {
        match self {
            RankFailure::Killed(signal) => 128_u8.saturating_add(*signal),
            RankFailure::Exited(status) => *status,
            RankFailure::Unfinished
            | RankFailure::Unknown
            | RankFailure::Broken(_)
            | RankFailure::HostLost => 1,
        }
    }
}

impl fmt::Display for RankFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankFailure::Killed(signal) => write!(f, "was killed by {}", SignalName(*signal)),
            RankFailure::Exited(status) => write!(f, "exited with status {status}"),
            RankFailure::Unfinished => {
                write!(
                    f,
                    "exited with status 0 without finalising (it had initialised: call `Job::finish`, in MPI programs `MPI_Finalize`)"
                )
            }
            RankFailure::Unknown => write!(f, "ended without finalising, how is unknown"),
            RankFailure::Broken(text) => write!(f, "{text}"),
            RankFailure::HostLost => write!(f, "was on a host that was lost"),
        }
    }
}

/// A signal, displayed with its name: `signal 9 (Killed)`.
#[derive(Debug, Clone, Copy)]
pub struct SignalName(pub u8);

impl fmt::Display for SignalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.0 {
            1 => "Hangup",
            2 => "Interrupt",
            3 => "Quit",
            4 => "Illegal instruction",
            5 => "Trace trap",
            6 => "Aborted",
            7 => "Bus error",
            8 => "Arithmetic exception",
            9 => "Killed",
            10 => "User signal 1",
            11 => "Segmentation fault",
            12 => "User signal 2",
            13 => "Broken pipe",
            14 => "Alarm clock",
            15 => "Terminated",
            24 => "Processor time limit exceeded",
            25 => "File size limit exceeded",
            31 => "Bad system call",
            _ => return write!(f, "signal {}", self.0),
        };
        write!(f, "signal {} ({name})", self.0)
    }
}

/// Lists the ends of all ranks: those that ended alike together, in the order of the first of them.
pub fn exit_list(exits: impl Iterator<Item = Option<Exit>>) -> String {
    let mut groups: Vec<(Option<Exit>, Vec<u32>)> = Vec::new();
    for (rank, exit) in (0..).zip(exits) {
        match groups.iter_mut().find(|(known, _)| *known == exit) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((exit, vec![rank])),
        }
    }
    let text = |(exit, ranks): &(Option<Exit>, Vec<u32>)| {
        let how = match exit {
            Some(Exit::Status(status)) => format!("exit status {status}"),
            Some(Exit::Signal(signal)) => SignalName(*signal).to_string(),
            Some(Exit::Lost) => "lost with the host".into(),
            Some(Exit::Unknown) => "unknown to this launcher".into(),
            None => "never started".into(),
        };
        format!("{}: {how}", rank_list(ranks))
    };
    groups.iter().map(text).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_ended_alike_are_listed_together() {
        let exits = [Exit::Status(0), Exit::Signal(9), Exit::Status(0)].map(Some);
        let all = exits.into_iter().chain([None]);
        assert_eq!(
            exit_list(all),
            "ranks 0, 2: exit status 0; rank 1: signal 9 (Killed); rank 3: never started"
        );
    }

    #[test]
    fn statuses_follow_the_shell() {
        assert_eq!(RankFailure::Killed(9).status(), 137);
        assert_eq!(RankFailure::Exited(3).status(), 3);
        assert_eq!(RankFailure::Unfinished.status(), 1);
        assert_eq!(RankFailure::Killed(9).to_string(), "was killed by signal 9 (Killed)");
        assert_eq!(SignalName(40).to_string(), "signal 40");
    }
}
