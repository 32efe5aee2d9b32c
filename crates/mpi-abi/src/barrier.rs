//! placeholder until collectives are here
use crate::error::Outcome;
use crate::handle::MPI_Comm;
use canele_mpi_macros::mpi;
#[mpi]
fn MPI_Barrier(comm: MPI_Comm) -> Outcome {
    Ok(comm.get()?.barrier()?)
}
