//! What the process runs on (MPI 5.0, §9.1.3).

use std::sync::Arc;

use canele_mpi::info::Info;

use crate::error::Outcome;
use crate::handle::MPI_Info;
use crate::pointer::Out;

/// A kind of hardware is a key; its value says whether the process may use one of that kind only.
pub fn get_hw_resource_info(hw_info: Out<MPI_Info>) -> Outcome {
    let processors = canele_sys::topology::allowed().map_or(0, |allowed| allowed.len());
    let all = Info::new();
    all.set("canele://host", "true")?;
    all.set("canele://processor", if processors == 1 { "true" } else { "false" })?;
    Ok(hw_info.set(MPI_Info::new(Arc::new(all))?, "hw_info")?)
}
