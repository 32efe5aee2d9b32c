//! Reductions of datatypes by operations, for the collectives.

use std::sync::Arc;

use canele_engine::collective::Reduction;
use canele_mpi::collective::Reducing;
use canele_mpi::op::{Kernel, Op};
use canele_mpi::{Result, fail};

use super::OpObject;
use super::element::element_of;
use super::program::Typed;
use crate::handle::{MPI_Datatype, MPI_Op, ObjectHandle};

/// Returns the reduction of a datatype's elements by an operation.
///
/// # Errors
/// Fails if a handle is invalid or the operation is not defined for the datatype.
pub fn reduction(op: MPI_Op, datatype: MPI_Datatype) -> Result<Reducing> {
    reduction_by(op, datatype, |typed| typed)
}

/// Returns the reduction for elements of this process alone; an exception of the program's function reaches
/// the caller.
///
/// # Errors
/// Fails like [`reduction`].
pub fn local_reduction(op: MPI_Op, datatype: MPI_Datatype) -> Result<Reducing> {
    reduction_by(op, datatype, Typed::which_may_throw)
}

fn reduction_by(op: MPI_Op, datatype: MPI_Datatype, of_program: fn(Typed) -> Typed) -> Result<Reducing> {
    let (operation, of) = (op.get()?, datatype.share()?);
    of.check_committed()?;
    let element_bytes = of.size();
    let (made, element) = match operation {
        OpObject::BuiltIn(built_in) => {
            let element = element_of(&of);
            if element.is_none_or(|element| built_in.reduction(element).is_err()) {
                let (name, takes) = built_in.text();
                fail!(Operation, "op is {name}, which is for {takes}, not for elements of {of:?}");
            }
            (Op::BuiltIn(*built_in), element)
        }
        OpObject::Program { commutative, function, language } => {
            let function = language.get().map_or_else(|| function.clone(), |of| function.in_language(*of));
            let typed = of_program(Typed::new(function, datatype, of));
            let call = move |first: &[u8], second: &mut [u8], count, _| typed.call(first, second, count);
            (Op::user(*commutative, Arc::new(call)), None)
        }
    };
    let kernel = made.reduction(element, element_bytes, datatype.value())?;
    let reduction = match kernel {
        Kernel::BuiltIn(kernel) => Reduction::from(kernel),
        Kernel::Made(kernel) => Reduction::from(kernel),
    };
    let name = match operation {
        OpObject::BuiltIn(built_in) => built_in.text().0,
        OpObject::Program { .. } => "of the program",
    };
    Ok(Reducing { reduction, name, commutative: operation.is_commutative(), element: element_bytes })
}
