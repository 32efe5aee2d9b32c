//! What the launchers of two jobs tell each other. Owns the shape; ranks are numbered as in the sender's job where they are the
//! sender's, and as in the receiver's job where they are the receiver's.

use canele_control::{JobNetwork, Meeting, PortName, RailAddress, RankEnd};
use serde::{Deserialize, Serialize};

/// Ranks that follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankSeries {
    /// The first of them.
    pub first: u32,
    /// Their hosts, as their job numbers them: of how many the next are.
    pub hosts: Vec<(u32, u32)>,
}

impl RankSeries {
    /// Ranks from `first` on, of which each has its host here.
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

    /// How many there are. Saturates, so that what makes no sense is still too much.
    pub fn ranks(&self) -> u32 {
        self.hosts.iter().fold(0, |sum, (_, ranks)| sum.saturating_add(*ranks))
    }

    /// The rank behind them.
    pub fn end(&self) -> u32 {
        self.first.saturating_add(self.ranks())
    }
}

/// A message from one launcher to another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToJob {
    /// First message of both. Of the same shape in all versions up to the version.
    Hello {
        /// Version of the messages of ranks and launchers.
        version: u32,
        /// The sender's job.
        job: u64,
        /// The settings that all ranks must have alike.
        settings: Vec<(String, String)>,
        /// The sender's ranks.
        ranks: Vec<RankSeries>,
        /// What the sender has drawn for a key of both jobs, and the rails of its hosts; none if it has no agents.
        network: JobNetwork,
    },
    /// Last message: why the two jobs cannot be connected.
    Refused {
        /// A sentence without its end.
        why: String,
    },
    /// The sender's job has more ranks.
    Grown {
        /// Which.
        ranks: RankSeries,
    },
    /// A rank of the sender's will neither send nor answer any more.
    Gone {
        /// Which.
        rank: u32,
        /// How it ended.
        how: RankEnd,
    },
    /// A rank of the sender's accepts nothing more from one of the receiver's, which broke the rules.
    CutOff {
        /// The sender's.
        by: u32,
        /// The receiver's.
        of: u32,
        /// What was found.
        what: String,
    },
    /// A rank of the sender's wants to be connected at a port of the receiver's. Answered with [`Connected`](Self::Connected).
    ConnectPort {
        /// Comes back with the answer.
        ticket: u64,
        /// Which port.
        port: PortName,
        /// Which rank.
        by: u32,
    },
    /// That rank waits no longer.
    Abandon {
        /// As asked.
        ticket: u64,
    },
    /// Answer to [`ConnectPort`](Self::ConnectPort).
    Connected {
        /// As asked.
        ticket: u64,
        /// With which of the sender's ranks; or why with none.
        result: Result<Meeting, String>,
    },
    /// A rank of the sender's wants a link with one of the receiver's. Both then hand over their inboxes.
    Link {
        /// The sender's.
        from: u32,
        /// The receiver's.
        to: u32,
    },
    /// Where a rank of the sender's listens for one of the receiver's, one of which wants a link with the other. Both then say so.
    Reach {
        /// The sender's.
        from: u32,
        /// The receiver's.
        to: u32,
        /// Where it listens, for each rail.
        rails: Vec<RailAddress>,
    },
    /// The inbox of a rank of the sender's, and its event if it has one: descriptors.
    Inbox {
        /// Whose.
        from: u32,
        /// For whom.
        to: u32,
        /// It sleeps on descriptors.
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
        /// Who asks.
        from: u32,
        /// Whose region.
        owner: u32,
        /// Its id there.
        id: u64,
    },
    /// Answer to [`FindRegion`](Self::FindRegion); a descriptor if it was found.
    Region {
        /// Whose.
        owner: u32,
        /// Who has asked.
        to: u32,
        /// As asked.
        id: u64,
        /// There is such a region.
        found: bool,
    },
    /// A rank of the sender's has dropped a region for which one of the receiver's has asked.
    RegionDropped {
        /// Whose.
        owner: u32,
        /// Who has asked.
        to: u32,
        /// Its id.
        id: u64,
    },
}
