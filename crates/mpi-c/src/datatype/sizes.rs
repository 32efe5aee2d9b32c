//! Sizes and bounds of datatypes (MPI 5.0, §5.1.5 to §5.1.8).

use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Out;
use crate::width::OutCount;

/// `MPI_Type_size`.
pub fn type_size(datatype: MPI_Datatype, size: OutCount) -> CallResult {
    Ok(size.set(Some(datatype.get()?.size() as i64), "size")?)
}

/// `MPI_Type_size_x`.
pub fn type_size_x(datatype: MPI_Datatype, size: Out<i64>) -> CallResult {
    Ok(size.set(datatype.get()?.size() as i64, "size")?)
}

// `MPI_Aint` and `MPI_Count` are the same type, so both forms differ only by name.

/// `MPI_Type_get_extent`.
pub fn type_get_extent(datatype: MPI_Datatype, lb: Out<i64>, extent: Out<i64>) -> CallResult {
    extents(datatype, lb, extent)
}

/// `MPI_Type_get_extent_x`.
pub fn type_get_extent_x(datatype: MPI_Datatype, lb: Out<i64>, extent: Out<i64>) -> CallResult {
    extents(datatype, lb, extent)
}

fn extents(datatype: MPI_Datatype, lb: Out<i64>, extent: Out<i64>) -> CallResult {
    let datatype = datatype.get()?;
    lb.set(datatype.lower_bound() as i64, "lb")?;
    Ok(extent.set(datatype.extent() as i64, "extent")?)
}

/// `MPI_Type_get_true_extent`.
pub fn type_get_true_extent(datatype: MPI_Datatype, true_lb: Out<i64>, true_extent: Out<i64>) -> CallResult {
    true_extents(datatype, true_lb, true_extent)
}

/// `MPI_Type_get_true_extent_x`.
pub fn type_get_true_extent_x(
    datatype: MPI_Datatype,
    true_lb: Out<i64>,
    true_extent: Out<i64>,
) -> CallResult {
    true_extents(datatype, true_lb, true_extent)
}

fn true_extents(datatype: MPI_Datatype, true_lb: Out<i64>, true_extent: Out<i64>) -> CallResult {
    let datatype = datatype.get()?;
    true_lb.set(datatype.true_lower_bound() as i64, "true_lb")?;
    Ok(true_extent.set(datatype.true_extent() as i64, "true_extent")?)
}
