//! What a launcher tells ranks. Owns the shape of these messages; their version is that of all ([`VERSION`](crate::VERSION)).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::job::SpawnedWorld;
#[cfg(doc)]
use crate::messages::ToLauncher;
use crate::messages::{Meeting, RailAddress};

/// What the launcher tells a rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromLauncher {
    /// Answer to [`ToLauncher::Hello`]; its descriptors are a file that says what the job is ([`JobInfo::read`](crate::JobInfo::read)) and,
    /// if there is one, the account on which the ranks of the host reserve memory.
    Welcome {
        /// [`VERSION`](crate::VERSION) of the launcher.
        version: u32,
    },
    /// Links with these ranks of the host can be made; the descriptors of their inboxes, as they sent them, in order.
    Peers {
        /// At most [`MOST_INBOXES`](crate::MOST_INBOXES).
        peers: Vec<PeerInbox>,
    },
    /// A link with `rank`, which runs on another host, can be made.
    Reach {
        /// Who listens.
        rank: u32,
        /// Where, as it said in its [`ToLauncher::Addresses`].
        rails: Vec<RailAddress>,
    },
    /// Answer to [`ToLauncher::FindRegion`]; one descriptor if `found`, unless the owner itself has asked.
    Region {
        /// As asked.
        owner: u32,
        /// As asked.
        id: u64,
        /// False: no such region now.
        found: bool,
    },
    /// The owner of a region that this rank keeps has dropped it.
    RegionDropped {
        /// The rank that allocated it.
        owner: u32,
        /// Its id there.
        id: u64,
    },
    /// Answer to [`ToLauncher::Find`].
    Found {
        /// As asked.
        ticket: u64,
        /// As published.
        value: Vec<u8>,
    },
    /// The name is taken by another publisher.
    PublishRefused {
        /// The name.
        name: String,
    },
    /// `rank` will neither send nor answer any more. Said once per rank.
    Gone {
        /// Which rank.
        rank: u32,
        /// How it ended.
        how: RankEnd,
    },
    /// `by` sends nothing more to `of` and accepts nothing from it; told to `of` and to all others but `by`.
    CutOff {
        /// Who found something.
        by: u32,
        /// Who broke the rules.
        of: u32,
        /// How, in words.
        what: String,
    },
    /// Ranks that have finished, as [`Gone`](Self::Gone) says of one. Those that finish at about the same time are told together.
    Finished {
        /// The first and the last of each unbroken series.
        ranks: Vec<(u32, u32)>,
    },
    /// All ranks of a job that another launcher has started have finished or ended: this one may end, too.
    Over,
    /// Ranks have been added to the job.
    Grown {
        /// Which, and where.
        world: SpawnedWorld,
    },
    /// Answer to [`ToLauncher::Spawn`].
    Spawned {
        /// As asked.
        ticket: u64,
        /// The first of the new ranks, which follow each other; or of each, why it was not started: empty if it was and has been
        /// ended because of the others.
        result: Result<u32, Vec<String>>,
    },
    /// Answer to [`ToLauncher::Accept`] and [`ToLauncher::ConnectPort`].
    Connected {
        /// As asked.
        ticket: u64,
        /// With whom; or why with no job.
        result: Result<Meeting, String>,
    },
    /// Answer to [`ToLauncher::Announce`].
    Announced {
        /// As asked.
        ticket: u64,
        /// Why other jobs do not find the name, if they do not.
        result: Result<(), String>,
    },
    /// Answer to [`ToLauncher::FindElsewhere`].
    FoundElsewhere {
        /// As asked.
        ticket: u64,
        /// As published, if a job has announced the name.
        value: Option<Vec<u8>>,
    },
    /// A ring in which packets of `from` come; its descriptor.
    Ring {
        /// The sender.
        from: u32,
    },
    /// A command wants to see this rank's links; answered with [`ToLauncher::Links`] when it comes by.
    ShowLinks {
        /// How many over sockets, at most.
        most: u32,
    },
}

/// Whose inbox is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerInbox {
    /// The rank.
    pub rank: u32,
    /// The event of a rank that sleeps on descriptors follows its inbox.
    pub has_event: bool,
}

/// How a rank ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankEnd {
    /// It said so, or exited with 0 without ever having initialised.
    Finished,
    /// It exited with this status; 0 means without finalising.
    Exited(u8),
    /// A signal of this number killed it.
    Killed(u8),
    /// Nothing is heard any more of the host it runs on.
    HostLost,
    /// Its job, another one, has ended without saying how.
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
