//! Messages between the launchers of two jobs. Owns the shape. Ranks of the sender have the numbers of its
//! job, ranks of the receiver those of the receiver's job.

use canele_control::{JobNetwork, Meeting, PortName, RailAddress, RankEnd};
use serde::{Deserialize, Serialize};

/// Ranks with consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSeries {
    /// The first rank.
    pub first: u32,
    /// The hosts of the ranks, as the job of the ranks numbers them. Each comes with the number of the next
    /// ranks on it.
    pub hosts: Vec<(u32, u32)>,
}

impl RankSeries {
    /// Returns the ranks from `first` on, each with its host from `each`.
    pub fn new(first: u32, each: impl Iterator<Item = u32>) -> RankSeries {
        let mut hosts: Vec<(u32, u32)> = Vec::new();
        for host in each {
            match hosts.last_mut() {
                Some((last, ranks)) if *last == host => *ranks += 1,
                _ => hosts.push((host, 1)),
            }
        }
        RankSeries { first, hosts }
    }

    /// Returns the number of ranks. Saturates, so that an invalid number is still too large.
    pub fn ranks(&self) -> u32 {
        self.hosts.iter().fold(0, |sum, (_, ranks)| sum.saturating_add(*ranks))
    }

    /// Returns the number behind the last rank.
    pub fn end(&self) -> u32 {
        self.first.saturating_add(self.ranks())
    }
}

/// A message from one launcher to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToJob {
    /// The first message of both sides. It has the same shape in all versions up to the version.
    Hello {
        /// The version of the messages of ranks and launchers.
        version: u32,
        /// The sender's job.
        job: u64,
        /// The settings that all ranks must have alike.
        settings: Vec<(String, String)>,
        /// The sender's ranks.
        ranks: Vec<RankSeries>,
        /// The sender's random part of a key of both jobs, and the rails of its hosts; no rails if it has no
        /// agents.
        network: JobNetwork,
    },
    /// The last message: the two jobs cannot be connected.
    Refused {
        /// The reason, a sentence without its end.
        why: String,
    },
    /// The sender's job has more ranks.
    Grown {
        /// The new ranks.
        ranks: RankSeries,
    },
    /// A rank of the sender's no longer sends or answers.
    Gone {
        /// The rank.
        rank: u32,
        /// The way in which it ended.
        how: RankEnd,
    },
    /// A rank of the sender's accepts nothing more from one of the receiver's, which broke the rules.
    CutOff {
        /// The sender's rank.
        by: u32,
        /// The receiver's rank.
        of: u32,
        /// A description of the violation.
        what: String,
    },
    /// A rank of the sender's asks for a connection at a port of the receiver's.
    /// [`Connected`](Self::Connected) answers.
    ConnectPort {
        /// The ticket, which the answer repeats.
        ticket: u64,
        /// The port.
        port: PortName,
        /// The rank.
        by: u32,
    },
    /// The rank that sent the request no longer waits.
    Abandon {
        /// The ticket of the request.
        ticket: u64,
    },
    /// Answers [`ConnectPort`](Self::ConnectPort).
    Connected {
        /// The ticket of the request.
        ticket: u64,
        /// The sender's rank that was connected, or the reason of the failure.
        result: Result<Meeting, String>,
    },
    /// A rank of the sender's asks for a link with one of the receiver's. Both then hand over their inboxes.
    Link {
        /// The sender's rank.
        from: u32,
        /// The receiver's rank.
        to: u32,
    },
    /// The addresses of a rank of the sender's for one of the receiver's, if one of the two asks for a link.
    /// Both sides then send theirs.
    Reach {
        /// The sender's rank.
        from: u32,
        /// The receiver's rank.
        to: u32,
        /// The address at which it listens, for each rail.
        rails: Vec<RailAddress>,
    },
    /// The inbox of a rank of the sender's, and its event if it has one, as descriptors.
    Inbox {
        /// The rank that owns the inbox.
        from: u32,
        /// The rank that gets it.
        to: u32,
        /// True if the owner sleeps on descriptors.
        has_event: bool,
    },
    /// A ring for packets of a rank of the sender's: a descriptor.
    Ring {
        /// The rank that sends.
        from: u32,
        /// The rank that receives.
        to: u32,
    },
    /// A rank of the sender's asks for a region of one of the receiver's.
    FindRegion {
        /// The rank that asks.
        from: u32,
        /// The owner of the region.
        owner: u32,
        /// The id of the region at that rank.
        id: u64,
    },
    /// Answers [`FindRegion`](Self::FindRegion); one descriptor if the region was found.
    Region {
        /// The owner of the region.
        owner: u32,
        /// The rank that has asked.
        to: u32,
        /// The id in the request.
        id: u64,
        /// True if there is such a region.
        found: bool,
    },
    /// A rank of the sender's has dropped a region that one of the receiver's has asked for.
    RegionDropped {
        /// The owner of the region.
        owner: u32,
        /// The rank that has asked.
        to: u32,
        /// The id of the region.
        id: u64,
    },
}
