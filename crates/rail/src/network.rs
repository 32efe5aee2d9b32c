//! The control path of a driver between hosts: the making of links, and a rank's work for them beside moving
//! packets.
//!
//! A rank tells the launcher its own address, in bytes of the driver, and learns the addresses of its peers:
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
use canele_sys::port_range::PortRange;

use crate::{FullRail, Member, OpenError, OtherRanks, Speed};

/// The longest address in bytes. The launcher refuses longer ones.
pub const MAX_ADDRESS: usize = 2048;

/// A peer that an attempt to connect did not reach.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreachable {
    /// The link of the attempt.
    pub link: LinkId,
    /// Every address that was tried, and the reason why it did not lead to the peer.
    pub why: String,
}

/// Current and accumulated figures of a rail.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// Links that are open.
    pub links: u32,
    /// Bytes sent since the rail was opened.
    pub sent: u64,
    /// The rate of the fastest link, the shortest round trip, and the bytes under way on all links.
    pub speed: Speed,
}

/// An open link, described for people who look at a running job.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LinkReport {
    /// Its local address, in text; empty if the system does not tell it.
    pub here: String,
    /// Its address at the peer, in text.
    pub there: String,
    /// Bytes sent since the link was made, including headers.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Bytes sent and not acknowledged.
    pub under_way: u64,
    /// Shortest round trip in ns, and bytes per second, both measured with large packets; none before the
    /// first acknowledgement.
    pub measured: Option<(u64, u64)>,
}

/// A rail to ranks of other hosts.
pub trait Network: FullRail + Sized {
    /// The driver's name, as in [`Caps::name`](crate::Caps::name).
    const DRIVER: &'static str;

    /// Returns the address at which peers reach this rank: at most [`MAX_ADDRESS`] bytes, none if they cannot
    /// reach it.
    fn own_address(&self) -> Vec<u8>;

    /// Notes a peer's address, which another process has sent, and returns true if it leads to another rank.
    /// An address is refused if it is unreadable, this rank's own, or of no rank of the job. The last address
    /// counts, so a refused one leaves none.
    fn introduce(&mut self, peer: Rank, address: &[u8]) -> bool;

    /// Returns true if a peer was introduced with a valid address.
    fn is_introduced(&self, peer: Rank) -> bool;

    /// Begins to connect to an introduced peer, unless there is a link or an attempt.
    fn connect(&mut self, peer: Rank);

    /// Advances connection attempts of this rank and of peers. Returns true if a link was made. `now_ns` is
    /// the time of any monotonic clock. The call costs one system call if nothing arrived.
    fn progress_connections(&mut self, now_ns: u64) -> bool;

    /// Returns true if [`Network::progress_connections`] probably has work, as seen by the last pass or
    /// [`Rail::arm`](crate::Rail::arm). It costs no system call.
    fn has_connection_events(&self) -> bool;

    /// Tells the time for [`Rail::arm`](crate::Rail::arm), by the clock of [`Network::progress_connections`].
    fn set_time(&mut self, now_ns: u64);

    /// Returns the time after which [`Network::progress_connections`] has work even if nothing arrives.
    fn next_timeout(&self) -> Option<Duration>;

    /// Returns true if [`Network::take_opened`] has a link.
    fn has_opened(&self) -> bool;

    /// Takes a link that either end has made.
    fn take_opened(&mut self) -> Option<LinkId>;

    /// Takes a failed attempt. Packets that arrived before can still be polled.
    fn take_unreachable(&mut self) -> Option<Unreachable>;

    /// Returns true if packets wait for their acknowledgement.
    fn has_unacknowledged(&self) -> bool;

    /// Returns the links with unacknowledged data whose peer's host is silent, each with the duration of the
    /// silence. A driver whose network reports dead hosts itself returns none.
    fn silent_links(&self) -> Vec<(LinkId, Duration)> {
        Vec::new()
    }

    /// Returns a descriptor that becomes readable when the rail has work, after
    /// [`Rail::arm`](crate::Rail::arm) and for [`Network::next_timeout`]. A rank with a rail without a
    /// descriptor sleeps for short times only.
    fn descriptor(&self) -> Option<BorrowedFd<'_>>;

    /// Raises the number of the job's ranks.
    fn add_ranks(&mut self, ranks: u32);

    /// Allows connections with ranks of another job, which have numbers in this job.
    fn add_others(&mut self, others: OtherRanks);

    /// Tells every peer that this rank has finished and sends nothing more. It is called after everything
    /// sent is acknowledged.
    fn finish(&mut self);

    /// Returns current and accumulated figures of the rail.
    fn totals(&self) -> Totals;

    /// Describes the link to a peer, if it is open. It may cost system calls.
    fn report_link(&self, peer: Rank) -> Option<LinkReport>;
}

/// A network whose rails a rank opens by itself, on the ports of its host.
pub trait Driver: Network {
    /// Opens the rail `number` of a rank on `ports`, the host's ports of this network in the driver's words.
    /// Rails with the same number are connected with each other. A rail without a usable port is open and has
    /// no address. A driver of TCP listens on a port of `listen_ports`.
    ///
    /// # Errors
    /// The system has no descriptor or memory left.
    fn open(number: u8, member: Member, ports: &[String], listen_ports: PortRange)
    -> Result<Self, OpenError>;

    /// Takes the error of a port that cannot be used, if there is one.
    fn take_refused(&mut self) -> Option<OpenError>;
}
