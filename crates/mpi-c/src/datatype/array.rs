//! Parts of arrays (MPI 5.0, §5.1.3, §5.1.4).

use core::ffi::c_int;

use canele_mpi::datatype::{Datatype, Dimension, Distribution, length};
use canele_mpi::{Result, fail};

use super::{give, order, width};
use crate::constants::{
    MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_NONE,
};
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out};
use crate::width::{Counts, Numbers};

/// `MPI_Type_create_subarray`.
pub fn type_create_subarray(
    ndims: c_int,
    array_of_sizes: Counts,
    array_of_subsizes: Counts,
    array_of_starts: Counts,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (length("ndims", ndims.into())?, oldtype.share()?);
    let sizes = array_of_sizes.0.read(n, "array_of_sizes")?;
    let subsizes = array_of_subsizes.0.read(n, "array_of_subsizes")?;
    let starts = array_of_starts.0.read(n, "array_of_starts")?;
    let (width, order) = (width(array_of_sizes.0.is_large()), self::order(order)?);
    give(newtype, Datatype::subarray(width, &sizes, &subsizes, &starts, order, &old)?)
}

/// `MPI_Type_create_darray`.
pub fn type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    array_of_gsizes: Counts,
    array_of_distribs: In<c_int>,
    array_of_dargs: In<c_int>,
    array_of_psizes: In<c_int>,
    order: c_int,
    oldtype: MPI_Datatype,
    newtype: Out<MPI_Datatype>,
) -> CallResult {
    let (n, old) = (length("ndims", ndims.into())?, oldtype.share()?);
    let dimensions = dimensions(n, array_of_gsizes.0, array_of_distribs, array_of_dargs, array_of_psizes)?;
    let (width, order) = (width(array_of_gsizes.0.is_large()), self::order(order)?);
    give(newtype, Datatype::darray(width, size.into(), rank.into(), &dimensions, order, &old)?)
}

/// Returns the dimensions that four arrays describe.
fn dimensions(
    n: usize,
    sizes: Numbers,
    distributions: In<c_int>,
    blocks: In<c_int>,
    processes: In<c_int>,
) -> Result<Vec<Dimension>> {
    let sizes = sizes.read(n, "array_of_gsizes")?;
    let distributions = distributions.slice(n, "array_of_distribs")?;
    let blocks = blocks.slice(n, "array_of_dargs")?;
    let processes = processes.slice(n, "array_of_psizes")?;
    let dimension = |i: usize| {
        Ok(Dimension {
            size: sizes[i],
            distribution: distribution(i, distributions[i])?,
            block: (blocks[i] != MPI_DISTRIBUTE_DFLT_DARG).then_some(blocks[i].into()),
            processes: processes[i].into(),
        })
    };
    (0..n).map(dimension).collect()
}

fn distribution(i: usize, value: c_int) -> Result<Distribution> {
    match value {
        MPI_DISTRIBUTE_NONE => Ok(Distribution::None),
        MPI_DISTRIBUTE_BLOCK => Ok(Distribution::Block),
        MPI_DISTRIBUTE_CYCLIC => Ok(Distribution::Cyclic),
        _ => fail!(
            Argument,
            "array_of_distribs[{i}] is {value}: it must be MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC or MPI_DISTRIBUTE_NONE"
        ),
    }
}
