//! Predefined datatypes selected by precision, size or parts (MPI 5.0, §6.9.4, §19.1.9).

use core::ffi::c_int;

use canele_mpi::datatype::{Datatype, Family, match_size};
use canele_mpi::fail;

use super::{give, publish};
use crate::constants::{
    MPI_DATATYPE_NULL, MPI_TYPECLASS_COMPLEX, MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL, MPI_UNDEFINED,
    MPIX_TYPECLASS_LOGICAL,
};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Out;

/// Returns a number of digits; none if it is open.
fn digits(value: c_int) -> Option<i64> {
    (value != MPI_UNDEFINED).then_some(value.into())
}

/// `MPI_Type_create_f90_integer`.
pub fn type_create_f90_integer(r: c_int, newtype: Out<MPI_Datatype>) -> CallResult {
    give(newtype, Datatype::f90_integer(r.into())?)
}

/// `MPI_Type_create_f90_real`.
pub fn type_create_f90_real(p: c_int, r: c_int, newtype: Out<MPI_Datatype>) -> CallResult {
    give(newtype, Datatype::f90_real(digits(p), digits(r))?)
}

/// `MPI_Type_create_f90_complex`.
pub fn type_create_f90_complex(p: c_int, r: c_int, newtype: Out<MPI_Datatype>) -> CallResult {
    give(newtype, Datatype::f90_complex(digits(p), digits(r))?)
}

/// `MPI_Type_match_size`.
pub fn type_match_size(typeclass: c_int, size: c_int, datatype: Out<MPI_Datatype>) -> CallResult {
    let family = match typeclass {
        MPIX_TYPECLASS_LOGICAL => Family::Logical,
        MPI_TYPECLASS_INTEGER => Family::Integer,
        MPI_TYPECLASS_REAL => Family::Real,
        MPI_TYPECLASS_COMPLEX => Family::Complex,
        _ => fail!(
            Argument,
            "typeclass is {typeclass}: it must be MPI_TYPECLASS_INTEGER, MPI_TYPECLASS_REAL or MPI_TYPECLASS_COMPLEX"
        ),
    };
    give(datatype, Datatype::basic(match_size(family, size.into())?).clone())
}

/// `MPI_Type_get_value_index`.
pub fn type_get_value_index(
    value_type: MPI_Datatype,
    index_type: MPI_Datatype,
    pair_type: Out<MPI_Datatype>,
) -> CallResult {
    let pair = match Datatype::value_index(&value_type.share()?, &index_type.share()?) {
        Some(pair) => publish(pair)?,
        None => MPI_DATATYPE_NULL,
    };
    Ok(pair_type.set(pair, "pair_type")?)
}
