//! The specification of a collective, without its memory.
//!
//! Owns its forms: equal blocks ([`Shape`]), blocks of any size ([`Uneven`]), and a schedule made
//! before ([`Plan`]).

use std::sync::Arc;

use crate::choose::Seat;
use canele_sys::ids::Tag;

use crate::Error;
use crate::schedule::{Schedule, Span};
use canele_sys::ids::Rank;

/// The owner of the result or the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Root {
    /// This member; between two groups, this member of the other group.
    At(u32),
    /// This rank, between two groups: the other group takes part with it alone.
    Here,
    /// Another member of this rank's group, between two groups: this rank has nothing to do.
    Elsewhere,
}

impl From<Rank> for Root {
    fn from(rank: Rank) -> Self {
        Self::At(rank.0)
    }
}

/// The operation that all members do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// No member leaves before all have come.
    Barrier,
    /// The root's output becomes the output of all members.
    Broadcast(Root),
    /// The root's output becomes the reduction of all inputs.
    Reduce(Root),
    /// The output of each member becomes the reduction of all inputs.
    Allreduce,
    /// The root's output becomes all inputs, in the order of members.
    Gather(Root),
    /// Each member's output becomes its block of the root's input.
    Scatter(Root),
    /// The output of each member becomes all inputs, in the order of members.
    Allgather,
    /// Block `r` of each member's input becomes the block of that member in the output of member `r`.
    Alltoall,
    /// Each member's output becomes its block of the reduction of all inputs, which have a block for each.
    ReduceScatter,
    /// Each member's output becomes the reduction of the inputs of all up to it.
    Scan,
    /// Each member's output becomes the reduction of the inputs before its own; the output of the first is
    /// not touched.
    Exscan,
}

/// A collective of equal blocks; equal on all members, except for the role of each and `in_place`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The operation.
    pub operation: Operation,
    /// Bytes of one block, which one member contributes to one member.
    pub bytes: usize,
    /// Bytes of one element; reductions never cut one.
    pub element: usize,
    /// True if operands may change places; otherwise they are never combined out of order.
    pub commutative: bool,
    /// True if the input lies in the output already, in the place of the standard (MPI 5.0, chapter 6). For
    /// gathering that is this rank's block, else the beginning. At the root of `Scatter`, its own block stays
    /// in its place.
    pub in_place: bool,
}

impl Shape {
    /// Makes a shape of bytes, or of numbers that may change places.
    pub fn new(operation: Operation, bytes: usize) -> Self {
        Self { operation, bytes, element: 1, commutative: true, in_place: false }
    }
}

/// A range of bytes of the input or the output.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Block {
    /// Its start.
    pub at: usize,
    /// Its length in bytes.
    pub len: usize,
}

/// A collective of blocks of any length, anywhere. A block is as long as its receiver expects; nothing
/// is sent for an empty block. Between two groups lists are of the members of the other group.
#[derive(Clone, Copy, Debug)]
pub enum Uneven<'a> {
    /// Does [`Operation::Gather`].
    Gather {
        /// The rank that gets all.
        root: Root,
        /// This rank's block; `None` if it is in its place in `all` already.
        mine: Option<Block>,
        /// At the root: places in the output, of each member.
        all: &'a [Block],
    },
    /// Does [`Operation::Scatter`].
    Scatter {
        /// The rank that has all.
        root: Root,
        /// At the root: places in the input, for each member.
        all: &'a [Block],
        /// The place in the output; `None` if the root's own part stays in its place.
        mine: Option<Block>,
    },
    /// Does [`Operation::Allgather`].
    Allgather {
        /// This rank's block; `None` if it is in its place in `all` already.
        mine: Option<Block>,
        /// Places in the output, of each member; in one group all know the same lengths.
        all: &'a [Block],
    },
    /// Does [`Operation::Alltoall`].
    Alltoall {
        /// Places in the input, for each member; `None` if the places in the output are exchanged.
        from: Option<&'a [Block]>,
        /// Places in the output, of each member.
        into: &'a [Block],
    },
    /// Does [`Operation::ReduceScatter`], with contiguous blocks.
    ReduceScatter {
        /// Bytes for each member of this rank's group; equal on all members.
        lens: &'a [usize],
        /// Bytes of one element: see [`Shape`].
        element: usize,
        /// True if operands may change places: see [`Shape`].
        commutative: bool,
        /// True if the input lies in the output already: see [`Shape`].
        in_place: bool,
    },
    /// Messages among neighbours: each has a source and a destination that know of each other. Several
    /// messages of a pair are matched in the order of the lists.
    Exchange {
        /// The receivers, with their blocks of the input.
        sends: &'a [(u32, Block)],
        /// The senders, with their blocks of the output.
        receives: &'a [(u32, Block)],
    },
}

/// A collective made ready to be started many times on its flow. Plans are started in any order: each has a
/// tag of its own.
#[derive(Clone)]
pub struct Plan {
    /// This rank's part.
    pub schedule: Arc<Schedule>,
    /// The tag of its messages.
    pub tag: Tag,
    /// Its operation, in a word.
    pub operation: &'static str,
    /// Bytes that this rank gives or gets: see [`CollectiveSpec::bytes`].
    pub bytes: usize,
}

/// The specification of a collective.
#[derive(Clone, Copy)]
pub enum CollectiveSpec<'a> {
    /// Blocks of one length.
    Even(Shape),
    /// Blocks of any length.
    Uneven(Uneven<'a>),
}

impl From<Shape> for CollectiveSpec<'_> {
    #[inline(always)]
    fn from(shape: Shape) -> Self {
        Self::Even(shape)
    }
}

impl<'a> From<Uneven<'a>> for CollectiveSpec<'a> {
    fn from(uneven: Uneven<'a>) -> Self {
        Self::Uneven(uneven)
    }
}

impl Block {
    pub(crate) fn of_input(self) -> Span {
        Span::input(self.at, self.len)
    }

    pub(crate) fn of_output(self) -> Span {
        Span::output(self.at, self.len)
    }
}

impl Operation {
    pub(crate) fn root(self) -> Option<Root> {
        match self {
            Self::Broadcast(root) | Self::Reduce(root) | Self::Gather(root) | Self::Scatter(root) => {
                Some(root)
            }
            _ => None,
        }
    }
}

/// Checks that the root is a member.
pub(crate) fn check_root(seat: Seat, root: Root) -> Result<(), Error> {
    let among = if seat.is_between() { seat.remote() } else { seat.ranks };
    match root {
        Root::At(n) if n as usize >= among => Err(Error::NoSuchRank { rank: Rank(n), size: among as u32 }),
        Root::Here | Root::Elsewhere if !seat.is_between() => {
            panic!("in one group all members name the root")
        }
        _ => Ok(()),
    }
}

impl CollectiveSpec<'_> {
    /// Returns its operation, in a word.
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Even(shape) => match shape.operation {
                Operation::Barrier => "barrier",
                Operation::Broadcast(_) => "broadcast",
                Operation::Reduce(_) => "reduce",
                Operation::Allreduce => "allreduce",
                Operation::Gather(_) => "gather",
                Operation::Scatter(_) => "scatter",
                Operation::Allgather => "allgather",
                Operation::Alltoall => "alltoall",
                Operation::ReduceScatter => "reduce-scatter",
                Operation::Scan => "scan",
                Operation::Exscan => "exscan",
            },
            Self::Uneven(uneven) => match uneven {
                Uneven::Gather { .. } => "gather",
                Uneven::Scatter { .. } => "scatter",
                Uneven::Allgather { .. } => "allgather",
                Uneven::Alltoall { .. } => "alltoall",
                Uneven::ReduceScatter { .. } => "reduce-scatter",
                Uneven::Exchange { .. } => "neighbour exchange",
            },
        }
    }

    /// Returns the bytes of one block, or of all blocks that this rank gives where they differ in length.
    pub fn bytes(&self) -> usize {
        let sum = |blocks: &[Block]| blocks.iter().map(|block| block.len).sum();
        let len = |mine: &Option<Block>| mine.map_or(0, |block| block.len);
        match self {
            Self::Even(shape) => shape.bytes,
            Self::Uneven(uneven) => match uneven {
                Uneven::Gather { mine, .. } | Uneven::Allgather { mine, .. } => len(mine),
                Uneven::Scatter { all, mine, .. } => {
                    if all.is_empty() {
                        len(mine)
                    } else {
                        sum(all)
                    }
                }
                Uneven::Alltoall { from, into } => sum(from.unwrap_or(into)),
                Uneven::ReduceScatter { lens, .. } => lens.iter().sum(),
                Uneven::Exchange { sends, .. } => sends.iter().map(|(_, block)| block.len).sum(),
            },
        }
    }
}

impl Uneven<'_> {
    /// Checks that lists have the right length, and that the named members exist.
    pub(crate) fn check(&self, seat: Seat) -> Result<(), Error> {
        let (peers, own) =
            if seat.is_between() { (seat.remote(), seat.local) } else { (seat.ranks, seat.ranks) };
        let is_root = |root: Root| match root {
            Root::At(n) => !seat.is_between() && n as usize == seat.me,
            Root::Here => true,
            Root::Elsewhere => false,
        };
        match *self {
            Self::Gather { root, all, .. } | Self::Scatter { root, all, .. } => {
                check_root(seat, root)?;
                if is_root(root) { check_list(all.len(), peers) } else { Ok(()) }
            }
            Self::Allgather { all, .. } => check_list(all.len(), peers),
            Self::Alltoall { from, into } => {
                check_list(from.map_or(peers, <[Block]>::len), peers)?;
                check_list(into.len(), peers)
            }
            Self::ReduceScatter { lens, .. } => check_list(lens.len(), own),
            Self::Exchange { sends, receives } => {
                let stranger = sends.iter().chain(receives).find(|(peer, _)| *peer as usize >= seat.ranks);
                match stranger {
                    Some((peer, _)) => Err(Error::NoSuchRank { rank: Rank(*peer), size: seat.ranks as u32 }),
                    None => Ok(()),
                }
            }
        }
    }
}

fn check_list(given: usize, needed: usize) -> Result<(), Error> {
    let what = "blocks of a collective, one for each member";
    if given == needed { Ok(()) } else { Err(Error::Lengths { what, given, needed }) }
}
