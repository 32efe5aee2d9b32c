//! Reduction operations of the standard and of the program.
//!
//! An operation owns the function that combines two elements, and the elements for which it is defined. It
//! works on packed bytes at any address. The collectives decide on buffers and on the order of ranks.

mod built_in;

use std::fmt;
use std::sync::Arc;

use crate::{Result, fail};
pub use built_in::BuiltIn;
pub use canele_engine::collective::Element;

/// Combines each element of the second bytes into the first; both are packed and of equal length. The flag is
/// true if the second bytes are the first operands. Buffers need not be aligned.
pub use canele_engine::collective::Kernel as Combine;

/// A combining function with captured state ([`Combine`]).
pub type Made = dyn Fn(&mut [u8], &[u8], bool) + Send + Sync;

/// The function that combines elements: a loop of the standard's operations, or a closure for the call.
#[derive(Clone)]
pub enum Kernel {
    /// One of the standard's operations.
    BuiltIn(Combine),
    /// A function of the program.
    Made(Arc<Made>),
}

/// A function of the program, wrapped by the C interface. Its arguments are the first operands, the second
/// operands and results, their number, and the number of their datatype in the C interface.
pub type Function = dyn Fn(&[u8], &mut [u8], usize, usize) + Send + Sync;

/// A reduction operation.
#[derive(Clone)]
pub enum Op {
    /// An operation of the standard.
    BuiltIn(BuiltIn),
    /// An operation of the program.
    User {
        /// True if the operation is commutative.
        commutative: bool,
        /// The function that combines elements.
        function: Arc<Function>,
    },
}

impl Op {
    /// Makes an operation of the program.
    pub fn user(commutative: bool, function: Arc<Function>) -> Self {
        Op::User { commutative, function }
    }

    /// Returns true if the operation is commutative.
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::BuiltIn(op) => !matches!(op, BuiltIn::Replace | BuiltIn::NoOp),
            Op::User { commutative, .. } => *commutative,
        }
    }

    /// Returns the function that reduces contiguous elements of `size` bytes. `datatype` is their number in
    /// the C interface; `element` is their type, if the standard's operations support it.
    ///
    /// # Errors
    /// Fails if the operation is not defined for them.
    pub fn reduction(&self, element: Option<Element>, size: usize, datatype: usize) -> Result<Kernel> {
        match (self, element) {
            (Op::BuiltIn(op), Some(element)) => Ok(Kernel::BuiltIn(op.reduction(element)?)),
            (Op::BuiltIn(op), None) => {
                let (name, takes) = op.text();
                fail!(Operation, "op is {name}, which is for {takes}, not for elements of this datatype");
            }
            (Op::User { commutative, function }, _) => {
                let (swaps, function) = (*commutative, function.clone());
                Ok(Kernel::Made(Arc::new(move |into, from, from_first| {
                    let count = into.len().checked_div(size).unwrap_or(0);
                    if from_first || swaps {
                        function(from, into, count, datatype);
                    } else {
                        // The result must replace the first operands, so the function writes it into a copy
                        // of the second ones.
                        let mut second = Aligned::of(from);
                        function(into, second.bytes(), count, datatype);
                        into.copy_from_slice(second.bytes());
                    }
                })))
            }
        }
    }
}

/// Bytes at an address aligned for every element.
struct Aligned {
    blocks: Vec<u128>,
    len: usize,
}

impl Aligned {
    fn of(bytes: &[u8]) -> Self {
        let mut aligned = Self { blocks: vec![0; bytes.len().div_ceil(size_of::<u128>())], len: bytes.len() };
        aligned.bytes().copy_from_slice(bytes);
        aligned
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.blocks)[..self.len]
    }
}

impl Kernel {
    /// Combines each element of `from` into `into`; the first operands are those of `from` if `from_first`.
    #[inline]
    pub fn combine(&self, into: &mut [u8], from: &[u8], from_first: bool) {
        match self {
            Kernel::BuiltIn(combine) => combine(into, from, from_first),
            Kernel::Made(combine) => combine(into, from, from_first),
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::BuiltIn(op) => f.write_str(op.text().0),
            Op::User { commutative: true, .. } => {
                f.write_str("an operation of the program, which is commutative")
            }
            Op::User { commutative: false, .. } => {
                f.write_str("an operation of the program, which is not commutative")
            }
        }
    }
}

#[cfg(test)]
mod tests;
