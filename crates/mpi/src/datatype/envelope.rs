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
    pub integers: Integers,
    /// Arguments that are addresses.
    pub addresses: Vec<isize>,
    /// Arguments that are large counts: none unless its large form was called.
    pub counts: Vec<i64>,
    /// Datatypes it was made of.
    pub datatypes: Vec<Arc<Datatype>>,
}

impl Envelope {
    pub(super) fn new(combiner: Combiner) -> Self {
        Self { combiner, integers: Integers::default(), addresses: vec![], counts: vec![], datatypes: vec![] }
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
        self.integers.0.extend(integers.into_iter().map(IntegerRun::One));
        self
    }

    /// Arguments that are `int` in one form and large counts in the other.
    pub(super) fn counts<N: CountNumber>(mut self, width: Width, counts: &[N]) -> Self {
        match width {
            Width::Int => self.integers.0.push(N::as_ints(counts)),
            Width::Large => self.counts.extend(counts.iter().map(|count| (*count).into())),
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

/// Arguments of type `int`, in the order of the standard's tables: a list of a million of them takes four bytes for each.
#[derive(Clone, Default, Debug)]
pub struct Integers(Vec<IntegerRun>);

/// Arguments that stand one after the other.
#[derive(Clone, Debug)]
pub enum IntegerRun {
    /// One.
    One(Integer),
    /// Plain numbers.
    Numbers(Box<[i32]>),
    /// Plain numbers that an `int` does not hold: a caller in Rust may give them.
    Wide(Box<[i64]>),
}

impl Integers {
    /// How many there are.
    pub fn len(&self) -> usize {
        let lengths = self.0.iter().map(|run| match run {
            IntegerRun::One(_) => 1,
            IntegerRun::Numbers(numbers) => numbers.len(),
            IntegerRun::Wide(numbers) => numbers.len(),
        });
        lengths.sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The runs, in order.
    pub fn runs(&self) -> &[IntegerRun] {
        &self.0
    }

    /// All of them, in order.
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

/// A number in a list of lengths or displacements: of the ordinary form of a constructor, or of that with large counts.
pub trait CountNumber: Copy + Into<i64> {
    /// The arguments of the ordinary form.
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
