//! Partitioned messages (MPI 5.0, chapter 4): a message whose partitions the program makes ready one by one.
//!
//! Each partition of the sender is a message of its own, which leaves as soon as the partition is ready. Small partitions travel in *groups* of
//! neighbours: a group is one message, which leaves when all of them are ready. The receiver posts a receive for each group when it is started,
//! straight into the program's memory; a partition of the receiver has arrived once all bytes in it have, however the sender divides
//! them. All of it goes over the communicator's second flow.
//!
//! A receiver may wait for one partition while others are not ready. So the next pass of the engine splits each group of which only a part is
//! ready: an empty message in the place of the group says that its partitions come one by one.
//!
//! A sender tells its receiver once, when it is initialised, how it divides its message and with which tags the partitions travel. Such
//! notes of one sender arrive in the order of its initialisations, so the next note with a tag of the program is for the next receive
//! that was initialised with this tag (§4.2.1), however many there are and whatever the order in which they are started:
//!
//! ```text
//!   Psend_init ── note: tag of the program, first tag, partitions, bytes of each ──▶ the next Precv_init of that tag
//!   Pready(p)  ── partition p, with the tag 10 (first tag + p, 30 bits) ──────────▶ the receive that was posted for it
//!              ── group g, with the tag 10 (first tag + partitions + g, 30 bits) ─▶ the same
//! ```
//! A receive that is started before the note has come posts its receives as soon as it comes, in whichever call the program is then. With
//! a destination, the first tag of a sender lies behind all tags of the sender that was initialised before it.
//!
//! Locks: the engine's first, then that of the table of pairs, then that of an operation.

mod pairs;
mod receiving;
mod sending;

use std::ops::Range;
use std::sync::Arc;

use canele_engine::Tag;

pub(crate) use pairs::PartitionedPairs;
pub use receiving::Receiving;
pub use sending::{ReadyPartitions, Sending};

/// Tags of partitions, apart from those of collectives and of what makes communicators; and the bits that count in them.
const DATA: u32 = 1 << 31;
const DATA_BITS: u32 = 0x3fff_ffff;
/// Partitions of one send, at most: each has a tag of its own, and so has each group.
const MOST_PARTS: usize = DATA_BITS as usize / 2;
/// Bytes of a partition that travels in a group, at most.
const SMALL_BYTES: usize = 512;
/// Bytes of a group, at most.
const GROUP_BYTES: usize = 4096;
/// Partitions without bytes, at most: nothing else bounds what a receiver keeps of them.
const MOST_EMPTY_PARTS: usize = 1 << 20;
/// The tag of notes.
const NOTE: Tag = Tag(0xd000_0000);

/// A partitioned operation, as the calls that only such have reach it.
pub enum Partitioned<'a> {
    /// A send.
    Send(&'a Arc<Sending>),
    /// A receive.
    Receive(&'a Arc<Receiving>),
}

/// How a sender divides its message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PartDivision {
    /// The tag of the first partition, without [`DATA`].
    first: u32,
    parts: usize,
    /// Bytes of each partition.
    bytes: usize,
}

impl PartDivision {
    /// The tag with which a partition travels.
    fn tag(self, part: usize) -> Tag {
        Tag(DATA | self.first.wrapping_add(part as u32) & DATA_BITS)
    }

    /// Partitions of a group: 1 if they do not travel together.
    fn group_len(self) -> usize {
        match self.bytes {
            1..=SMALL_BYTES => (GROUP_BYTES / self.bytes).min(self.parts).max(1),
            _ => 1,
        }
    }

    /// How many groups there are.
    fn groups(self) -> usize {
        self.parts.div_ceil(self.group_len())
    }

    /// The partitions of a group.
    fn group(self, group: usize) -> Range<usize> {
        let first = group * self.group_len();
        first..(first + self.group_len()).min(self.parts)
    }

    /// The tag with which a group travels: that of its partition if it has no other.
    fn group_tag(self, group: usize) -> Tag {
        if self.group_len() == 1 { self.tag(group) } else { self.tag(self.parts + group) }
    }

    /// How many tags it has.
    fn tags(self) -> u32 {
        (self.parts + if self.group_len() == 1 { 0 } else { self.groups() }) as u32
    }
}
