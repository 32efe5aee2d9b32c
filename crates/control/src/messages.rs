//! What ranks tell their launcher, and the bounds of all messages. Owns their shape and version; never a descriptor (those travel beside
//! them).
//!
//! Ranks are plain numbers here and region ids an opaque `u64`, because this is what is encoded;
//! both ends turn them into their newtypes and check the range on arrival.

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::from_launcher::FromLauncher;
use crate::job::JobRank;
use crate::links::Links;
use crate::socket::MOST_DESCRIPTORS;

/// Version of this message set and of the packets that ranks send each other. Two sides that differ refuse each other, each naming both;
/// ranks are all of the version of their launcher.
pub const VERSION: u32 = 27;

/// Lanes of a rank, at most, the first included.
pub const MOST_LANES: u8 = 16;

/// The largest encoded message in bytes. A socket packet larger than this is malformed.
pub const MAX_MESSAGE: usize = 64 * 1024;

/// Links that a rank asks for in one message, at most.
pub const MOST_PEERS: usize = 1024;

/// Series of ranks in one message, at most, which any message can hold.
pub const MOST_SERIES: usize = 4096;

/// Inboxes in one message, at most; with an event for each, as many descriptors as a message may have.
pub const MOST_INBOXES: usize = MOST_DESCRIPTORS / 2;

/// The largest value in bytes that can be published under a name, and the largest name.
pub const MAX_VALUE: usize = 32 * 1024;

/// Rails of a rank, at most.
pub const MOST_RAILS: usize = 255;

/// The longest address of a rail in bytes.
pub const MAX_RAIL_ADDRESS: usize = 2048;

/// Where ranks of other hosts reach a rank over one of its rails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RailAddress {
    /// The rail's driver.
    pub driver: String,
    /// Bytes of the driver; none if the rank is not reached over this rail.
    pub address: Vec<u8>,
}

/// Checks the addresses that a rank has told, in the order of its rails.
///
/// # Errors
/// What is wrong, in words.
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

/// What a rank tells its launcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToLauncher {
    /// First message, of the same shape in all versions. From here on, exit 0 without [`Finished`](Self::Finished) is a failure.
    Hello {
        /// [`VERSION`] of the rank.
        version: u32,
    },
    /// The rank's inbox is ready; its memfd, and its event if the rank sleeps on descriptors. At most once. A rank with other settings than
    /// the first one to send this is refused.
    Inbox {
        /// The settings that all ranks must have alike: variables and values.
        settings: Vec<(String, String)>,
    },
    /// This rank opens a further lane; one descriptor, the launcher's end of the lane's own socket. On that socket the lane begins with
    /// [`Hello`](Self::Hello) and is told of all ends of ranks from here on. Each lane at most once.
    Lane {
        /// Its number, from 1 to below [`MOST_LANES`]: links are made between lanes of the same number.
        number: u8,
    },
    /// Where this rank listens for those of other hosts. At most once, after [`Inbox`](Self::Inbox).
    Addresses {
        /// Of each rail, in their order; at most [`MOST_RAILS`].
        rails: Vec<RailAddress>,
    },
    /// This rank wants links. Answered with [`FromLauncher::Peers`] or, of ranks on other hosts,
    /// [`FromLauncher::Reach`], as soon as both sides can be reached; both are told, each pair once.
    Connect {
        /// The other ranks, not this one; at most [`MOST_PEERS`].
        peers: Vec<u32>,
    },
    /// Where this rank records its events for a trace; one descriptor, the log's memfd. At most once.
    Trace,
    /// A region peers may ask for; one descriptor, its memfd.
    Region {
        /// The region's id (index and generation), unique within the rank.
        id: u64,
    },
    /// Asks for a region of `owner`. Answered at once with [`FromLauncher::Region`]; a rank of another host has none.
    FindRegion {
        /// The rank that allocated it.
        owner: u32,
        /// Its id there.
        id: u64,
        /// This rank keeps it for its owner's messages: it wants to be told when the owner drops it, with [`FromLauncher::RegionDropped`].
        is_kept: bool,
    },
    /// The region can no longer be found. Peers that keep it are told; peers that hold it keep their mapping.
    DropRegion {
        /// The id given with [`Region`](Self::Region).
        id: u64,
    },
    /// Publishes `value` under `name` for the whole job; a taken name is refused.
    Publish {
        /// At most [`MAX_VALUE`] bytes together with the value.
        name: String,
        /// Opaque to the launcher.
        value: Vec<u8>,
    },
    /// Takes back a name this rank published.
    Withdraw {
        /// The name.
        name: String,
    },
    /// Asks for a name; answered with [`FromLauncher::Found`] when it is published, now or later.
    Find {
        /// Chosen by the rank; comes back with the answer.
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
    /// This rank found that `peer` broke the rules of the rail or the protocol, and accepts nothing more from it.
    CutOff {
        /// The other rank, not this one.
        peer: u32,
        /// What was found, in words.
        what: String,
    },
    /// This rank reaches `peer` over no network, and others wait for both to agree.
    Unreachable {
        /// The other rank, not this one.
        peer: u32,
        /// Why, in words.
        what: String,
    },
    /// Answer to [`FromLauncher::ShowLinks`].
    Links(Links),
    /// Adds ranks to the job, a world of their own. Answered with [`FromLauncher::Spawned`].
    Spawn {
        /// Chosen by the rank; comes back with the answer.
        ticket: u64,
        /// The programs; ranks are numbered through them in order.
        programs: Vec<SpawnProgram>,
        /// The ranks that spawn together, in the order of their communicator.
        parents: Vec<u32>,
    },
    /// This rank has a communicator with ranks of another world of its job, or has disconnected from all of them: a failure in one of two
    /// worlds that are connected ends both (MPI 5.0, §11.10.4). Those that spawn are connected with what they spawn without this.
    SetConnected {
        /// The first rank of the other world.
        world: u32,
        /// False: it has disconnected.
        is_connected: bool,
    },
    /// Opens a port of this rank, at which others may connect.
    OpenPort {
        /// Its number among the ports of this rank.
        port: u32,
    },
    /// Closes a port of this rank: those that wait there, to accept or to connect, are refused.
    ClosePort {
        /// Its number.
        port: u32,
    },
    /// This rank accepts one connection at a port of its job. Answered with [`FromLauncher::Connected`] once there is one.
    Accept {
        /// Chosen by the rank; comes back with the answer.
        ticket: u64,
        /// The port.
        port: PortName,
    },
    /// This rank wants to be connected with one that accepts at a port, maybe of another job. Answered with
    /// [`FromLauncher::Connected`] once one does.
    ConnectPort {
        /// Chosen by the rank; comes back with the answer.
        ticket: u64,
        /// The port.
        port: PortName,
    },
    /// The rank waits for an answer to [`Accept`](Self::Accept) or [`ConnectPort`](Self::ConnectPort) no longer, which may be under way.
    Abandon {
        /// As asked.
        ticket: u64,
    },
    /// Lets ranks of other jobs of the user find a name that this rank has published. Answered with [`FromLauncher::Announced`].
    Announce {
        /// Chosen by the rank; comes back with the answer.
        ticket: u64,
        /// The name.
        name: String,
    },
    /// Asks for a name that a rank of another job has announced. Answered with [`FromLauncher::FoundElsewhere`].
    FindElsewhere {
        /// Chosen by the rank; comes back with the answer.
        ticket: u64,
        /// The name.
        name: String,
    },
    /// This rank has a ring of its own for what it sends to a rank that was spawned, or sends as one: the descriptor. After
    /// the inboxes of both were exchanged; passed on as [`FromLauncher::Ring`].
    Ring {
        /// The receiver, a rank of the same host.
        to: u32,
    },
    /// The rank is about to end, and these ranks with it.
    Abort {
        /// The first and the last of each unbroken series, at most [`MOST_SERIES`]; ranks of other jobs among them are left alone.
        ranks: Vec<(u32, u32)>,
        /// The exit status of the job, if nothing else has decided it.
        status: u8,
    },
    /// Operations are still under way, of which the rank will not see the end, because it is about to finish.
    GivenUp {
        /// How many.
        operations: u32,
        /// For example `1 receive from rank 2 with tag 7`.
        what: String,
    },
}

/// The first and the last of each unbroken series of `ranks`, which ascend.
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

/// A port: by what a job finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PortName {
    /// The rank that has opened it.
    pub owner: JobRank,
    /// Its number among the ports of that rank.
    pub number: u32,
}

/// What two ranks that are connected by a port know of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meeting {
    /// The other rank, as this job numbers it.
    pub with: u32,
    /// The number of this connection among those that the job of the port has accepted.
    pub call: u64,
}

/// A program that a rank wants started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnProgram {
    /// How many ranks run it, at least 1.
    pub ranks: u32,
    /// Its name and arguments; not empty.
    pub command: Vec<Vec<u8>>,
    /// The hosts to choose from, as the job names them; empty: any.
    pub hosts: Vec<String>,
    /// Where it starts; empty: where the job's ranks start.
    pub directory: Vec<u8>,
    /// Directories in which the program is looked for first, with `:` between them.
    pub path: Vec<u8>,
    /// Variables to set.
    pub environment: Vec<(String, String)>,
}

/// What happens to the other ranks when one fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnFailure {
    /// The whole job ends.
    Stop,
    /// The survivors run on; operations with the dead rank fail.
    Continue,
}
