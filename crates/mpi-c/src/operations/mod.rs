//! Reduction operations as C programs make and use them (MPI 5.0, §6.9).

mod element;
mod program;
mod reduction;

use core::ffi::c_int;
use std::sync::{Arc, OnceLock};

use canele_mem::buffer::Readable;
use canele_mpi::fail;
use canele_mpi::op::{BuiltIn, Op};

pub use element::element_of;
pub use program::{
    Language, OperationCaller, ProgramFunction, UserFunction, UserFunctionLarge, UserFunctionX,
};
pub use reduction::{local_reduction, reduction};

use crate::buffer::data;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_Op, ObjectHandle};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::Count;

/// The object of an operation's handle.
pub enum OpObject {
    /// A predefined operation.
    BuiltIn(BuiltIn),
    /// A user-defined operation.
    Program {
        /// True if the operation is commutative.
        commutative: bool,
        /// The function that combines elements.
        function: ProgramFunction,
        /// The function's language if it is not C; it may be set after the creation.
        language: OnceLock<Language>,
    },
}

impl OpObject {
    /// Sets the language of the program's function, once.
    pub fn set_language(&self, of: Language) {
        if let Self::Program { language, .. } = self {
            let _ = language.set(of);
        }
    }

    /// Returns true if the operation is commutative.
    pub fn is_commutative(&self) -> bool {
        match self {
            Self::BuiltIn(op) => Op::BuiltIn(*op).is_commutative(),
            Self::Program { commutative, .. } => *commutative,
        }
    }
}

/// Assigns the predefined operations to their handles.
pub(crate) fn predefine() {
    for (handle, op) in [
        (MPI_SUM, BuiltIn::Sum),
        (MPI_MIN, BuiltIn::Min),
        (MPI_MAX, BuiltIn::Max),
        (MPI_PROD, BuiltIn::Prod),
        (MPI_BAND, BuiltIn::BitAnd),
        (MPI_BOR, BuiltIn::BitOr),
        (MPI_BXOR, BuiltIn::BitXor),
        (MPI_LAND, BuiltIn::LogicalAnd),
        (MPI_LOR, BuiltIn::LogicalOr),
        (MPI_LXOR, BuiltIn::LogicalXor),
        (MPI_MINLOC, BuiltIn::MinLoc),
        (MPI_MAXLOC, BuiltIn::MaxLoc),
        (MPI_REPLACE, BuiltIn::Replace),
        (MPI_NO_OP, BuiltIn::NoOp),
    ] {
        handle.fix(Arc::new(OpObject::BuiltIn(op)));
    }
}

pub(crate) fn create(function: Option<ProgramFunction>, commute: c_int, op: Out<MPI_Op>) -> CallResult {
    let Some(function) = function else {
        fail!(Argument, "user_fn is a null pointer: a function is needed");
    };
    crate::fortran::prepare_if_loaded();
    let made = OpObject::Program { commutative: commute != 0, function, language: OnceLock::new() };
    Ok(op.set(MPI_Op::new(Arc::new(made))?, "op")?)
}

/// `MPI_Op_create`.
pub fn op_create(user_fn: Option<UserFunction>, commute: c_int, op: Out<MPI_Op>) -> CallResult {
    create(user_fn.map(ProgramFunction::Small), commute, op)
}

/// `MPI_Op_create_c`.
pub fn op_create_c(user_fn: Option<UserFunctionLarge>, commute: c_int, op: Out<MPI_Op>) -> CallResult {
    create(user_fn.map(ProgramFunction::Large), commute, op)
}

/// `MPI_Op_free`.
pub fn op_free(op: Out<MPI_Op>) -> CallResult {
    op.get("op")?.free()?;
    Ok(op.set(MPI_OP_NULL, "op")?)
}

/// `MPI_Op_commutative`.
pub fn op_commutative(op: MPI_Op, commute: Out<c_int>) -> CallResult {
    Ok(commute.set(c_int::from(op.get()?.is_commutative()), "commute")?)
}

/// `MPI_Reduce_local`.
pub fn reduce_local(
    inbuf: SendBuffer,
    inoutbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
) -> CallResult {
    for (name, buffer) in [("inbuf", inbuf), ("inoutbuf", inoutbuf.cast_const())] {
        if buffer == MPI_IN_PLACE {
            fail!(Buffer, "{name} is MPI_IN_PLACE: MPI_Reduce_local needs two buffers");
        }
    }
    let kernel = local_reduction(op, datatype)?.reduction;
    let (first, mut into) = (data(inbuf, count, datatype)?, data(inoutbuf, count, datatype)?);
    let len = first.of.total_bytes(first.count)?;
    if len == 0 {
        return Ok(());
    }
    if core::ptr::eq(inbuf, inoutbuf) {
        fail!(Buffer, "inbuf and inoutbuf are the same memory");
    }
    if first.of.is_contiguous() {
        kernel.combine(into.raw.bytes_mut(0, len), first.raw.bytes(0, len), true);
    } else {
        let (mut one, mut other) = (vec![0; len], vec![0; len]);
        first.of.pack(&first.raw, first.count, 0, &mut one);
        into.of.pack(&into.raw, into.count, 0, &mut other);
        kernel.combine(&mut other, &one, true);
        into.of.unpack(&mut into.raw, into.count, 0, &other);
    }
    Ok(())
}
