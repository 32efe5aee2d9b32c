//! How a datatype was made: what the program can ask back (MPI 5.0, §5.1.13).
//!
//! Owns the order in which each constructor's arguments are listed. Constants of the interface appear as what they mean, not
//! as their values.

use std::sync::Arc;

use super::Datatype;

/// The constructor that made a datatype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combiner {
    /// None: it is predefined and has a name.
    Named,
    /// A copy.
    Dup,
    /// Elements side by side.
    Contiguous,
    /// Blocks at equal distances, in elements.
    Vector,
    /// Blocks at equal distances, in bytes.
    Hvector,
    /// Blocks at places in elements.
    Indexed,
    /// Blocks at places in bytes.
    Hindexed,
    /// Blocks of one length at places in elements.
    IndexedBlock,
    /// Blocks of one length at places in bytes.
    HindexedBlock,
    /// Blocks of several types.
    Struct,
    /// A part of an array.
    Subarray,
    /// One process's part of a distributed array.
    Darray,
    /// A real by its precision.
    F90Real,
    /// A complex by its precision.
    F90Complex,
    /// An integer by its range.
    F90Integer,
    /// Other bounds.
    Resized,
    /// A value and an index.
    ValueIndex,
}

/// Which of two forms of a constructor was called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// That with counts of type `int`.
    Int,
    /// That with large counts.
    Large,
}

/// The order of the dimensions of an array in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The last varies fastest.
    C,
    /// The first varies fastest.
    Fortran,
}

/// How a dimension of an array is dealt to processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Distribution {
    /// Not at all.
    None,
    /// One block for each.
    Block,
    /// Blocks in turn.
    Cyclic,
}

/// An argument of type `int`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Integer {
    /// A number.
    Number(i64),
    /// The order of an array.
    Order(Order),
    /// How a dimension is dealt.
    Distribution(Distribution),
    /// The default length of blocks that are dealt.
    DefaultBlock,
    /// Left open.
    Undefined,
}

impl From<i64> for Integer {
    fn from(number: i64) -> Self {
        Integer::Number(number)
    }
}

/// A constructor and its arguments, in the order of the standard's tables.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The constructor.
    pub combiner: Combiner,
    /// Arguments of type `int`.
    pub integers: Vec<Integer>,
    /// Arguments that are addresses.
    pub addresses: Vec<isize>,
    /// Arguments that are large counts: none unless its large form was called.
    pub counts: Vec<i64>,
    /// Datatypes it was made of.
    pub datatypes: Vec<Arc<Datatype>>,
}

impl Envelope {
    pub(super) fn new(combiner: Combiner) -> Self {
        Self { combiner, integers: vec![], addresses: vec![], counts: vec![], datatypes: vec![] }
    }

    /// Whether its large form was called, so that its contents are had from the large form only.
    pub fn is_large(&self) -> bool {
        !self.counts.is_empty()
    }

    pub(super) fn datatype(mut self, datatype: &Arc<Datatype>) -> Self {
        self.datatypes.push(datatype.clone());
        self
    }

    pub(super) fn integers(mut self, integers: impl IntoIterator<Item = Integer>) -> Self {
        self.integers.extend(integers);
        self
    }

    /// Arguments that are `int` in one form and large counts in the other.
    pub(super) fn counts(mut self, width: Width, counts: &[i64]) -> Self {
        match width {
            Width::Int => self.integers.extend(counts.iter().copied().map(Integer::Number)),
            Width::Large => self.counts.extend(counts),
        }
        self
    }

    /// Arguments that are addresses in one form and large counts in the other.
    pub(super) fn addresses(mut self, width: Width, addresses: &[i64]) -> Self {
        match width {
            Width::Int => self.addresses.extend(addresses.iter().map(|address| *address as isize)),
            Width::Large => self.counts.extend(addresses),
        }
        self
    }
}
