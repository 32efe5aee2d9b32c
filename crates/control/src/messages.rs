//! Messages of ranks to their launcher, and the bounds of all messages. Owns their shape and version; never a
//! descriptor (those travel beside them).
//!
//! Ranks are plain numbers here and region ids an opaque `u64`, because this is the encoded form. Both ends
//! turn them into their newtypes and check the range on arrival.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::from_launcher::FromLauncher;
use crate::job::JobRank;
use crate::links::Links;
use crate::socket::MOST_DESCRIPTORS;

/// The version of this message set and of the packets that ranks send each other. Two sides with different
/// versions refuse each other, and each names both versions. Ranks have the version of their launcher.
pub const VERSION: u32 = 28;

/// The most lanes of a rank, the first included.
pub const MOST_LANES: u8 = 16;

/// The largest encoded message in bytes. A socket packet larger than this is malformed.
pub const MAX_MESSAGE: usize = 64 * 1024;

/// The most links that a rank requests in one message.
pub const MOST_PEERS: usize = 1024;

/// The most series of ranks in one message. This number fits into any message.
pub const MOST_SERIES: usize = 4096;

/// The most inboxes in one message; with an event for each, they use all descriptors of a message.
pub const MOST_INBOXES: usize = MOST_DESCRIPTORS / 2;

/// The largest value in bytes that can be published under a name, and the largest name.
pub const MAX_VALUE: usize = 32 * 1024;

/// The most rails of a rank.
pub const MOST_RAILS: usize = 255;

/// The longest address of a rail in bytes.
pub const MAX_RAIL_ADDRESS: usize = 2048;

/// The address at which ranks of other hosts reach a rank over one of its rails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RailAddress {
    /// The rail's driver.
    pub driver: String,
    /// The driver's address bytes; none if the rank cannot be reached over this rail.
    pub address: Vec<u8>,
}

/// Checks the addresses that a rank has sent, in the order of its rails.
///
/// # Errors
/// Fails with a text that describes the problem.
pub fn check_addresses(rails: &[RailAddress]) -> Result<(), String> {
    if rails.len() > MOST_RAILS {
        return Err(format!("told addresses of {} rails, at most {MOST_RAILS} are possible", rails.len()));
    }
    for RailAddress { driver, address } in rails {
        if driver.len() > MAX_DRIVER_NAME || address.len() > MAX_RAIL_ADDRESS {
            let (name, bytes) = (driver.len(), address.len());
            return Err(format!("told an address of {bytes} bytes of a driver whose name has {name}"));
        }
    }
    Ok(())
}

/// The longest name of a driver in bytes.
const MAX_DRIVER_NAME: usize = 32;

/// A message of a rank to its launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToLauncher {
    /// The first message, of the same shape in all versions. After it, an exit with 0 without
    /// [`Finished`](Self::Finished) is a failure.
    Hello {
        /// [`VERSION`] of the rank.
        version: u32,
    },
    /// The rank's inbox is ready. The descriptors are its memfd, and its event if the rank sleeps on
    /// descriptors. Sent at most once. A rank whose settings differ from those of the first sender is
    /// refused.
    Inbox {
        /// The settings that all ranks must have alike: variables and values.
        settings: Vec<(String, String)>,
    },
    /// This rank opens a further lane; one descriptor, the launcher's end of the lane's own socket. On that
    /// socket the lane begins with [`Hello`](Self::Hello) and is informed of the ends of ranks from then on.
    /// Sent at most once for each lane.
    Lane {
        /// The lane's number, from 1 to below [`MOST_LANES`]: links are made between lanes of the same
        /// number.
        number: u8,
    },
    /// The addresses at which this rank listens for ranks of other hosts. Sent at most once, after
    /// [`Inbox`](Self::Inbox).
    Addresses {
        /// The address of each rail, in their order; at most [`MOST_RAILS`].
        rails: Vec<RailAddress>,
    },
    /// This rank requests links. The answer is [`FromLauncher::Peers`] or, for ranks on other hosts,
    /// [`FromLauncher::Reach`], as soon as both sides can be reached. Both get it, once for each pair.
    Connect {
        /// The other ranks, not this one; at most [`MOST_PEERS`].
        peers: Vec<u32>,
    },
    /// This rank records its events for a trace in a log; one descriptor, the log's memfd. Sent at most once.
    Trace,
    /// A region that peers may ask for; one descriptor, its memfd.
    Region {
        /// The region's id (index and generation), unique within the rank.
        id: u64,
    },
    /// Asks for a region of `owner`. [`FromLauncher::Region`] answers at once. A region of a rank of another
    /// host is never found.
    FindRegion {
        /// The rank that allocated it.
        owner: u32,
        /// The id of the region at its owner.
        id: u64,
        /// True if this rank keeps the region for messages of its owner. [`FromLauncher::RegionDropped`] then
        /// reports that the owner has dropped it.
        is_kept: bool,
    },
    /// The region can no longer be found. Peers that keep it are informed; peers that have mapped it keep
    /// their mapping.
    DropRegion {
        /// The id given with [`Region`](Self::Region).
        id: u64,
    },
    /// Publishes `value` under `name` for the whole job; a taken name is refused.
    Publish {
        /// At most [`MAX_VALUE`] bytes together with the value.
        name: String,
        /// A value that is opaque to the launcher.
        value: Vec<u8>,
    },
    /// Takes back a name that this rank published.
    Withdraw {
        /// The name.
        name: String,
    },
    /// Asks for a name. [`FromLauncher::Found`] answers when it is published, now or later.
    Find {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The name.
        name: String,
    },
    /// Withdraws a [`Find`](Self::Find). An answer may already be on its way.
    Forget {
        /// The ticket of the find.
        ticket: u64,
    },
    /// The rank has called `MPI_Finalize`: it waits for the others and sends them nothing more.
    Finalizing,
    /// The rank has left the library; it may exit with 0 at any time.
    Finished,
    /// This rank found that `peer` broke the rules of the rail or the protocol, and accepts nothing more from
    /// it.
    CutOff {
        /// The other rank, not this one.
        peer: u32,
        /// A description of the violation.
        what: String,
    },
    /// This rank can reach `peer` over no network, and other ranks wait for both to agree.
    Unreachable {
        /// The other rank, not this one.
        peer: u32,
        /// A description of the reason.
        what: String,
    },
    /// Answers [`FromLauncher::ShowLinks`].
    Links(Links),
    /// Adds ranks to the job, as a world of their own. The answer is [`FromLauncher::Spawned`].
    Spawn {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The programs; ranks are numbered through them in order.
        programs: Vec<SpawnProgram>,
        /// The ranks that spawn together, in the order of their communicator.
        parents: Vec<u32>,
    },
    /// This rank has a communicator with ranks of another world of its job, or has disconnected from all of
    /// them. A failure in one of two connected worlds ends both (MPI 5.0, §11.10.4). Ranks that spawn are
    /// connected with the spawned ones without this message.
    SetConnected {
        /// The first rank of the other world.
        world: u32,
        /// False if this rank has disconnected.
        is_connected: bool,
    },
    /// Opens a port of this rank, at which others may connect.
    OpenPort {
        /// The port's number among those of this rank.
        port: u32,
    },
    /// Closes a port of this rank: ranks that wait there, to accept or to connect, are refused.
    ClosePort {
        /// The port's number.
        port: u32,
    },
    /// This rank accepts one connection at a port of its job. [`FromLauncher::Connected`] answers once there
    /// is one.
    Accept {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The port.
        port: PortName,
    },
    /// This rank connects with one that accepts at a port, maybe of another job. [`FromLauncher::Connected`]
    /// answers once a rank accepts.
    ConnectPort {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The port.
        port: PortName,
    },
    /// The rank no longer waits for an answer to [`Accept`](Self::Accept) or
    /// [`ConnectPort`](Self::ConnectPort). The answer may be under way.
    Abandon {
        /// The ticket of that request.
        ticket: u64,
    },
    /// Lets ranks of other jobs of the user find a name that this rank has published. The answer is
    /// [`FromLauncher::Announced`].
    Announce {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The name.
        name: String,
    },
    /// Asks for a name that a rank of another job has announced. The answer is
    /// [`FromLauncher::FoundElsewhere`].
    FindElsewhere {
        /// Chosen by the rank; the answer repeats it.
        ticket: u64,
        /// The name.
        name: String,
    },
    /// This rank has a ring of its own for packets to one rank, because one of the two was spawned; one
    /// descriptor, the ring's. Sent after both inboxes were exchanged; passed on as [`FromLauncher::Ring`].
    Ring {
        /// The receiver, a rank of the same host.
        to: u32,
    },
    /// The rank is about to end, and these ranks with it.
    Abort {
        /// The first and the last of each unbroken series, at most [`MOST_SERIES`]; ranks of other jobs among
        /// them are not killed.
        ranks: Vec<(u32, u32)>,
        /// The exit status of the job, if nothing else has decided it.
        status: u8,
    },
    /// The rank is about to finish while operations are still under way, and does not wait for their end.
    GivenUp {
        /// The number of operations.
        operations: u32,
        /// A description, for example `1 receive from rank 2 with tag 7`.
        what: String,
    },
}

/// Returns the first and the last of each unbroken series of `ranks`, which ascend.
pub fn series_of(ranks: &[u32]) -> Vec<(u32, u32)> {
    let mut series: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match series.last_mut() {
            Some((_, last)) if *last + 1 >= rank => *last = rank,
            _ => series.push((rank, rank)),
        }
    }
    series
}

/// A port, by a name that means the same in every job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortName {
    /// The rank that has opened it.
    pub owner: JobRank,
    /// The port's number among those of that rank.
    pub number: u32,
}

/// The data that each of two ranks connected by a port has of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// The other rank, as this job numbers it.
    pub with: u32,
    /// The number of this connection among those that the job of the port has accepted.
    pub call: u64,
}

/// A program that a rank asks the launcher to start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnProgram {
    /// The number of ranks that run it, at least 1.
    pub ranks: u32,
    /// The name and the arguments of the program; not empty.
    pub command: Vec<Vec<u8>>,
    /// The hosts to choose from, as the job names them; if empty, any host.
    pub hosts: Vec<String>,
    /// The directory where the program starts; if empty, the one where the job's ranks start.
    pub directory: Vec<u8>,
    /// The directories that are searched for the program first, with `:` between them.
    pub path: Vec<u8>,
    /// Variables to set.
    pub environment: Vec<(String, String)>,
}

/// The effect of a rank's failure on the other ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFailure {
    /// The whole job ends.
    Stop,
    /// The survivors run on; operations with the dead rank fail.
    Continue,
}
