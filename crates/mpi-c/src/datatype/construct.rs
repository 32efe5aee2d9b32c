//! The constructors of derived datatypes (MPI 5.0, §5.1.2, §5.1.7, §5.1.10).

use canele_mpi::datatype::{Datatype, Width};
use canele_mpi::fail;

use super::{give, width};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out};
use crate::width::NumberSlice::{Large, Small};
use crate::width::{Count, Counts};

/// `MPI_Type_contiguous`.
pub fn type_contiguous(count: Count, oldtype: MPI_Datatype, newtype: Out<MPI_Datatype>) -> CallResult {
    let old = oldtype.share()?;
    give(newtype, Datatype::contiguous(width(count.large), count.get()? as i64, &old)?)
}

/// `MPI_Type_vector`.
pub fn type_vector(
    count: Count,
    blocklength: Count,
    stride: Count,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (old, width) = (oldtype.share()?, width(count.large));
    give(newtype, Datatype::vector(width, count.get()? as i64, blocklength.value, stride.value, &old)?)
}

/// `MPI_Type_create_hvector`.
pub fn type_create_hvector(
    count: Count,
    blocklength: Count,
    stride: i64,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (old, width) = (oldtype.share()?, width(count.large));
    give(newtype, Datatype::hvector(width, count.get()? as i64, blocklength.value, stride, &old)?)
}

/// `MPI_Type_indexed`.
pub fn type_indexed(
    count: Count,
    array_of_blocklengths: Counts,
    array_of_displacements: Counts,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (count.get()?, oldtype.share()?);
    let lengths = array_of_blocklengths.0.slice(n, "array_of_blocklengths")?;
    let places = array_of_displacements.0;
    let what = "array_of_displacements";
    let made = match (lengths, places.slice(n, what)?) {
        (Small(lengths), Small(places)) => Datatype::indexed(Width::Int, lengths, places, &old)?,
        (Large(lengths), Large(places)) => Datatype::indexed(Width::Large, lengths, places, &old)?,
        (Small(_), Large(_)) | (Large(_), Small(_)) => {
            fail!(Internal, "{what} has another width than the lengths")
        }
    };
    give(newtype, made)
}

/// `MPI_Type_create_hindexed`.
pub fn type_create_hindexed(
    count: Count,
    array_of_blocklengths: Counts,
    array_of_displacements: In<i64>,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (count.get()?, oldtype.share()?);
    let places = array_of_displacements.slice(n, "array_of_displacements")?;
    let made = match array_of_blocklengths.0.slice(n, "array_of_blocklengths")? {
        Small(lengths) => Datatype::hindexed(Width::Int, lengths, places, &old)?,
        Large(lengths) => Datatype::hindexed(Width::Large, lengths, places, &old)?,
    };
    give(newtype, made)
}

/// `MPI_Type_create_indexed_block`.
pub fn type_create_indexed_block(
    count: Count,
    blocklength: Count,
    array_of_displacements: Counts,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (count.get()?, oldtype.share()?);
    let made = match array_of_displacements.0.slice(n, "array_of_displacements")? {
        Small(places) => Datatype::indexed_block(Width::Int, blocklength.value, places, &old)?,
        Large(places) => Datatype::indexed_block(Width::Large, blocklength.value, places, &old)?,
    };
    give(newtype, made)
}

/// `MPI_Type_create_hindexed_block`.
pub fn type_create_hindexed_block(
    count: Count,
    blocklength: Count,
    array_of_displacements: In<i64>,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (count.get()?, oldtype.share()?);
    let places = array_of_displacements.slice(n, "array_of_displacements")?;
    give(newtype, Datatype::hindexed_block(width(count.large), blocklength.value, places, &old)?)
}

/// `MPI_Type_create_struct`.
pub fn type_create_struct(
    count: Count,
    array_of_blocklengths: Counts,
    array_of_displacements: In<i64>,
    array_of_types: In<MPI_Datatype>,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let n = count.get()?;
    let lengths = array_of_blocklengths.0.slice(n, "array_of_blocklengths")?;
    let places = array_of_displacements.slice(n, "array_of_displacements")?;
    let types = array_of_types.slice(n, "array_of_types")?.iter();
    let types = types.map(|handle| handle.share()).collect::<canele_mpi::Result<Vec<_>>>()?;
    let made = match lengths {
        Small(lengths) => Datatype::structure(Width::Int, lengths, places, &types)?,
        Large(lengths) => Datatype::structure(Width::Large, lengths, places, &types)?,
    };
    give(newtype, made)
}

/// `MPI_Type_create_resized`.
pub fn type_create_resized(
    oldtype: MPI_Datatype,
    lb: i64,
    extent: i64,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    give(newtype, Datatype::resized(Width::Int, &oldtype.share()?, lb, extent)?)
}

/// `MPI_Type_create_resized_c`.
pub fn type_create_resized_c(
    oldtype: MPI_Datatype,
    lb: i64,
    extent: i64,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    give(newtype, Datatype::resized(Width::Large, &oldtype.share()?, lb, extent)?)
}
