//! The operations of the standard and the elements for which they are defined.

use canele_engine::collective::Op;

use super::{Combine, Element};
use crate::{Result, fail};

/// The operations of the standard (MPI 5.0, §6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BuiltIn {
    /// The sum; integers wrap around.
    Sum,
    /// The smaller value; −0 is smaller than +0, and a number is preferred to a NaN.
    Min,
    /// The larger value, with the same rules.
    Max,
    /// The product; integers wrap around.
    Prod,
    /// The bits that are set in both.
    BitAnd,
    /// The bits that are set in at least one.
    BitOr,
    /// The bits that are set in exactly one.
    BitXor,
    /// 1 if neither is 0, else 0.
    LogicalAnd,
    /// 1 if at least one is not 0, else 0.
    LogicalOr,
    /// 1 if exactly one is not 0, else 0.
    LogicalXor,
    /// The pair with the smaller value; of equal values, the one with the smaller index.
    MinLoc,
    /// The pair with the larger value; of equal values, the one with the smaller index.
    MaxLoc,
    /// The second operand; only for accumulating in windows.
    Replace,
    /// The first operand; only for accumulating in windows.
    NoOp,
}

impl BuiltIn {
    /// All operations.
    pub const ALL: [BuiltIn; 14] = [
        BuiltIn::Sum,
        BuiltIn::Min,
        BuiltIn::Max,
        BuiltIn::Prod,
        BuiltIn::BitAnd,
        BuiltIn::BitOr,
        BuiltIn::BitXor,
        BuiltIn::LogicalAnd,
        BuiltIn::LogicalOr,
        BuiltIn::LogicalXor,
        BuiltIn::MinLoc,
        BuiltIn::MaxLoc,
        BuiltIn::Replace,
        BuiltIn::NoOp,
    ];

    /// Returns the operation's name in the standard, and the elements for which it is defined.
    pub fn text(self) -> (&'static str, &'static str) {
        let (ordered, arithmetic) =
            ("integers and floating-point numbers", "integers, floating-point and complex numbers");
        let (bits, truth) = ("integers and bytes", "integers and logicals");
        match self {
            BuiltIn::Sum => ("MPI_SUM", arithmetic),
            BuiltIn::Min => ("MPI_MIN", ordered),
            BuiltIn::Max => ("MPI_MAX", ordered),
            BuiltIn::Prod => ("MPI_PROD", arithmetic),
            BuiltIn::BitAnd => ("MPI_BAND", bits),
            BuiltIn::BitOr => ("MPI_BOR", bits),
            BuiltIn::BitXor => ("MPI_BXOR", bits),
            BuiltIn::LogicalAnd => ("MPI_LAND", truth),
            BuiltIn::LogicalOr => ("MPI_LOR", truth),
            BuiltIn::LogicalXor => ("MPI_LXOR", truth),
            BuiltIn::MinLoc => ("MPI_MINLOC", "pairs of a value and an index"),
            BuiltIn::MaxLoc => ("MPI_MAXLOC", "pairs of a value and an index"),
            BuiltIn::Replace => ("MPI_REPLACE", "accumulating in windows, of any elements"),
            BuiltIn::NoOp => ("MPI_NO_OP", "accumulating in windows, of any elements"),
        }
    }

    /// Returns the function that combines these elements in a reduction.
    ///
    /// # Errors
    /// Fails if the operation is not defined for them.
    pub fn reduction(self, element: Element) -> Result<Combine> {
        let (name, takes) = self.text();
        match self.op().map(|op| op.kernel(element)) {
            None => fail!(Operation, "op is {name}, which is for {takes} only"),
            Some(Some(combine)) => Ok(combine),
            Some(None) => fail!(Operation, "op is {name}, which takes {takes}, not {}", element.name()),
        }
    }

    /// Returns the operation of the collectives, if this one reduces.
    fn op(self) -> Option<Op> {
        Some(match self {
            BuiltIn::Sum => Op::Sum,
            BuiltIn::Min => Op::Min,
            BuiltIn::Max => Op::Max,
            BuiltIn::Prod => Op::Prod,
            BuiltIn::BitAnd => Op::BitAnd,
            BuiltIn::BitOr => Op::BitOr,
            BuiltIn::BitXor => Op::BitXor,
            BuiltIn::LogicalAnd => Op::LogicalAnd,
            BuiltIn::LogicalOr => Op::LogicalOr,
            BuiltIn::LogicalXor => Op::LogicalXor,
            BuiltIn::MinLoc => Op::MinLoc,
            BuiltIn::MaxLoc => Op::MaxLoc,
            BuiltIn::Replace | BuiltIn::NoOp => return None,
        })
    }

    /// Returns the function that accumulates these elements into a window, whose element is the first
    /// operand.
    ///
    /// # Errors
    /// Fails if the operation is not defined for them.
    pub fn accumulation(self, element: Element) -> Result<Combine> {
        match self {
            BuiltIn::Replace => Ok(|into, from, from_first| {
                if !from_first {
                    into.copy_from_slice(from);
                }
            }),
            BuiltIn::NoOp => Ok(|into, from, from_first| {
                if from_first {
                    into.copy_from_slice(from);
                }
            }),
            _ => self.reduction(element),
        }
    }
}
