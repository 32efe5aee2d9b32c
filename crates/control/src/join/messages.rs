//! Messages between a rank that joins its job and the processes that replace its launcher. Owns the messages;
//! they travel in packets of a [`Socket`](crate::Socket).

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// The task with which a launcher or agent is started.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinTask {
    /// [`VERSION`](crate::VERSION) of the rank.
    pub version: u32,
    /// The number of the job.
    pub job: u64,
    /// The key that proves that a process is of the job. Overwritten when dropped.
    pub key: Zeroizing<[u8; 32]>,
    /// The number of ranks of the job.
    pub ranks: u32,
    /// The time in which the other ranks must join once one has joined, in milliseconds.
    pub timeout_ms: u64,
    /// The program that the rank runs.
    pub program: String,
    /// The addresses at which the launcher listens; empty if this process is the launcher.
    pub launcher: Vec<SocketAddr>,
    /// The network namespace in which the launcher listens ([`canele_sys::namespace`]).
    pub namespace: Option<u64>,
}

impl fmt::Debug for JoinTask {
    /// Formats it without the key: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinTask { version, job, ranks, timeout_ms, program, launcher, .. } = self;
        write!(
            f,
            "JoinTask {{ version: {version}, job: {job:#x}, key: …, ranks: {ranks}, timeout_ms: {timeout_ms}, program: {program}, \
             launcher: {launcher:?} }}"
        )
    }
}

/// A request of a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinRequest {
    /// The first message to a launcher or agent that this rank has started; an agent also gets the socket on
    /// which it listens for ranks.
    Begin(JoinTask),
    /// The first message to the agent of the rank's host.
    Join {
        /// [`VERSION`](crate::VERSION) of the rank.
        version: u32,
        /// The rank's number.
        rank: u32,
        /// The number of ranks.
        ranks: u32,
    },
}

/// The answer to a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinAnswer {
    /// The launcher waits for agents.
    Listening {
        /// The addresses at which the launcher waits.
        addresses: Vec<SocketAddr>,
    },
    /// All ranks have joined. From now on the socket is the control socket of this rank.
    Joined {
        /// The rank's number on its host.
        local_rank: u32,
        /// The number of ranks of its host.
        local_size: u32,
    },
    /// The job cannot start.
    Refused {
        /// The reason.
        why: String,
    },
}
