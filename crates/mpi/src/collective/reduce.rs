//! Reductions: reduce, allreduce, reduce_scatter, scan, exscan.

use std::sync::Arc;

use canele_engine::collective::{Operation, Reduction, Root, Shape};
use canele_mem::buffer::Raw;

use super::call::{Call, OwnedSpec};
use super::check::Description;
use super::side::{Side, check_result};
use crate::Result;
use crate::comm::Comm;
use crate::data::{Elements, ElementsMut};
use crate::datatype::Datatype;

/// An operation on elements of a datatype.
#[derive(Clone)]
pub struct Reducing {
    /// The function that combines packed elements.
    pub reduction: Reduction,
    /// The operation's name; all user-defined operations share one name.
    pub name: &'static str,
    /// True if the operation is commutative.
    pub commutative: bool,
    /// Size of a packed element in bytes; an element is never split.
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
    /// Makes the call of a reduction; `elements` gives type and count of both buffers, and `input` is none in
    /// place.
    fn reduction(
        &self,
        operation: Operation,
        input: Option<Raw>,
        elements: ElementsMut,
        by: Reducing,
    ) -> Result<Call> {
        check_result(input.as_ref(), &elements)?;
        let describe = |call: Description| call.elements(&elements).reducing(&by);
        let description = match operation {
            Operation::Reduce(root) => {
                self.describe("MPI_Reduce", |call| describe(call).root(root, self.rank()))
            }
            Operation::Allreduce => self.describe("MPI_Allreduce", describe),
            Operation::Scan => self.describe("MPI_Scan", describe),
            _ => self.describe("MPI_Exscan", describe),
        };
        let from = input.map(|raw| given(raw, elements.count, &elements.of)).transpose()?;
        let (output, bytes) = Side::of(elements)?;
        let shape = Shape { in_place: from.is_none(), ..by.shape(operation, bytes) };
        // An exclusive scan leaves the output of the first rank unchanged.
        let load = shape.in_place || operation == Operation::Exscan && output.is_packed();
        let call = Call::new(OwnedSpec::Even(shape), from.unwrap_or(Side::NOTHING), output)
            .loaded(load)
            .described(description);
        Ok(Call { reduction: Some(by.reduction), ..call })
    }

    /// `MPI_Reduce` at the root; `elements` describes the result. `input` is none in place and on an
    /// intercommunicator.
    ///
    /// # Errors
    /// Fails if there is no such root.
    pub fn reduce_here(
        &self,
        input: Option<Raw>,
        elements: ElementsMut,
        by: Reducing,
        root: Root,
    ) -> Result<Call> {
        self.role(root)?;
        let call = self.reduction(Operation::Reduce(root), input, elements, by)?;
        Ok(if self.is_inter() { receiving(call) } else { call })
    }

    /// `MPI_Reduce` at a rank other than the root.
    ///
    /// # Errors
    /// Fails if there is no such root.
    pub fn reduce_to(&self, root: Root, elements: Elements, by: Reducing) -> Result<Call> {
        self.role(root)?;
        let describe = |call: Description| call.elements(&elements).reducing(&by).root(root, self.rank());
        let description = self.describe("MPI_Reduce", describe);
        let (input, bytes) = Side::of(elements)?;
        let spec = OwnedSpec::Even(by.shape(Operation::Reduce(root), bytes));
        let call = Call::new(spec, input, Side::NOTHING).described(description);
        Ok(Call { reduction: Some(by.reduction), ..call })
    }

    /// `MPI_Allreduce`.
    ///
    /// # Errors
    /// Fails on too many elements.
    pub fn allreduce(&self, input: Option<Raw>, elements: ElementsMut, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Allreduce, input, elements, by)
    }

    /// `MPI_Scan`.
    ///
    /// # Errors
    /// Fails on too many elements.
    pub fn scan(&self, input: Option<Raw>, elements: ElementsMut, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Scan, input, elements, by)
    }

    /// `MPI_Exscan`.
    ///
    /// # Errors
    /// Fails on too many elements.
    pub fn exscan(&self, input: Option<Raw>, elements: ElementsMut, by: Reducing) -> Result<Call> {
        self.reduction(Operation::Exscan, input, elements, by)
    }

    /// `MPI_Reduce_scatter` or `MPI_Reduce_scatter_block`, according to `name`, with a count for each rank.
    /// In place, the buffer begins with the elements of all ranks.
    ///
    /// # Errors
    /// Fails on too many elements.
    pub fn reduce_scatter(
        &self,
        name: &'static str,
        input: Option<Raw>,
        elements: ElementsMut,
        counts: &[usize],
        by: Reducing,
    ) -> Result<Call> {
        check_result(input.as_ref(), &elements)?;
        let describe = |call: Description| call.counts(counts, &elements.of).reducing(&by);
        let description = self.describe(name, describe);
        let lens = counts.iter().map(|n| elements.of.total_bytes(*n)).collect::<Result<Vec<_>>>()?;
        let total = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
        // Equal blocks need no list of lengths, so their schedule is kept.
        let even = lens.first().copied().filter(|len| lens.iter().all(|other| other == len));
        let in_place = input.is_none();
        let shape = Shape { in_place, ..by.shape(Operation::ReduceScatter, even.unwrap_or(0)) };
        let from = input.map(|raw| given(raw, total, &elements.of)).transpose()?;
        let input = from.unwrap_or(Side::NOTHING);
        let count = if in_place { total } else { counts[self.rank()] };
        let (output, _) = Side::of(ElementsMut { count, ..elements })?;
        let spec = match even {
            Some(_) => OwnedSpec::Even(shape),
            None => OwnedSpec::ReduceScatter { lens, shape },
        };
        let call = Call::new(spec, input, output).loaded(in_place).described(description);
        Ok(Call { reduction: Some(by.reduction), ..call })
    }
}

/// Returns the side of the caller's input elements.
fn given(raw: Raw, count: usize, of: &Arc<Datatype>) -> Result<Side<Raw>> {
    Ok(Side::of(Elements { raw, count, of: of.clone() })?.0)
}

/// Clears the in-place flag, since the root between two groups gives no elements.
fn receiving(mut call: Call) -> Call {
    if let OwnedSpec::Even(shape) = &mut call.spec {
        shape.in_place = false;
        (call.sides.input, call.sides.load) = (Side::NOTHING, false);
    }
    call
}
