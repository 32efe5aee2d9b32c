//! Messages of a launcher to ranks. Owns their shape; their version is that of all messages
//! ([`VERSION`](crate::VERSION)).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::SpawnedWorld;
#[cfg(doc)]
use crate::messages::ToLauncher;
use crate::messages::{Meeting, RailAddress};

/// A message of the launcher to a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromLauncher {
    /// Answers [`ToLauncher::Hello`]. Its descriptors are a file that describes the job
    /// ([`JobInfo::read`](crate::JobInfo::read)) and, if there is one, the account on which the ranks of the
    /// host reserve memory.
    Welcome {
        /// [`VERSION`](crate::VERSION) of the launcher.
        version: u32,
    },
    /// Links with these ranks of the host can be made. The descriptors are those of their inboxes, as the
    /// ranks sent them, in order.
    Peers {
        /// At most [`MOST_INBOXES`](crate::MOST_INBOXES).
        peers: Vec<PeerInbox>,
    },
    /// A link with `rank`, which runs on another host, can be made.
    Reach {
        /// The rank that listens.
        rank: u32,
        /// The addresses from its [`ToLauncher::Addresses`].
        rails: Vec<RailAddress>,
    },
    /// Answers [`ToLauncher::FindRegion`]; one descriptor if `found`, unless the owner itself has asked.
    Region {
        /// The owner in the request.
        owner: u32,
        /// The id in the request.
        id: u64,
        /// False if there is no such region now.
        found: bool,
    },
    /// The owner of a region that this rank keeps has dropped it.
    RegionDropped {
        /// The rank that allocated it.
        owner: u32,
        /// The id of the region at its owner.
        id: u64,
    },
    /// Answers [`ToLauncher::Find`].
    Found {
        /// The ticket of the request.
        ticket: u64,
        /// The published value.
        value: Vec<u8>,
    },
    /// Refuses [`ToLauncher::Publish`]: another rank has published the name.
    PublishRefused {
        /// The name.
        name: String,
    },
    /// `rank` no longer sends or answers. Sent once per rank.
    Gone {
        /// The rank.
        rank: u32,
        /// The way in which it ended.
        how: RankEnd,
    },
    /// `by` sends nothing more to `of` and accepts nothing from it; sent to `of` and to all others but `by`.
    CutOff {
        /// The rank that found the violation.
        by: u32,
        /// The rank that broke the rules.
        of: u32,
        /// A description of the violation.
        what: String,
    },
    /// Ranks that have finished. The message means [`Gone`](Self::Gone) for each of them. Ranks that finish
    /// at about the same time share a message.
    Finished {
        /// The first and the last of each unbroken series.
        ranks: Vec<(u32, u32)>,
    },
    /// All ranks of a job that another launcher has started have finished or ended, so this one may end, too.
    Over,
    /// Ranks have been added to the job.
    Grown {
        /// The ranks and their hosts.
        world: SpawnedWorld,
    },
    /// Answers [`ToLauncher::Spawn`].
    Spawned {
        /// The ticket of the request.
        ticket: u64,
        /// The first of the new ranks, which have consecutive numbers. Or the reason for each rank that
        /// failed to start; it is empty for a rank that was ended because of the others.
        result: Result<u32, Vec<String>>,
    },
    /// Answers [`ToLauncher::Accept`] and [`ToLauncher::ConnectPort`].
    Connected {
        /// The ticket of the request.
        ticket: u64,
        /// The connected rank, or the reason of the failure.
        result: Result<Meeting, String>,
    },
    /// Answers [`ToLauncher::Announce`].
    Announced {
        /// The ticket of the request.
        ticket: u64,
        /// The reason why other jobs cannot find the name, if they cannot.
        result: Result<(), String>,
    },
    /// Answers [`ToLauncher::FindElsewhere`].
    FoundElsewhere {
        /// The ticket of the request.
        ticket: u64,
        /// The published value, if a job has announced the name.
        value: Option<Vec<u8>>,
    },
    /// A ring in which packets of `from` arrive; its descriptor.
    Ring {
        /// The sender.
        from: u32,
    },
    /// A command asks for this rank's links; the rank answers with [`ToLauncher::Links`] at its next progress
    /// pass.
    ShowLinks {
        /// The largest number of links over sockets in the answer.
        most: u32,
    },
}

/// A rank whose inbox is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerInbox {
    /// The rank.
    pub rank: u32,
    /// True if the rank sleeps on descriptors, so its event follows its inbox.
    pub has_event: bool,
}

/// The way in which a rank ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankEnd {
    /// The rank reported that it has finished, or exited with 0 without ever having initialised.
    Finished,
    /// The rank exited with this status; 0 means without finalising.
    Exited(u8),
    /// A signal of this number killed the rank.
    Killed(u8),
    /// The rank's host is no longer heard from.
    HostLost,
    /// The rank belongs to another job, which has ended without a report.
    JobLost,
}

impl fmt::Display for RankEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RankEnd::Finished => write!(f, "finished"),
            RankEnd::Exited(0) => write!(f, "ended without finalising"),
            RankEnd::Exited(status) => write!(f, "exited with status {status}"),
            RankEnd::Killed(signal) => write!(f, "was killed by signal {signal}"),
            RankEnd::HostLost => write!(f, "was on a host that was lost"),
            RankEnd::JobLost => write!(f, "was of a job that has ended"),
        }
    }
}
