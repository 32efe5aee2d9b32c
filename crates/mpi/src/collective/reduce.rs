//! Reductions: reduce, allreduce, reduce_scatter, scan, exscan.

use canele_engine::collective::{Operation, Reduction, Root, Shape};
use canele_sys::buffer::Raw;

use super::call::{Call, Owned};
use super::even::Role;
use super::side::{Elements, Side};
use crate::comm::Comm;
use crate::{Result, fail};

/// An operation on elements of a datatype.
#[derive(Clone)]
pub struct Reducing {
    /// How packed elements are combined.
    pub reduction: Reduction,
    /// Whether operands may change places.
    pub commutative: bool,
    /// Bytes of a packed element, which is never cut.
    pub element: usize,
}

impl Reducing {
    fn shape(&self, operation: Operation, bytes: usize) -> Shape {
        Shape {
            operation,
            bytes,
            element: self.element.max(1),
            commutative: self.commutative,
            in_place: false,
        }
    }
}

impl Comm {
    /// A reduction of `elements`, whose type and number count for both buffers; the input is none in place.
    fn reduction(
        &self,
        operation: Operation,
        input: Option<Raw>,
        elements: Elements,
        by: Reducing,
    ) -> Result<Call> {
        let from = input.map(|raw| Side::of(Elements { raw, ..elements.clone() })).transpose()?;
        let (output, bytes) = Side::of(elements)?;
        let shape = Shape { in_place: from.is_none(), ..by.shape(operation, bytes) };
        // The output of the first rank of an exclusive scan is not touched.
        let load = shape.in_place || operation == Operation::Exscan && output.is_packed();
        let input = from.map_or(Side::Nothing, |(side, _)| side);
        let call = Call::new(Owned::Even(shape), input, output).loaded(load);
        Ok(Call { reduction: Some(by.reduction), ..call })
    }

    /// `MPI_Reduce`; `input` is none in place, the memory of `elements` is the result's at the root.
    ///
    /// # Errors
    /// There is no such root; `MPI_IN_PLACE` elsewhere.
    pub fn reduce(&self, input: Option<Raw>, elements: Elements, by: Reducing, root: Root) -> Result<Call> {
        match (self.role(root)?, input) {
            (Role::Nobody, _) => Ok(Call::nothing()),
            (Role::Root, input) => {
                let call = self.reduction(Operation::Reduce(root), input, elements, by)?;
                Ok(if self.is_inter() { receiving(call) } else { call })
            }
            (Role::Other, Some(raw)) => {
                let (input, bytes) = Side::of(Elements { raw, ..elements })?;
                let form = Owned::Even(by.shape(Operation::Reduce(root), bytes));
                let call = Call::new(form, input, Side::Nothing);
                Ok(Call { reduction: Some(by.reduction), ..call })
            }
            (Role::Other, None) => fail!(Buffer, "sendbuf is MPI_IN_PLACE, which only the root may give"),
        }
    }

    /// `MPI_Allreduce`.
    ///
    /// # Errors
    /// Too many elements.
    pub fn allreduce(&self, input: Option<Raw>, elements: Elements, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Allreduce, input, elements, by)
    }

    /// `MPI_Scan`.
    ///
    /// # Errors
    /// Too many elements.
    pub fn scan(&self, input: Option<Raw>, elements: Elements, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Scan, input, elements, by)
    }

    /// `MPI_Exscan`.
    ///
    /// # Errors
    /// Too many elements.
    pub fn exscan(&self, input: Option<Raw>, elements: Elements, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Exscan, input, elements, by)
    }

    /// `MPI_Reduce_scatter_block`; `elements` are those of one rank, where the result goes. In place they begin with the
    /// elements of all.
    ///
    /// # Errors
    /// Too many elements.
    pub fn reduce_scatter_block(&self, input: Option<Raw>, elements: Elements, by: Reducing) -> Result<Call> {
        let counts = vec![elements.count; self.size()];
        self.reduce_scatter(input, elements, &counts, by)
    }

    /// `MPI_Reduce_scatter`, with a number of elements for each rank.
    ///
    /// # Errors
    /// Too many elements.
    pub fn reduce_scatter(
        &self,
        input: Option<Raw>,
        elements: Elements,
        counts: &[usize],
        by: Reducing,
    ) -> Result<Call> {
        let lens = counts.iter().map(|n| elements.of.total_bytes(*n)).collect::<Result<Vec<_>>>()?;
        let total = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
        let in_place = input.is_none();
        let shape = Shape { in_place, ..by.shape(Operation::ReduceScatter, 0) };
        let from = input.map(|raw| Side::of(Elements { raw, count: total, of: elements.of.clone() }));
        let input = from.transpose()?.map_or(Side::Nothing, |(side, _)| side);
        let count = if in_place { total } else { counts[self.rank()] };
        let (output, _) = Side::of(Elements { count, ..elements })?;
        let call = Call::new(Owned::ReduceScatter { lens, shape }, input, output).loaded(in_place);
        Ok(Call { reduction: Some(by.reduction), ..call })
    }
}

/// Between two groups the root gives nothing.
fn receiving(call: Call) -> Call {
    let Owned::Even(shape) = call.form else { return call };
    let form = Owned::Even(Shape { in_place: false, ..shape });
    Call { form, input: Side::Nothing, load: false, ..call }
}
