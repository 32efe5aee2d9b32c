//! The rail contract, and the drivers that fulfil it.
//!
//! A *rail* is one opened instance of a kind of network; a *link* is its connection to one peer. A rail moves *packets*:
//! a 16-byte [`Header`], up to [`MAX_INLINE`] bytes beside it, and optionally a larger *bulk*. It knows nothing of
//! messages, matching or users; it has one owner (`&mut self`), calls nobody back, holds no lock and starts no thread.
//!
//! ```text
//!   claim ──▶ fill the slot ──▶ commit        poll ──▶ read the packet ──▶ release
//! ```
//! What is claimed and not committed costs nothing and holds no room. What is polled and not released is polled again.
#![deny(missing_docs)]

pub mod conformance;
pub mod fault;
pub mod reliable;
mod remains;
pub mod shm;
pub mod sim;
pub mod tcp;

use std::time::Duration;

use canele_sys::buffer::{InShare, OutShare, Place};
use canele_sys::ids::{LinkId, Rank};
pub use canele_sys::window::Window;
pub use remains::{Bulk, Kept, Lost, Remains};

/// Bytes that travel beside a header when the packet has no bulk.
pub const MAX_INLINE: usize = 48;
/// Bytes that travel beside a header when the packet has a bulk.
pub const MAX_INLINE_WITH_BULK: usize = 40;

/// What every packet starts with. The rail transports it and gives it no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// What the packet is, for the layer above.
    pub kind: u8,
    /// Bytes in use beside the header, at most [`MAX_INLINE`].
    pub inline_len: u8,
    /// The flow, or whatever the kind wants to say in 32 bits.
    pub flow: u32,
    /// The tag, likewise.
    pub tag: u32,
    /// The number of the message within its flow, where a rail is unordered or there are several.
    pub sequence: u32,
}

/// What a rail can do, in numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Caps {
    /// The driver's name.
    pub name: &'static str,
    /// One-way time of the smallest packet.
    pub latency_ns: u32,
    /// Bandwidth of large transfers.
    pub bytes_per_us: u32,
    /// Largest bulk of one packet, in bytes.
    pub max_bulk: usize,
    /// What a packet costs beside its bytes, in nanoseconds of a processor: where it is much, several messages are worth one
    /// packet.
    pub overhead_ns: u32,
    /// Bytes of bulk from which on a packet gains nothing by growing.
    pub best_packet: usize,
    /// Packets of a link arrive in the order in which they were committed.
    pub ordered: bool,
    /// A peer may have several links of this kind, or lose one and get another: messages carry their number within their
    /// flow, so that their order can be restored. The same at both ends.
    pub numbered: bool,
    /// [`Rail::lend`] copies nothing.
    pub lends: bool,
    /// Nothing is lost or doubled.
    pub reliable: bool,
    /// Memory registered as a region can be read and written by peers without their help.
    pub one_sided: bool,
}

/// How fast a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speed {
    /// From a packet's leaving to its acknowledgement, when little else was under way.
    pub round_trip_ns: u32,
    /// Bytes that reach the peer in a microsecond.
    pub bytes_per_us: u32,
    /// Bytes that have left and are not acknowledged.
    pub under_way: usize,
}

/// Which room a packet may use, so that no kind of traffic starves another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Answers and announcements: may use the cells reserved for them. Carries no bulk.
    Control,
    /// Messages.
    Message,
    /// Pieces of large messages: at most half of the room for bulk.
    Stream,
}

/// Room claimed for a packet, filled in place.
pub struct Slot<'a> {
    /// [`MAX_INLINE`] bytes, [`MAX_INLINE_WITH_BULK`] when there is a bulk.
    pub inline: Window<'a>,
    /// The bulk, of the claimed length.
    pub bulk: Window<'a>,
}

/// A packet that has arrived and is still in the rail's memory.
pub struct Packet<'a> {
    /// A copy of its header, so that it can be checked and then believed.
    pub header: Header,
    /// At least the `header.inline_len` bytes beside it.
    pub inline: Window<'a>,
    /// The bulk, empty if there is none.
    pub bulk: Window<'a>,
    /// Bytes of bulk that lie where [`Rail::land`] said; the window is empty then.
    pub landed: usize,
}

/// No room now; poll, and try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// Who decides about the packet that [`Rail::glance`] shows. A trait and no closure, so that it can be inlined wherever
/// it is used.
pub trait Accept {
    /// Whether it is taken: then its `inline` bytes and its `bulk`, empty if it has none, were read.
    fn accept(&mut self, header: Header, inline: Window<'_>, bulk: Window<'_>) -> bool;
}

/// What became of the oldest packet of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glance {
    /// There is none.
    Nothing,
    /// It was accepted and released.
    Taken,
    /// It is still there, for [`Rail::poll`].
    Left,
}

/// Why a link can no longer be believed. The text names what was found and what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub String);

/// Why a link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The peer's memory has another layout, or is none of Canelé's.
    #[error("{peer} has an incompatible inbox: {what}")]
    Incompatible {
        /// The peer.
        peer: Rank,
        /// What differs, naming both sides.
        what: String,
    },
    /// Not enough memory, or the system refused it.
    #[error("no room for messages to {peer}: {source}")]
    Memory {
        /// The peer.
        peer: Rank,
        /// What was needed and what there is.
        source: canele_sys::segment::SegmentError,
    },
}

/// What a look at a peer's region gives.
pub enum Reach<'a> {
    /// The memory itself.
    Here(Window<'a>),
    /// Not known yet; the rail has noted that it is wanted. Try again later.
    Wanted,
    /// There is no such region (any more), or the range lies outside of it.
    Refused,
}

/// How a sleeper will be woken.
pub enum Armed {
    /// Something arrived meanwhile: do not sleep.
    Work,
    /// Sleep with [`Rail::sleep`].
    Ready,
}

/// One instance of a kind of network. See the crate's documentation for the life of a packet.
///
/// Every driver passes the suite in [`mod@conformance`].
pub trait Rail {
    /// What the rail of a link can do.
    fn caps(&self, link: LinkId) -> &Caps;

    /// How fast a link is: measured where the rail can, else what its rail can do.
    fn speed(&self, link: LinkId) -> Speed {
        let caps = self.caps(link);
        Speed { round_trip_ns: 2 * caps.latency_ns, bytes_per_us: caps.bytes_per_us, under_way: 0 }
    }

    /// Which of the successive links over one rail to one peer this is.
    fn generation(&self, _link: LinkId) -> u32 {
        0
    }

    /// The link to a peer, once there is one.
    fn link(&self, peer: Rank) -> Option<LinkId>;

    /// The peer at the other end of a link.
    fn peer(&self, link: LinkId) -> Rank;

    /// The links on which packets may arrive.
    fn incoming(&self) -> &[LinkId];

    /// A link that carries nothing more. What had come before can still be polled; then it is to be buried, or disconnected.
    fn take_lost(&mut self) -> Option<Lost> {
        None
    }

    /// Closes a link, lost or not, and gives what is left of it, so that the two ends can settle over another link what came
    /// over this one and what did not. Nothing more comes over it: poll it before.
    fn bury(&mut self, link: LinkId) -> Option<Remains> {
        self.disconnect(link);
        None
    }

    /// Forgets a link and what is still in it.
    fn disconnect(&mut self, link: LinkId);

    /// Room for one packet with `bulk` bytes (0: inline only). A second claim on a link replaces the first.
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy>;

    /// Whether `packets` packets with a bulk of at most `bulk` bytes each can be claimed and sent one after the other now. A rail
    /// that cannot say so says no.
    fn has_room(&mut self, _link: LinkId, _packets: usize, _bulk: usize) -> bool {
        false
    }

    /// Sends what was claimed on the link last. A rail whose packets cost system calls is *busy* from then on until the next
    /// pass: claims answer [`Busy`], and what is to be sent meanwhile waits where it can be put together.
    ///
    /// # Panics
    /// If nothing is claimed.
    fn commit(&mut self, link: LinkId, header: Header);

    /// Claims, fills and commits a packet without bulk in one step: `bytes` beside the header.
    fn post(&mut self, link: LinkId, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, 0, Class::Message)?;
        slot.inline.write(0, bytes);
        self.commit(link, header);
        Ok(())
    }

    /// The same for a packet of a message that has nothing but `bulk`, at least one byte.
    fn post_bulk(&mut self, link: LinkId, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        let slot = self.claim(link, bulk.len(), Class::Message)?;
        slot.bulk.write(0, bulk);
        self.commit(link, header);
        Ok(())
    }

    /// Sends a packet whose bulk stays where it is: the rail keeps `bulk` until the peer's library has the packet, or the
    /// link is gone. `beside` has at most [`MAX_INLINE_WITH_BULK`] bytes, `header.inline_len` of them. A rail that does not lend
    /// copies.
    fn lend(
        &mut self,
        link: LinkId,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        let slot = self.claim(link, len, Class::Stream)?;
        slot.inline.write(0, beside);
        bulk().copy_to(slot.bulk);
        self.commit(link, header);
        Ok(())
    }

    /// A pass over the rail begins: what came is taken, what waits is sent. The rail is no longer busy, unless what was
    /// sent before still waits for the system.
    #[inline(always)]
    fn begin_pass(&mut self) {}

    /// The end of a pass: what peers must know soon (that they have room again) and what nothing has carried leaves. Says
    /// whether anything has left or come, be it part of a packet: then what is waited for is on its way.
    #[inline(always)]
    fn flush(&mut self) -> bool {
        false
    }

    /// The oldest packet of a link that was not released yet.
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt>;

    /// Polls and releases a packet in one step, if `accept`, which sees its header, the `header.inline_len` bytes beside it
    /// and its bulk, takes it. One whose bulk has landed is left for [`Rail::poll`].
    fn glance(&mut self, link: LinkId, accept: &mut impl Accept) -> Glance {
        let accepted = match self.poll(link) {
            Ok(None) => return Glance::Nothing,
            Ok(Some(Packet { header, inline, bulk, landed: 0 })) => inline
                .part(0, header.inline_len as usize)
                .is_some_and(|inline| accept.accept(header, inline, bulk)),
            _ => false,
        };
        if !accepted {
            return Glance::Left;
        }
        self.release(link);
        Glance::Taken
    }

    /// The oldest packet, while [`Rail::poll`] does not give it because of its bulk, a large part of which is still to come.
    /// The packet is shown without its bulk, with the bulk's length beside it.
    fn foresee(&mut self, _link: LinkId) -> Option<(Packet<'_>, usize)> {
        None
    }

    /// Where the bulk of the packet that was foreseen goes, all of it. It is polled once it lies there: then its `landed` says so, and its
    /// `bulk` is empty. The share is dropped by then, or when the link is gone.
    fn land(&mut self, _link: LinkId, _place: InShare) {}

    /// Frees the room of the packet polled last.
    fn release(&mut self, link: LinkId);

    /// `len` bytes of a region of the peer, for copying in either direction. Memory is there whether the link is open or not.
    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_>;

    /// `len` bytes of a region of our own, for what a peer asked to be written there.
    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>>;

    /// A counter both ends of a link see, number `index` of [`TALLIES`], on the side of the link's receiver
    /// (`mine`: packets arrive here) or sender.
    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally>;

    /// Announces sleep: from now on whoever commits a packet to us wakes us. Says whether something came meanwhile.
    fn arm(&mut self) -> Armed;

    /// Sleeps until woken or the time is over. Only after [`Armed::Ready`].
    fn sleep(&mut self, at_most: Option<Duration>);
}

/// Lets `fill` write into ordinary memory as if it were a slot.
pub fn on_slice(bytes: &mut [u8], fill: impl FnOnce(Window<'_>)) {
    fill(Window::on(bytes));
}

/// How many transfers of one link can be copied by both ends at once.
pub const TALLIES: usize = 8;

pub use canele_sys::tally::{Generation, Tally};
