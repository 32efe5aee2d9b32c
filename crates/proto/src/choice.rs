//! Protocol selection, with the eager limit: the choice of the way in which a message travels.
//!
//! Owns the sender's and the receiver's half of the decision, and a table that describes every variant.
//!
//! ```text
//!   profile, caps ──estimates──▶ limits           computed when a link opens
//!   sender:   begin(path, bytes, mode, region?) ─▶ whole │ multi-fragment eager │ announced, with credit
//!   receiver: choose_rendezvous(regions, ends)  ─▶ read │ write │ both │ stream, of an announcement
//!   both:     choose(caps, bytes, ends)         ─▶ a variant, for `canele info` and tests
//! ```
//! Each variant states its time as a function of the bytes and the costs of the link (`estimate`). A limit is
//! the length at which two of these times are equal (`limits`). All functions are pure. No other file
//! compares a size with a limit.

mod estimate;
mod limits;

use canele_profile::HostProfile;
use canele_rail::{Caps, MAX_INLINE, Speed, Verbs};

pub use estimate::LinkCosts;
pub use limits::{Limits, eager_bytes};

use crate::request::Mode;

/// The protocols, as counters name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Protocol {
    /// In one cell.
    Short,
    /// Through the payload ring, without a handshake.
    Eager,
    /// In pieces through the payload ring.
    Streamed,
    /// After a handshake, copied once, to or from a region.
    Direct,
}

impl Protocol {
    /// Returns its name in commands and counters.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Eager => "eager",
            Self::Streamed => "streamed",
            Self::Direct => "direct",
        }
    }
}

/// Every way in which a message can travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Variant {
    /// Within the rank, without a rail.
    ToSelf,
    /// In one cell.
    Short,
    /// In one packet with a bulk.
    Eager,
    /// In one packet with others, from a copy.
    Coalesced,
    /// In several packets, without a handshake.
    EagerMulti,
    /// After a handshake, in pieces.
    Streamed,
    /// After a handshake, the receiver reads the sender's region.
    DirectRead,
    /// After a handshake, the sender writes into the receiver's region.
    DirectWrite,
    /// After a handshake, both ends copy between their regions.
    DirectBoth,
}

/// The values that decide how messages travel to one peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Path {
    /// The lengths up to which a message goes unannounced.
    pub limits: Limits,
    /// The longest bulk of one packet.
    pub max_bulk: usize,
    /// True if messages carry numbers ([`Caps::needs_numbers`]).
    pub numbered: bool,
    /// The access of this rank to the peer's regions, and of the peer to those of this rank.
    pub regions: RegionAccess,
}

/// The access of the two ends of a link to each other's regions. If neither field allows any, messages move
/// all data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegionAccess {
    /// True if regions are mapped: either end copies.
    pub is_mapped: bool,
    /// The verbs by which the network reads and writes them.
    pub verbs: Verbs,
}

impl RegionAccess {
    /// Returns the access over links with these capabilities.
    #[inline(always)]
    pub fn over(caps: &Caps) -> Self {
        Self { is_mapped: caps.maps_regions, verbs: caps.verbs }
    }

    /// Returns true if a receiver can read a message out of the sender's region.
    pub fn can_read(self) -> bool {
        self.is_mapped || self.verbs.contains(Verbs::GET)
    }

    /// Returns true if a sender can write a message into the receiver's region.
    pub fn can_write(self) -> bool {
        self.is_mapped || self.verbs.contains(Verbs::PUT)
    }
}

impl Path {
    /// Returns this path for a peer without another link. Over a link that lends, a message in one packet may
    /// be as long as a piece that the link takes now.
    pub fn over_only_link(mut self, caps: &Caps, piece: usize) -> Self {
        if caps.lends {
            let longest = self.limits.only_link_bytes.min(piece as u32);
            self.limits.whole_bytes = self.limits.whole_bytes.max(longest);
        }
        self
    }

    /// Returns the path to a peer that has one link with these capabilities and limits. The link has the
    /// speed that its capabilities state.
    pub fn nominal(caps: &Caps, limits: Limits) -> Self {
        let path = Self::over(caps, limits);
        if !caps.lends {
            return path;
        }
        let speed = Speed { bytes_per_us: caps.bytes_per_us, ..Speed::default() };
        let piece = timely_bytes(speed, caps.max_bulk, false);
        Self { max_bulk: piece, ..path.over_only_link(caps, piece) }
    }

    /// Returns the path over links with these capabilities and limits.
    pub fn over(caps: &Caps, limits: Limits) -> Self {
        let (max_bulk, regions) = (caps.max_bulk, RegionAccess::over(caps));
        Self { limits, max_bulk, numbered: caps.needs_numbers(), regions }
    }

    /// Returns the length of the largest message that goes in one packet without being announced.
    #[inline]
    pub fn whole_bytes(&self) -> usize {
        (self.limits.whole_bytes as usize).min(self.max_bulk).max(MAX_INLINE)
    }
}

/// The first step of a send that has credit. Without credit a send announces its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// In one packet.
    Whole,
    /// In several packets that follow one another at once.
    EagerMulti,
    /// With an announcement, which the receiver answers.
    Announced,
}

/// Returns the first step of a send; `region` is true if its memory lies in a region. Pieces can follow an
/// announcement unasked only if one link keeps packets in order.
#[inline]
pub fn begin(path: &Path, bytes: usize, mode: Mode, region: bool) -> Begin {
    let reached = region && path.regions.can_read();
    match mode {
        Mode::Synchronous => Begin::Announced,
        _ if bytes <= path.whole_bytes() => Begin::Whole,
        _ if path.numbered => Begin::Announced,
        _ if bytes <= path.limits.multi_bytes(reached) => Begin::EagerMulti,
        _ => Begin::Announced,
    }
}

/// The ends of a message that lie in regions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ends {
    /// True if the sender's memory does.
    pub source: bool,
    /// True if the receiver's memory does.
    pub target: bool,
}

/// The way in which the bytes of an announced message get to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rendezvous {
    /// The receiver copies from the sender's region.
    Read,
    /// The sender copies into the receiver's region.
    Write,
    /// Both ends copy, piece by piece.
    Both,
    /// The sender sends pieces.
    Stream,
}

impl Rendezvous {
    /// Returns the variant of a message that travels in this way.
    pub fn variant(self) -> Variant {
        match self {
            Self::Read => Variant::DirectRead,
            Self::Write => Variant::DirectWrite,
            Self::Both => Variant::DirectBoth,
            Self::Stream => Variant::Streamed,
        }
    }
}

/// Returns the way that the receiver chooses for an announced message.
#[inline]
pub fn choose_rendezvous(regions: RegionAccess, ends: Ends) -> Rendezvous {
    match ends {
        Ends { source: true, target: true } if regions.is_mapped => Rendezvous::Both,
        Ends { source: true, .. } if regions.can_read() => Rendezvous::Read,
        Ends { target: true, .. } if regions.can_write() => Rendezvous::Write,
        _ => Rendezvous::Stream,
    }
}

/// Returns the variant of a message that finds its link idle and has credit.
pub fn variant(path: &Path, bytes: usize, mode: Mode, ends: Ends) -> Variant {
    match begin(path, bytes, mode, ends.source) {
        Begin::Whole if bytes <= MAX_INLINE => Variant::Short,
        Begin::Whole => Variant::Eager,
        Begin::EagerMulti => Variant::EagerMulti,
        Begin::Announced => choose_rendezvous(path.regions, ends).variant(),
    }
}

/// One row of the table of variants.
pub struct Row {
    /// The variant.
    pub variant: Variant,
    /// The protocol it is counted as; none within the rank.
    pub protocol: Option<Protocol>,
    /// Its name in commands.
    pub name: &'static str,
    /// Its description.
    pub doc: &'static str,
}

/// All variants.
#[rustfmt::skip]
pub const TABLE: [Row; 9] = {
    use Variant::*;
    const SHORT: Option<Protocol> = Some(Protocol::Short);
    const EAGER: Option<Protocol> = Some(Protocol::Eager);
    const STREAMED: Option<Protocol> = Some(Protocol::Streamed);
    const DIRECT: Option<Protocol> = Some(Protocol::Direct);
    const fn row(variant: Variant, protocol: Option<Protocol>, name: &'static str, doc: &'static str) -> Row {
        Row { variant, protocol, name, doc }
    }
    [
        row(ToSelf, None, "self", "matched inside the library, no rail"),
        row(Short, SHORT, "short", "header and payload in one 64-byte cell, whose last store publishes it"),
        row(Eager, EAGER, "eager", "one packet: copied in and out, no handshake"),
        row(Coalesced, EAGER, "coalesced", "copied into the next packet with others, because the link is busy"),
        row(EagerMulti, STREAMED, "eager-multi", "several packets follow one another, no handshake"),
        row(Streamed, STREAMED, "streamed", "announced, then sent in pieces, both processors copying at once"),
        row(DirectRead, DIRECT, "direct-read", "announced, then copied once, by the receiver"),
        row(DirectWrite, DIRECT, "direct-write", "announced, then copied once, by the sender"),
        row(DirectBoth, DIRECT, "direct-both", "announced, then copied once, by both ends piece by piece"),
    ]
};

impl Variant {
    /// Returns its row in [`TABLE`].
    pub fn row(self) -> &'static Row {
        const { &TABLE }.iter().find(|row| row.variant == self).expect("every variant has a row")
    }

    /// Returns true if it can carry such a message in any case. The mode, the credit and the load of the link
    /// do not matter.
    pub fn can_carry(self, path: &Path, bytes: usize, ends: Ends) -> bool {
        let is_short = bytes <= MAX_INLINE;
        match self {
            Self::ToSelf => false,
            Self::Short => is_short,
            Self::Eager => !is_short && bytes <= path.max_bulk,
            Self::Coalesced => path.numbered && bytes <= crate::coalesced::LONGEST.min(path.whole_bytes()),
            Self::EagerMulti => !is_short && !path.numbered,
            Self::Streamed => choose_rendezvous(path.regions, ends) == Rendezvous::Stream,
            Self::DirectRead => choose_rendezvous(path.regions, ends) == Rendezvous::Read,
            Self::DirectWrite => choose_rendezvous(path.regions, ends) == Rendezvous::Write,
            Self::DirectBoth => choose_rendezvous(path.regions, ends) == Rendezvous::Both,
        }
    }
}

/// A variant, and the estimates of all variants.
pub struct Choice {
    /// The variant that is taken.
    pub variant: Variant,
    /// Every variant's estimate in nanoseconds, if it can carry the message.
    pub estimates: Vec<(&'static str, Option<f64>)>,
}

/// Returns the variant of a message of `bytes` over links with these capabilities on hosts with this profile,
/// and all estimates.
pub fn choose(caps: &Caps, host: &HostProfile, eager_bytes: usize, bytes: usize, ends: Ends) -> Choice {
    let path = Path::nominal(caps, Limits::over(caps, host, eager_bytes));
    let costs = LinkCosts::over(caps, host);
    let estimate = |row: &Row| {
        let can = row.variant.can_carry(&path, bytes, ends);
        (row.name, can.then(|| costs.estimate_ns(row.variant, bytes)))
    };
    let variant = variant(&path, bytes, Mode::Standard, ends);
    Choice { variant, estimates: TABLE.iter().map(estimate).collect() }
}

/// The least length of a block that is copied directly; shorter blocks of a message with gaps go through the
/// ring.
const LEAST_BLOCK: usize = 16 << 10;
/// The time before the first piece of a message that both ends copy, as the number of blocks that the kernel
/// looks up in it.
const BLOCKS_OF_A_BEGINNING: usize = 8;

/// Returns the length of a message without gaps that gains as much from copies by both ends as one of `len`
/// bytes in blocks of `block` bytes. Returns `None` if such blocks are too short. Each block delays the first
/// piece, so a message with gaps counts as a shorter one.
pub fn bytes_without_gaps(len: usize, block: usize) -> Option<usize> {
    (block >= LEAST_BLOCK).then(|| {
        let beginnings = BLOCKS_OF_A_BEGINNING + len.div_ceil(block);
        len / beginnings * BLOCKS_OF_A_BEGINNING
    })
}

/// Returns the length of the packets that fill a pipeline of equal stages fastest, by BIP's cost model. A
/// message takes `packets + stages − 1` steps, each with an overhead and a packet's bytes. So the best length
/// is √(length × overhead × bandwidth ÷ (stages − 1)).
pub fn pipeline_bytes(len: usize, overhead_ns: f64, bytes_per_us: f64, stages: u64) -> usize {
    (len as f64 * overhead_ns * bytes_per_us / 1000.0 / (stages - 1) as f64).sqrt() as usize
}

/// Returns the length of the pieces of a streamed message: a pipeline of two copies with the overhead of a
/// cell on each side.
pub fn piece_bytes(caps: &Caps, len: usize, most: usize) -> usize {
    let best = pipeline_bytes(len, caps.latency_ns.into(), caps.bytes_per_us.into(), 2);
    let most = most.min(caps.max_bulk);
    let best = best.next_multiple_of(4096).clamp(8192.min(most), most);
    // All pieces are about as long: a short remainder would be a packet of its own.
    let pieces = (len / best).max(len.div_ceil(most)).max(1);
    len.div_ceil(pieces).next_multiple_of(64).min(most)
}

/// Returns the length of pieces that stay in the user's memory until they have arrived. A link carries a
/// piece in half a millisecond: so a piece costs little beside its bytes, and no message waits long behind
/// it. A piece also fits into caches beside the system's copy. If an `urgent` message may come, pieces are
/// shorter.
pub fn timely_bytes(speed: Speed, most: usize, urgent: bool) -> usize {
    let (micros, cached) = if urgent { (500 / 8, 64 << 10) } else { (500, 256 << 10) };
    let timely = (speed.bytes_per_us as usize).saturating_mul(micros);
    timely.next_multiple_of(4096).clamp((16 << 10).min(most), most.min(cached))
}

#[cfg(test)]
pub(crate) mod tests;
