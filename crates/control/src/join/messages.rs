//! What a rank that joins its job and the processes that stand in for its launcher tell each other. Owns the messages; they travel in
//! packets of a [`Socket`](crate::Socket).

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// What a launcher or agent is started with.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinTask {
    /// [`VERSION`](crate::VERSION) of the rank.
    pub version: u32,
    /// The number of the job.
    pub job: u64,
    /// What proves that a process is of the job. Overwritten when dropped.
    pub key: Zeroizing<[u8; 32]>,
    /// How many ranks the job has.
    pub ranks: u32,
    /// How long the other ranks may take to come once one has, in milliseconds.
    pub timeout_ms: u64,
    /// The program that the rank runs.
    pub program: String,
    /// Where the launcher listens; none yet if this one is the launcher.
    pub launcher: Vec<SocketAddr>,
    /// The network namespace in which it listens ([`canele_sys::namespace`]).
    pub namespace: Option<u64>,
}

impl fmt::Debug for JoinTask {
    /// Without the key: this text may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JoinTask { version, job, ranks, timeout_ms, program, launcher, .. } = self;
        write!(
            f,
            "JoinTask {{ version: {version}, job: {job:#x}, key: …, ranks: {ranks}, timeout_ms: {timeout_ms}, program: {program}, \
             launcher: {launcher:?} }}"
        )
    }
}

/// What a rank says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinRequest {
    /// To a launcher or agent that this rank has started, first; to an agent with the socket on which it listens for ranks.
    Begin(JoinTask),
    /// To the agent of its host, first.
    Join {
        /// [`VERSION`](crate::VERSION) of the rank.
        version: u32,
        /// Its number.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
}

/// What a rank is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum JoinAnswer {
    /// The launcher waits for agents.
    Listening {
        /// Where.
        addresses: Vec<SocketAddr>,
    },
    /// All ranks have come; the socket is this one's control socket from now on.
    Joined {
        /// The rank's number on its host.
        local_rank: u32,
        /// How many ranks its host has.
        local_size: u32,
    },
    /// The job does not come about.
    Refused {
        /// Why.
        why: String,
    },
}
