//! The contract of a driver: what moving packets needs.

use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};

use crate::{
    Busy, Caps, Class, Corrupt, FastPath, Header, OneSided, Packet, PeerCopy, Recoverable, Rma, Slot, Speed,
};

/// How a sleeper will be woken.
pub enum Armed {
    /// Something arrived meanwhile: do not sleep.
    Work,
    /// Sleep with [`Rail::sleep`].
    Ready,
}

/// One instance of a kind of network. See the crate's documentation for the life of a packet.
///
/// Every driver passes the suite in [`mod@crate::conformance`].
pub trait Rail {
    /// Returns what the rail of a link can do.
    fn caps(&self, link: LinkId) -> &Caps;

    /// Returns how fast a link is: measured where the rail can, else what its rail can do.
    fn speed(&self, link: LinkId) -> Speed {
        let caps = self.caps(link);
        Speed { round_trip_ns: 2 * caps.latency_ns, bytes_per_us: caps.bytes_per_us, under_way: 0 }
    }

    /// Returns the link to a peer, once there is one.
    fn link(&self, peer: Rank) -> Option<LinkId>;

    /// Returns the links on which packets may arrive.
    fn incoming(&self) -> &[LinkId];

    /// Forgets a link, what is still in it, and an attempt to make it.
    fn disconnect(&mut self, link: LinkId);

    /// Claims room for one packet with `bulk` bytes (0: inline only). A second claim on a link replaces the first; claims on
    /// different links do not concern each other.
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy>;

    /// Sends what was claimed on the link last. A rail whose packets cost system calls may be *busy* from then on until the next
    /// pass: claims answer [`Busy`], and what is to be sent meanwhile waits where it can be put together.
    ///
    /// # Panics
    /// If nothing is claimed.
    fn commit(&mut self, link: LinkId, header: Header);

    /// Returns the oldest packet of a link that was not released yet. If there is none, it looks for one itself: a caller that waits for
    /// one peer polls without a pass.
    ///
    /// # Errors
    /// The peer's bytes cannot be believed. Packets that came before them are returned first, and every later call fails. Such a link
    /// need not be reported as lost; its owner closes it.
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt>;

    /// Frees the room of the packet polled last.
    fn release(&mut self, link: LinkId);

    /// Begins a pass over the rail: what came is taken, what waits is sent. The rail is no longer busy, unless what was
    /// sent before still waits for the system.
    #[inline(always)]
    fn begin_pass(&mut self) {}

    /// Ends a pass: what peers must know soon (that they have room again) and what nothing has carried leaves. Returns
    /// whether anything has left or come, be it part of a packet: then what is waited for is on its way.
    #[inline(always)]
    fn flush(&mut self) -> bool {
        false
    }

    /// Announces sleep: from now on a rank that commits a packet to this one wakes it. Says whether something came meanwhile: packets,
    /// lost links and failed attempts as long as they are not taken, room after [`Busy`] once.
    fn arm(&mut self) -> Armed;

    /// Sleeps until woken or the time is over. Only after [`Armed::Ready`].
    fn sleep(&mut self, at_most: Option<Duration>);
}

/// A rail with everything that protocols may use of one: what moves any kind of message is generic over this.
pub trait FullRail: FastPath + OneSided + PeerCopy + Recoverable + Rma {}

impl<R: FastPath + OneSided + PeerCopy + Recoverable + Rma> FullRail for R {}
