//! The control path of a driver between hosts: how links come about, and what a rank does for them beside moving packets.
//!
//! A rank tells the launcher its own address, which is bytes of the driver, and is told those of its peers:
//!
//! ```text
//!   open ─▶ own_address ─▶ … launcher … ─▶ introduce(peer, address) ─▶ connect(peer)
//!                                                                          │ progress_connections, again and again
//!                                          take_unreachable ◀── failed ────┴──── made ──▶ take_opened, at both ends
//! ```
//! Calls come in this order: `introduce` before `connect`; `connect` again only after the link or the attempt has ended
//! ([`Recoverable::take_lost`](crate::Recoverable::take_lost) and `close_link`, `take_unreachable`, or [`Rail::disconnect`](crate::Rail::disconnect)).
//! A link may also come about because the peer has connected. [`Network::finish`] is the last call.
//!
//! Every driver passes the suite `network_conformance!` ([`mod@crate::conformance`]).

use std::os::fd::BorrowedFd;
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};

use crate::{FullRail, Member, OpenError, OtherRanks, Speed};

/// The longest address in bytes. The launcher refuses longer ones.
pub const MAX_ADDRESS: usize = 2048;

/// A peer to which an attempt to connect has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreachable {
    /// The link that was to be made.
    pub link: LinkId,
    /// Every address that was tried, and why it did not lead to the peer.
    pub why: String,
}

/// What a rail carries now, and has carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Links that are open.
    pub links: u32,
    /// Bytes sent since the rail was opened.
    pub sent: u64,
    /// The rate of the fastest link, the shortest round trip, and the bytes under way on all links.
    pub speed: Speed,
}

/// An open link, for people who look at a running job.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkReport {
    /// Its address at this end, as people write it; empty if the system does not say.
    pub here: String,
    /// Its address at the peer.
    pub there: String,
    /// Bytes sent since the link was made, those of headers too.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent and not acknowledged.
    pub under_way: u64,
    /// Shortest round trip in ns and bytes per second, measured with large packets; none before the first was acknowledged.
    pub measured: Option<(u64, u64)>,
}

/// A rail to ranks of other hosts.
pub trait Network: FullRail + Sized {
    /// The driver's name, as in [`Caps::name`](crate::Caps::name).
    const DRIVER: &'static str;

    /// Returns where peers reach this rank: at most [`MAX_ADDRESS`] bytes, and none if they cannot.
    fn own_address(&self) -> Vec<u8>;

    /// Notes where a peer is reached, which another process has said. Returns whether the address leads to another rank at all; one that
    /// cannot be read, is this rank's own, or belongs to no rank of the job does not. The last address counts, so a refused one leaves none.
    fn introduce(&mut self, peer: Rank, address: &[u8]) -> bool;

    /// Returns whether a peer was introduced with an address that leads to it.
    fn is_introduced(&self, peer: Rank) -> bool;

    /// Begins to connect to a peer that was introduced, unless there is a link or an attempt.
    fn connect(&mut self, peer: Rank);

    /// Advances the connections that are being made, of this rank and of peers. Returns whether a link was made. `now_ns` is any clock that
    /// goes on. It costs a system call if nothing came.
    fn progress_connections(&mut self, now_ns: u64) -> bool;

    /// Returns whether [`Network::progress_connections`] probably has something to do, as the last pass or [`Rail::arm`](crate::Rail::arm)
    /// has seen. It costs no system call.
    fn has_connection_events(&self) -> bool;

    /// Tells the time for [`Rail::arm`](crate::Rail::arm), by the clock of [`Network::progress_connections`].
    fn set_time(&mut self, now_ns: u64);

    /// Returns how long a sleep may last until [`Network::progress_connections`] has something to do though nothing came.
    fn next_timeout(&self) -> Option<Duration>;

    /// Returns whether [`Network::take_opened`] has a link.
    fn has_opened(&self) -> bool;

    /// Takes a link that was made, by either end.
    fn take_opened(&mut self) -> Option<LinkId>;

    /// Takes a failed attempt. What came before can still be polled.
    fn take_unreachable(&mut self) -> Option<Unreachable>;

    /// Returns whether packets wait for their acknowledgement.
    fn has_unacknowledged(&self) -> bool;

    /// Returns the links on which something is unacknowledged and nothing was heard of the peer's host, with for how long. A driver whose
    /// network tells of dead hosts itself has none.
    fn silent_links(&self) -> Vec<(LinkId, Duration)> {
        Vec::new()
    }

    /// Returns a descriptor that becomes readable when there is something to do, after [`Rail::arm`](crate::Rail::arm) and for
    /// [`Network::next_timeout`]. A rank with a rail that has none sleeps for short times only.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Raises the number of the job's ranks.
    fn add_ranks(&mut self, ranks: u32);

    /// Lets ranks of another job be connected, which this job has numbered.
    fn add_others(&mut self, others: OtherRanks);

    /// Tells every peer that this rank has finished: nothing is sent any more. Comes after all that was sent is acknowledged.
    fn finish(&mut self);

    /// Returns what the rail carries now, and has carried.
    fn totals(&self) -> Totals;

    /// Describes the link to a peer, if it is open. It may cost system calls.
    fn report_link(&self, peer: Rank) -> Option<LinkReport>;
}

/// A network whose rails a rank opens by itself, on what its host has of it.
pub trait Driver: Network {
    /// Opens the rail `number` of a rank on `ports`, which is what the rank's host has of this network, in the driver's words. Rails of
    /// one number are connected with each other. A rail of which no port can be used is open and has no address.
    ///
    /// # Errors
    /// The system has no descriptor or memory left.
    fn open(number: u8, member: Member, ports: &[String]) -> Result<Self, OpenError>;

    /// Takes the reason why a port cannot be used, if there is one.
    fn take_refused(&mut self) -> Option<OpenError>;
}
