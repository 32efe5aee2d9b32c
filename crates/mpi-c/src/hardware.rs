//! The hardware of the process (MPI 5.0, §9.1.3).

use std::sync::Arc;

use canele_mpi::split_type::hardware_info;

use crate::error::CallResult;
use crate::handle::{MPI_Info, ObjectHandle};
use crate::pointer::Out;

/// `MPI_Get_hw_resource_info`.
pub fn get_hw_resource_info(hw_info: Out<MPI_Info>) -> CallResult {
    Ok(hw_info.set(MPI_Info::new(Arc::new(hardware_info()?))?, "hw_info")?)
}
