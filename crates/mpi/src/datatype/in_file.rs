//! The datatype of data in a file whose data representation has other sizes than memory (MPI 5.0, §14.5).
//!
//! The datatype is rebuilt by its constructor calls from basic datatypes of the sizes in the file. Byte
//! displacements of the program stay as they are. A program whose datatypes must be portable gets these
//! displacements from `MPI_File_get_type_extent`.

use std::sync::Arc;

use super::envelope::IntegerRun;
use super::{Basic, Combiner, Datatype, Dimension, Distribution, Envelope, Integer, Order, Width};
use crate::{Class, Error, Result};

/// Returns the size in bytes of a basic datatype in the file.
pub type SizeInFile<'a> = &'a dyn Fn(Basic) -> Result<usize>;

impl Datatype {
    /// Returns the datatype for a file.
    ///
    /// # Errors
    /// Fails if it exceeds the address space, or if the size of a basic datatype is unknown.
    pub fn in_file(self: &Arc<Self>, size: SizeInFile<'_>) -> Result<Arc<Self>> {
        if let Some(basic) = self.as_basic() {
            return bytes(size(basic)?);
        }
        if let (Combiner::ValueIndex, Some((value, index))) = (self.combiner(), self.pair()) {
            return bytes(size(value)? + size(index)?);
        }
        let envelope = self.envelope();
        let old: Vec<Arc<Self>> =
            envelope.datatypes.iter().map(|old| old.in_file(size)).collect::<Result<_>>()?;
        let [first, ..] = &old[..] else {
            // A structure without blocks.
            return bytes(0);
        };
        let arguments = Arguments(envelope);
        let (numbers, places) = (arguments.numbers(), arguments.places());
        let wrong =
            || Error::new(Class::Internal, "a datatype does not have the arguments of its constructor");
        let number = |n: usize| numbers.get(n).copied().ok_or_else(wrong);
        let part = |from: usize, len: i64| {
            let len = usize::try_from(len).map_err(|_| wrong())?;
            numbers.get(from..from + len).ok_or_else(wrong)
        };
        let place = |n: usize| places.get(n).copied().ok_or_else(wrong);
        let width = Width::Large;
        match self.combiner() {
            Combiner::Contiguous => Self::contiguous(width, number(0)?, first),
            Combiner::Vector => Self::vector(width, number(0)?, number(1)?, number(2)?, first),
            Combiner::Hvector => Self::hvector(width, number(0)?, number(1)?, place(0)?, first),
            Combiner::Indexed => {
                let count = number(0)?;
                Self::indexed(width, part(1, count)?, part(1 + count as usize, count)?, first)
            }
            Combiner::Hindexed => Self::hindexed(width, part(1, number(0)?)?, &places, first),
            Combiner::IndexedBlock => Self::indexed_block(width, number(1)?, part(2, number(0)?)?, first),
            Combiner::HindexedBlock => Self::hindexed_block(width, number(1)?, &places, first),
            Combiner::Struct => Self::structure(width, part(1, number(0)?)?, &places, &old),
            Combiner::Resized => Self::resized(width, first, place(0)?, place(1)?),
            Combiner::Subarray => {
                let count = number(0)?;
                let at = |n: usize| part(1 + n * count as usize, count);
                let order = arguments.order().ok_or_else(wrong)?;
                Self::subarray(width, at(0)?, at(1)?, at(2)?, order, first)
            }
            Combiner::Darray => {
                let dimensions = arguments.dimensions().ok_or_else(wrong)?;
                let order = arguments.order().ok_or_else(wrong)?;
                Self::darray(width, number(0)?, number(1)?, &dimensions, order, first)
            }
            _ => Ok(first.clone()),
        }
    }
}

/// Returns a datatype of `size` bytes without a type.
fn bytes(size: usize) -> Result<Arc<Datatype>> {
    Datatype::contiguous(Width::Large, size as i64, Datatype::basic(Basic::Byte))
}

/// The arguments of a constructor, for both of its forms.
struct Arguments<'a>(&'a Envelope);

impl Arguments<'_> {
    /// Returns the plain numbers, in the order of the form with `int`.
    fn numbers(&self) -> Vec<i64> {
        let plain = |integer: &Integer| match integer {
            Integer::Number(number) => Some(*number),
            _ => None,
        };
        let mut numbers: Vec<i64> = self.0.integers.to_vec().iter().filter_map(plain).collect();
        if self.0.is_large() {
            let places = self.places().len().min(self.0.counts.len());
            let counts = self.0.counts.len() - if self.0.addresses.is_empty() { places } else { 0 };
            numbers.extend(&self.0.counts[..counts]);
        }
        numbers
    }

    /// Returns displacements and strides in bytes.
    fn places(&self) -> Vec<i64> {
        if !self.0.is_large() {
            return self.0.addresses.iter().map(|address| *address as i64).collect();
        }
        let counts = &self.0.counts;
        let many = |at: usize| counts.get(at).map_or(0, |count| usize::try_from(*count).unwrap_or(0));
        let len = match self.0.combiner {
            Combiner::Hvector => 1,
            Combiner::Resized => 2,
            Combiner::Hindexed | Combiner::HindexedBlock | Combiner::Struct => many(0),
            _ => 0,
        };
        counts[counts.len().saturating_sub(len)..].to_vec()
    }

    fn order(&self) -> Option<Order> {
        self.0.integers.runs().iter().rev().find_map(|run| match run {
            IntegerRun::One(Integer::Order(order)) => Some(*order),
            _ => None,
        })
    }

    fn dimensions(&self) -> Option<Vec<Dimension>> {
        let integers = self.0.integers.to_vec();
        let number = |n: usize| match integers.get(n) {
            Some(Integer::Number(number)) => Some(*number),
            _ => None,
        };
        let count = usize::try_from(number(2)?).ok()?;
        // The large form stores the sizes apart, the other form among the integers.
        let apart = if self.0.is_large() { 0 } else { count };
        (0..count)
            .map(|i| {
                let size = if self.0.is_large() { *self.0.counts.get(i)? } else { number(3 + i)? };
                let distribution = match integers.get(3 + apart + i)? {
                    Integer::Distribution(distribution) => *distribution,
                    _ => Distribution::None,
                };
                let block = match integers.get(3 + apart + count + i)? {
                    Integer::Number(block) => Some(*block),
                    _ => None,
                };
                Some(Dimension { size, distribution, block, processes: number(3 + apart + 2 * count + i)? })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that a datatype whose file sizes equal those in memory becomes the same layout.
    fn same(datatype: &Arc<Datatype>) {
        let made = datatype.in_file(&|basic| Ok(basic.size())).unwrap();
        let places = |of: &Arc<Datatype>| {
            let mut all = Vec::new();
            of.layout().stretches(1, 0, of.size(), |place, _, len| all.extend(place..place + len as isize));
            all
        };
        assert_eq!(places(&made), places(datatype), "{datatype:?}");
        assert_eq!(
            (made.extent(), made.lower_bound()),
            (datatype.extent(), datatype.lower_bound()),
            "{datatype:?}"
        );
    }

    #[test]
    fn each_constructor_is_called_again() {
        let int = Datatype::basic(Basic::Int);
        for width in [Width::Int, Width::Large] {
            let dimension = |size, distribution, block| Dimension { size, distribution, block, processes: 2 };
            let dimensions =
                [dimension(7, Distribution::Cyclic, Some(2)), dimension(5, Distribution::Block, None)];
            let vector = Datatype::vector(width, 3, 2, 5, int).unwrap();
            let all = [
                Datatype::contiguous(width, 5, int),
                Ok(vector.clone()),
                Datatype::hvector(width, 3, 2, 44, int),
                Datatype::indexed(width, &[1, 0, 3], &[9, 2, 4], &vector),
                Datatype::hindexed(width, &[2, 1], &[8, 100], int),
                Datatype::indexed_block(width, 2, &[5, 1], int),
                Datatype::hindexed_block(width, 2, &[40, 4], &vector),
                Datatype::structure(width, &[1, 2], &[0, 200], &[int.clone(), vector.clone()]),
                Datatype::resized(width, &vector, -8, 300),
                Datatype::subarray(width, &[4, 5], &[2, 3], &[1, 1], Order::C, int),
                Datatype::subarray(width, &[4, 5], &[2, 3], &[1, 1], Order::Fortran, &vector),
                Datatype::darray(width, 4, 3, &dimensions, Order::Fortran, int),
                Datatype::dup(&vector),
            ];
            all.into_iter().for_each(|made| same(&made.unwrap()));
        }
    }

    #[test]
    fn sizes_in_the_file_are_those_asked_for() {
        let long = Datatype::basic(Basic::Long);
        let vector = Datatype::vector(Width::Int, 2, 1, 3, long).unwrap();
        let made = vector.in_file(&|basic| Ok(basic.external_size())).unwrap();
        assert_eq!((made.size(), made.extent()), (8, 16));
    }
}
