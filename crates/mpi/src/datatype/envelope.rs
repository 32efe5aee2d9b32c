//! Constructor calls of datatypes, which the program can query (MPI 5.0, §5.1.13).
//!
//! This module owns the order of each constructor's arguments. Constants of the interface appear as
//! enumerations, not as their values.

use std::sync::Arc;

use super::Datatype;

/// The constructor that made a datatype.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combiner {
    /// No constructor: the datatype is predefined and has a name.
    Named,
    /// A copy.
    Dup,
    /// Elements side by side.
    Contiguous,
    /// Blocks at equal distances, in elements.
    Vector,
    /// Blocks at equal distances, in bytes.
    Hvector,
    /// Blocks at displacements in elements.
    Indexed,
    /// Blocks at displacements in bytes.
    Hindexed,
    /// Blocks of one length at displacements in elements.
    IndexedBlock,
    /// Blocks of one length at displacements in bytes.
    HindexedBlock,
    /// Blocks of several types.
    Struct,
    /// A part of an array.
    Subarray,
    /// One process's part of a distributed array.
    Darray,
    /// A real type by its precision.
    F90Real,
    /// A complex type by its precision.
    F90Complex,
    /// An integer type by its range.
    F90Integer,
    /// A datatype with other bounds.
    Resized,
    /// A value and an index.
    ValueIndex,
}

/// The form of a constructor that was called.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// The form with counts of type `int`.
    Int,
    /// The form with large counts.
    Large,
}

/// The order of the dimensions of an array in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// The last dimension varies fastest.
    C,
    /// The first dimension varies fastest.
    Fortran,
}

/// The distribution of an array dimension over processes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Distribution {
    /// Not distributed.
    None,
    /// One block for each process.
    Block,
    /// Blocks distributed round-robin.
    Cyclic,
}

/// An argument of type `int`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Integer {
    /// A number.
    Number(i64),
    /// The order of an array.
    Order(Order),
    /// The distribution of a dimension.
    Distribution(Distribution),
    /// The default length of distributed blocks.
    DefaultBlock,
    /// An open value.
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
    pub integers: Integers,
    /// Arguments that are addresses.
    pub addresses: Vec<isize>,
    /// Arguments that are large counts; empty unless the large form was called.
    pub counts: Vec<i64>,
    /// The datatypes from which it was made.
    pub datatypes: Vec<Arc<Datatype>>,
}

impl Envelope {
    pub(super) fn new(combiner: Combiner) -> Self {
        Self { combiner, integers: Integers::default(), addresses: vec![], counts: vec![], datatypes: vec![] }
    }

    /// Returns true if the large form was called. Then only the large form of the query returns the contents.
    pub fn is_large(&self) -> bool {
        !self.counts.is_empty()
    }

    pub(super) fn datatype(mut self, datatype: &Arc<Datatype>) -> Self {
        self.datatypes.push(datatype.clone());
        self
    }

    pub(super) fn integers(mut self, integers: impl IntoIterator<Item = Integer>) -> Self {
        self.integers.0.extend(integers.into_iter().map(IntegerRun::One));
        self
    }

    /// Adds arguments that are `int` in one form and large counts in the other.
    pub(super) fn counts<N: CountNumber>(mut self, width: Width, counts: &[N]) -> Self {
        match width {
            Width::Int => self.integers.0.push(N::as_ints(counts)),
            Width::Large => self.counts.extend(counts.iter().map(|count| (*count).into())),
        }
        self
    }

    /// Adds arguments that are addresses in one form and large counts in the other.
    pub(super) fn addresses(mut self, width: Width, addresses: &[i64]) -> Self {
        match width {
            Width::Int => self.addresses.extend(addresses.iter().map(|address| *address as isize)),
            Width::Large => self.counts.extend(addresses),
        }
        self
    }
}

/// Arguments of type `int`, in the order of the standard's tables. A long list takes four bytes for each
/// argument.
#[derive(Clone, Default, Debug)]
pub struct Integers(Vec<IntegerRun>);

/// Consecutive arguments.
#[derive(Clone, Debug)]
pub enum IntegerRun {
    /// One argument.
    One(Integer),
    /// Plain numbers.
    Numbers(Box<[i32]>),
    /// Plain numbers that exceed an `int`, as a caller in Rust may give them.
    Wide(Box<[i64]>),
}

impl Integers {
    /// Returns the number of arguments.
    pub fn len(&self) -> usize {
        let lengths = self.0.iter().map(|run| match run {
            IntegerRun::One(_) => 1,
            IntegerRun::Numbers(numbers) => numbers.len(),
            IntegerRun::Wide(numbers) => numbers.len(),
        });
        lengths.sum()
    }

    /// Returns true if there are no arguments.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the runs, in order.
    pub fn runs(&self) -> &[IntegerRun] {
        &self.0
    }

    /// Returns all arguments, in order.
    pub fn to_vec(&self) -> Vec<Integer> {
        let mut all = Vec::with_capacity(self.len());
        for run in &self.0 {
            match run {
                IntegerRun::One(integer) => all.push(*integer),
                IntegerRun::Numbers(numbers) => {
                    all.extend(numbers.iter().map(|n| Integer::Number((*n).into())))
                }
                IntegerRun::Wide(numbers) => all.extend(numbers.iter().map(|n| Integer::Number(*n))),
            }
        }
        all
    }
}

/// A number in a list of lengths or displacements, for the `int` form or the large form of a constructor.
pub trait CountNumber: Copy + Into<i64> {
    /// Returns the arguments of the `int` form.
    fn as_ints(numbers: &[Self]) -> IntegerRun;
}

impl CountNumber for i32 {
    fn as_ints(numbers: &[Self]) -> IntegerRun {
        IntegerRun::Numbers(numbers.into())
    }
}

impl CountNumber for i64 {
    fn as_ints(numbers: &[Self]) -> IntegerRun {
        match numbers.iter().map(|number| i32::try_from(*number)).collect::<Result<_, _>>() {
            Ok(numbers) => IntegerRun::Numbers(numbers),
            Err(_) => IntegerRun::Wide(numbers.into()),
        }
    }
}
