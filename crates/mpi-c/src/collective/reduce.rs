//! Reductions.

use core::ffi::c_int;

use canele_mem::buffer::Raw;
use canele_mpi::collective::{Call, Reducing, Root};
use canele_mpi::{Comm, ElementsMut, Result};

use super::arguments::{is_root, one, root as root_of};
use crate::buffer::memory;
use crate::constants::MPI_IN_PLACE;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Op, ObjectHandle};
use crate::operations::reduction;
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::{Count, Counts};

/// Returns both buffers of a reduction: the input's memory, none in place, and the result's elements.
fn buffers(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> Result<(Option<Raw>, ElementsMut)> {
    let result = one(recvbuf, count, datatype)?;
    let input = (sendbuf != MPI_IN_PLACE).then(|| memory(sendbuf, result.count, &result.of));
    Ok((input.transpose()?, result))
}

/// `MPI_Reduce`.
pub fn reduce(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    root: c_int,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let root = root_of(comm, root)?;
    if root == Root::Elsewhere {
        return comm.nothing_call("MPI_Reduce");
    }
    let by = reduction(op, datatype)?;
    if root == Root::Here {
        return comm.reduce_here(None, one(recvbuf, count, datatype)?, by, root);
    }
    if is_root(comm, root) {
        let (input, result) = buffers(sendbuf, recvbuf, count, datatype)?;
        return comm.reduce_here(input, result, by, root);
    }
    // The result's buffer is ignored on other ranks.
    comm.reduce_to(root, one(sendbuf, count, datatype)?, by)
}

/// `MPI_Allreduce`.
pub fn allreduce(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<Call> {
    all(sendbuf, recvbuf, count, (datatype, op), comm, Comm::allreduce)
}

/// `MPI_Scan`.
pub fn scan(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<Call> {
    all(sendbuf, recvbuf, count, (datatype, op), one_group(comm)?, Comm::scan)
}

/// `MPI_Exscan`.
pub fn exscan(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<Call> {
    all(sendbuf, recvbuf, count, (datatype, op), one_group(comm)?, Comm::exscan)
}

/// Fails for an intercommunicator, on which scans are not defined.
fn one_group(comm: MPI_Comm) -> Result<MPI_Comm> {
    if comm.get()?.is_inter() {
        canele_mpi::fail!(Communicator, "comm is an intercommunicator: scans are of one group");
    }
    Ok(comm)
}

fn all(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    count: Count,
    (datatype, op): (MPI_Datatype, MPI_Op),
    comm: MPI_Comm,
    call: impl FnOnce(&Comm, Option<Raw>, ElementsMut, Reducing) -> Result<Call>,
) -> Result<Call> {
    let comm = comm.get()?;
    let by = reduction(op, datatype)?;
    let (input, result) = buffers(sendbuf, recvbuf, count, datatype)?;
    call(comm, input, result, by)
}

/// `MPI_Reduce_scatter`.
pub fn reduce_scatter(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let counts = recvcounts.0.read(comm.size(), "recvcounts")?;
    let counts: Vec<usize> =
        counts.into_iter().map(|value| Count { value, large: true }.get()).collect::<Result<_>>()?;
    scatter("MPI_Reduce_scatter", (sendbuf, recvbuf), &counts, (datatype, op), comm)
}

/// `MPI_Reduce_scatter_block`.
pub fn reduce_scatter_block(
    sendbuf: SendBuffer,
    recvbuf: RecvBuffer,
    recvcount: Count,
    datatype: MPI_Datatype,
    op: MPI_Op,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let counts = vec![recvcount.get()?; comm.size()];
    scatter("MPI_Reduce_scatter_block", (sendbuf, recvbuf), &counts, (datatype, op), comm)
}

fn scatter(
    name: &'static str,
    (sendbuf, recvbuf): (SendBuffer, RecvBuffer),
    counts: &[usize],
    (datatype, op): (MPI_Datatype, MPI_Op),
    comm: &Comm,
) -> Result<Call> {
    let by = reduction(op, datatype)?;
    let of = datatype.share()?;
    let total = counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n));
    let in_place = sendbuf == MPI_IN_PLACE;
    let count = if in_place { total } else { counts[comm.rank()] };
    let raw = memory(recvbuf, count, &of)?;
    let input = if in_place { None } else { Some(memory(sendbuf, total, &of)?) };
    comm.reduce_scatter(name, input, ElementsMut { raw, count, of }, counts, by)
}
