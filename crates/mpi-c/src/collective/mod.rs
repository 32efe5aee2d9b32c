//! Collectives (MPI 5.0, chapter 6): each function here is exported in three forms.

mod arguments;
pub mod even;
pub mod neighbours;
pub mod reduce;
pub mod uneven;

use canele_mpi::Result;
use canele_mpi::collective::Call;

use crate::cache::CallCache;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Info, MPI_Request, ObjectHandle};
use crate::point::start::give;
use crate::pointer::Out;
use crate::requests::publish;

/// Runs a collective.
#[inline]
pub fn run(comm: MPI_Comm, call: Result<Call>) -> CallResult {
    let mut call = call?;
    Ok(call.run(comm.get()?)?)
}

/// Runs a collective that may be cached for these arguments.
#[inline]
pub fn run_cached<const N: usize>(
    comm: MPI_Comm,
    cache: &CallCache<N>,
    words: [usize; N],
    make: impl FnOnce() -> Result<Call>,
) -> CallResult {
    cache.with(words, make, |call| Ok(call.run(comm.get()?)?))
}

/// Starts a collective.
pub fn start(comm: MPI_Comm, call: Result<Call>, request: Out<MPI_Request>) -> CallResult {
    give(request, Some(call?.start(&comm.share()?)?))
}

/// Makes a persistent request of a collective.
pub fn persist(comm: MPI_Comm, call: Result<Call>, _info: MPI_Info, request: Out<MPI_Request>) -> CallResult {
    let handle = publish(call?.persist(&comm.share()?)?)?;
    Ok(request.set(handle, "request")?)
}
