//! Partitioned messages (MPI 5.0, chapter 4): a message whose partitions the program makes ready one by one.
//!
//! Each partition of the sender is a message of its own, which is sent as soon as the partition is ready.
//! Small adjacent partitions form a *group*: one message, sent when all of them are ready. A started receiver
//! posts one receive for each group, directly into the program's memory. A partition of the receiver has
//! arrived after all its bytes have arrived, even if the sender divides them otherwise. All messages use the
//! communicator's second flow.
//!
//! A receiver may wait for one partition while others are not ready. So the next pass of the engine splits
//! each group that is partly ready. An empty message in the place of the group announces that its partitions
//! follow one by one.
//!
//! At initialisation a sender informs its receiver of the division of its message and of the tags of the
//! partitions. Such *notes* of one sender arrive in the order of its initialisations. So a note with a
//! program's tag belongs to the next receive that was initialised with this tag (§4.2.1). The order of the
//! starts does not matter:
//!
//! ```text
//!   Psend_init ── note: program's tag, first tag, partitions, size of each ─────▶ the next Precv_init of that tag
//!   Pready(p)  ── partition p, with the tag 10 (first tag + p, 30 bits) ────────▶ its posted receive
//!              ── group g, with the tag 10 (first tag + partitions + g, 30 bits)▶ its posted receive
//! ```
//! A receive that is started before the note arrives posts its receives when the note arrives, during any
//! call of the program. For each destination, the first tag of a sender follows all tags of the previously
//! initialised sender.
//!
//! Lock order: the engine's lock, the table of pairs, the operation.

mod pairs;
mod receiving;
mod sending;

use std::ops::Range;
use std::sync::Arc;

use canele_engine::Tag;

pub(crate) use pairs::PartitionedPairs;
pub use receiving::Receiving;
pub use sending::{ReadyPartitions, Sending};

/// Tags of partitions, distinct from those of collectives and of communicator creation; and their significant
/// bits.
const DATA: u32 = 1 << 31;
const DATA_BITS: u32 = 0x3fff_ffff;
/// Largest number of partitions of one send: each partition has a tag, and each group has one.
const MOST_PARTS: usize = DATA_BITS as usize / 2;
/// Largest size of a partition in a group, in bytes.
const SMALL_BYTES: usize = 512;
/// Largest size of a group in bytes.
const GROUP_BYTES: usize = 4096;
/// Largest number of empty partitions; no other limit bounds the receiver's memory for them.
const MOST_EMPTY_PARTS: usize = 1 << 20;
/// The tag of notes.
const NOTE: Tag = Tag(0xd000_0000);

/// A partitioned operation, for the calls that only partitioned operations support.
pub enum Partitioned<'a> {
    /// A partitioned send.
    Send(&'a Arc<Sending>),
    /// A partitioned receive.
    Receive(&'a Arc<Receiving>),
}

/// The division of a sender's message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PartDivision {
    /// The tag of the first partition, without [`DATA`].
    first: u32,
    parts: usize,
    /// Size of a partition in bytes.
    bytes: usize,
}

impl PartDivision {
    /// Returns the tag of a partition.
    fn tag(self, part: usize) -> Tag {
        Tag(DATA | self.first.wrapping_add(part as u32) & DATA_BITS)
    }

    /// Returns the number of partitions in a group; 1 if partitions are not grouped.
    fn group_len(self) -> usize {
        match self.bytes {
            1..=SMALL_BYTES => (GROUP_BYTES / self.bytes).min(self.parts).max(1),
            _ => 1,
        }
    }

    /// Returns the number of groups.
    fn groups(self) -> usize {
        self.parts.div_ceil(self.group_len())
    }

    /// Returns the partitions of a group.
    fn group(self, group: usize) -> Range<usize> {
        let first = group * self.group_len();
        first..(first + self.group_len()).min(self.parts)
    }

    /// Returns the tag of a group; a group of one partition has that partition's tag.
    fn group_tag(self, group: usize) -> Tag {
        if self.group_len() == 1 { self.tag(group) } else { self.tag(self.parts + group) }
    }

    /// Returns the number of tags in use.
    fn tags(self) -> u32 {
        (self.parts + if self.group_len() == 1 { 0 } else { self.groups() }) as u32
    }
}
