//! Collectives (MPI 5.0, chapter 6): each function here is exported in three forms.

mod arguments;
mod even;
mod neighbours;
mod reduce;
mod uneven;

use canele_mpi::Result;
use canele_mpi::collective::Call;

use crate::call_cache::CallCache;
use crate::error::Outcome;
use crate::handle::{MPI_Comm, MPI_Request};
use crate::point::start::give;
use crate::pointer::Out;
use crate::requests::publish;

/// Does a collective.
#[inline]
pub(crate) fn run(comm: MPI_Comm, call: Result<Call>) -> Outcome {
    let mut call = call?;
    Ok(call.run(comm.get()?)?)
}

/// Does one that was perhaps made before with the same arguments.
#[inline]
pub(crate) fn run_cached<const N: usize>(
    comm: MPI_Comm,
    cache: &CallCache<N>,
    words: [usize; N],
    make: impl FnOnce() -> Result<Call>,
) -> Outcome {
    cache.with(words, make, |call| Ok(call.run(comm.get()?)?))
}

/// Starts it.
pub(crate) fn start(comm: MPI_Comm, call: Result<Call>, request: Out<MPI_Request>) -> Outcome {
    give(request, Some(call?.start(&comm.share()?)?))
}

/// Makes it a request that can be started.
pub(crate) fn persist(comm: MPI_Comm, call: Result<Call>, request: Out<MPI_Request>) -> Outcome {
    let handle = publish(call?.persist(&comm.share()?)?)?;
    Ok(request.set(handle, "request")?)
}
