//! Reduction operations: those of the standard and those of the program.
//!
//! An operation owns what combines two elements, and knows for which elements it is defined. It works on packed bytes, at
//! any address: where they come from and in which order ranks are combined is the business of the collectives.

mod built_in;

use std::fmt;
use std::sync::Arc;

use crate::{Result, fail};
pub use built_in::BuiltIn;
pub use canele_engine::collective::Element;

/// Combines each element of the second bytes into the first, both packed and of one length; the flag says that the second's
/// come first. Buffers need not be aligned.
pub use canele_engine::collective::Kernel as Combine;

/// As [`Combine`], with what it needs to know.
pub type Made = dyn Fn(&mut [u8], &[u8], bool) + Send + Sync;

/// What combines elements: one of the standard's loops, or something made for the call.
#[derive(Clone)]
pub enum Kernel {
    /// One of the standard's operations.
    BuiltIn(Combine),
    /// A function of the program.
    Made(Arc<Made>),
}

/// A function of the program, as the edge wraps it: the first operands, the second ones, which become the results, how many
/// of them, and the number by which the edge knows their datatype.
pub type Function = dyn Fn(&[u8], &mut [u8], usize, usize) + Send + Sync;

/// A reduction operation.
#[derive(Clone)]
pub enum Op {
    /// One of the standard.
    BuiltIn(BuiltIn),
    /// One of the program.
    User {
        /// Whether the order of two operands does not matter.
        commutative: bool,
        /// What combines them.
        function: Arc<Function>,
    },
}

impl Op {
    /// An operation of the program.
    pub fn user(commutative: bool, function: Arc<Function>) -> Self {
        Op::User { commutative, function }
    }

    /// Whether the order of two operands does not matter.
    pub fn is_commutative(&self) -> bool {
        match self {
            Op::BuiltIn(op) => !matches!(op, BuiltIn::Replace | BuiltIn::NoOp),
            Op::User { commutative, .. } => *commutative,
        }
    }

    /// What reduces contiguous elements, of `size` bytes each, whose datatype the edge knows as `datatype`; `element` says
    /// what they are, if each is one that the standard's operations know.
    ///
    /// # Errors
    /// The operation is not defined for them.
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
                        // The result is to be where the first operands are: it is made in a copy of the second.
                        let mut second = Aligned::of(from);
                        function(into, second.bytes(), count, datatype);
                        into.copy_from_slice(second.bytes());
                    }
                })))
            }
        }
    }
}

/// Bytes at an address that suits every element.
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
    /// Combines each element of `from` into `into`; `from_first` says that `from`'s come first.
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
