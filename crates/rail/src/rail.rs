//! The contract of a driver: the methods that move packets.

use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};

use crate::{
    Busy, Caps, Class, Corrupt, FastPath, Header, OneSided, Packet, PeerCopy, Recoverable, Rma, Slot, Speed,
};

/// The result of announcing sleep.
pub enum Armed {
    /// Something arrived meanwhile: do not sleep.
    Work,
    /// The rank may sleep with [`Rail::sleep`].
    Ready,
}

/// One instance of a kind of network. See the crate's documentation for the life of a packet.
///
/// Every driver passes the suite in [`mod@crate::conformance`].
pub trait Rail {
    /// Returns what the rail of a link can do.
    fn caps(&self, link: LinkId) -> &Caps;

    /// Returns the speed of a link: measured if the rail measures it, otherwise taken from the capabilities
    /// of its rail.
    fn speed(&self, link: LinkId) -> Speed {
        let caps = self.caps(link);
        Speed { round_trip_ns: 2 * caps.latency_ns, bytes_per_us: caps.bytes_per_us, under_way: 0 }
    }

    /// Returns the link to a peer, if it is open.
    fn link(&self, peer: Rank) -> Option<LinkId>;

    /// Returns the links on which packets may arrive.
    fn incoming(&self) -> &[LinkId];

    /// Forgets a link, the packets still in it, and any attempt to make it.
    fn disconnect(&mut self, link: LinkId);

    /// Claims room for one packet with `bulk` bytes (0: inline only). A second claim on a link replaces the
    /// first; claims on different links are independent.
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy>;

    /// Sends the packet that was claimed on the link last. A rail whose packets cost system calls may be
    /// *busy* until the next pass. Meanwhile claims return [`Busy`], and further messages wait where they can
    /// be combined.
    ///
    /// # Panics
    /// If nothing is claimed.
    fn commit(&mut self, link: LinkId, header: Header);

    /// Returns the oldest unreleased packet of a link. If there is none, it checks for new packets itself, so
    /// a caller that waits for one peer needs no pass.
    ///
    /// # Errors
    /// The peer's bytes are invalid. Packets that arrived before them are returned first, and every later
    /// call fails. Such a link need not be reported as lost; its owner closes it.
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt>;

    /// Frees the room of the packet polled last.
    fn release(&mut self, link: LinkId);

    /// Begins a pass over the rail: reads arrived packets and sends waiting ones. The rail is no longer busy
    /// unless earlier packets still wait for the system.
    #[inline(always)]
    fn begin_pass(&mut self) {}

    /// Ends a pass: sends information that peers need soon (returned room) and that no packet has carried.
    /// Returns true if any bytes were sent or received, even part of a packet; then an awaited packet may be
    /// under way.
    #[inline(always)]
    fn flush(&mut self) -> bool {
        false
    }

    /// Announces sleep: from now on a rank that commits a packet to this one wakes it. Returns `Work` for
    /// packets, lost links and failed attempts until they are taken, and once for room after [`Busy`].
    fn arm(&mut self) -> Armed;

    /// Sleeps until woken or the time is over. Only after [`Armed::Ready`].
    fn sleep(&mut self, at_most: Option<Duration>);
}

/// A rail with all optional capabilities; protocols are generic over it.
pub trait FullRail: FastPath + OneSided + PeerCopy + Recoverable + Rma {}

impl<R: FastPath + OneSided + PeerCopy + Recoverable + Rma> FullRail for R {}
