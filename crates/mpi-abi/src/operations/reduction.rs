//! What the collectives need to reduce elements of a datatype by an operation.

use std::sync::Arc;

use canele_mpi::op::{Kernel, Op};
use canele_mpi::{Result, fail};

use super::Operation;
use super::element::element_of;
use super::program::Typed;
use crate::handle::{MPI_Datatype, MPI_Op};

/// How packed elements are combined.
pub struct Reduction {
    /// What combines them. It keeps what it needs: both handles may be freed.
    pub kernel: Kernel,
    /// Whether the order of two operands does not matter.
    pub commutative: bool,
    /// Bytes of one element, packed.
    pub element_bytes: usize,
}

/// How elements of a datatype are reduced by an operation.
///
/// # Errors
/// One of the handles names nothing; the operation is not defined for the datatype.
pub fn reduction(op: MPI_Op, datatype: MPI_Datatype) -> Result<Reduction> {
    let (operation, of) = (op.get()?, datatype.share()?);
    of.check_committed()?;
    let element_bytes = of.size();
    let (made, element) = match operation {
        Operation::BuiltIn(built_in) => {
            let element = element_of(&of);
            if element.is_none_or(|element| built_in.reduction(element).is_err()) {
                let (name, takes) = built_in.text();
                fail!(Operation, "op is {name}, which is for {takes}, not for elements of {of:?}");
            }
            (Op::BuiltIn(*built_in), element)
        }
        Operation::Program { commutative, function } => {
            let typed = Typed::new(*function, datatype, of);
            let call = move |first: &[u8], second: &mut [u8], count, _| typed.call(first, second, count);
            (Op::user(*commutative, Arc::new(call)), None)
        }
    };
    let kernel = made.reduction(element, element_bytes, datatype.value())?;
    Ok(Reduction { kernel, commutative: operation.is_commutative(), element_bytes })
}
