//! Partitioned messages (MPI 5.0, chapter 4).

use core::ffi::c_int;

use canele_mpi::partitioned::{Partitioned, ReadyPartitions};
use canele_mpi::{Class, Error, Result, fail};

use super::{from, start, target, wait};
use crate::buffer::elements;
use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_REQUEST_NULL};
use crate::error::{CallResult, Failed};
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Info, MPI_Request, ObjectHandle};
use crate::pointer::{In, Out, RecvBuffer, SendBuffer};
use crate::requests::requests_with;

/// Returns the number of partitions and of all elements.
fn total(partitions: c_int, count: i64) -> Result<(usize, usize)> {
    let number = |value: i64, what: &str| {
        let text = || format!("{what} is {value}: it must not be negative");
        usize::try_from(value).map_err(|_| Error::new(Class::Count, text()))
    };
    let (parts, each) = (number(i64::from(partitions), "partitions")?, number(count, "count")?);
    match parts.checked_mul(each) {
        Some(total) => Ok((parts, total)),
        None => fail!(Count, "{parts} partitions of {each} elements are more than can be counted"),
    }
}

/// `MPI_Psend_init`.
pub fn psend_init(
    buf: SendBuffer,
    partitions: c_int,
    count: i64,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    _info: MPI_Info,
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = comm.share()?;
    let (parts, total) = total(partitions, count)?;
    let elements = elements(buf, total, datatype)?;
    let to = target(&comm, dest, tag)?;
    // A failed initialisation must not count as one.
    request.slice(1, "request")?;
    start::give(request, Some(comm.psend_init(to, parts, elements)?))
}

/// `MPI_Precv_init`.
pub fn precv_init(
    buf: RecvBuffer,
    partitions: c_int,
    count: i64,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    _info: MPI_Info,
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = comm.share()?;
    let (parts, total) = total(partitions, count)?;
    let elements = elements(buf, total, datatype)?;
    // Wildcards are forbidden (MPI 5.0, §4.2.1); on the flow of collectives they would match other messages.
    if source == MPI_ANY_SOURCE {
        fail!(Rank, "source is MPI_ANY_SOURCE: a partitioned receive names its sender");
    }
    if tag == MPI_ANY_TAG {
        fail!(Tag, "tag is MPI_ANY_TAG: a partitioned receive names its tag");
    }
    let from = from(&comm, source, tag)?.and_then(|from| from.source.zip(from.tag));
    request.slice(1, "request")?;
    start::give(request, Some(comm.precv_init(from, parts, elements)?))
}

/// Marks partitions of a send as ready, one after the other.
fn ready(
    request: MPI_Request,
    mut partitions: impl Iterator<Item = c_int>,
    function: &str,
) -> Result<(), Failed> {
    // The request is checked even if there are no partitions.
    let mut partition = partitions.next();
    loop {
        match mark_ready(request, partition)? {
            Ok(None) => {}
            // No lock is held, so ready partitions are sent at once.
            Ok(Some(ready)) => ready.send().map_err(|error| wait::raise_of(request, function, error))?,
            Err(error) => return Err(wait::raise_of(request, function, error)),
        }
        partition = partitions.next();
        if partition.is_none() {
            return Ok(());
        }
    }
}

/// Marks a partition as ready, if there is one, under the lock of the table, which keeps the operation alive.
/// The inner error is raised on the operation.
#[inline]
fn mark_ready(request: MPI_Request, partition: Option<c_int>) -> Result<Result<Option<ReadyPartitions>>> {
    let mut requests = requests_with(request)?;
    let Some(Partitioned::Send(send)) = requests.get(request)?.partitioned() else {
        return Ok(Err(no_send()));
    };
    let Some(partition) = partition else { return Ok(Ok(None)) };
    Ok(usize::try_from(partition).map_err(|_| negative(partition)).and_then(|part| send.mark_ready(part)))
}

#[cold]
fn no_send() -> Box<Error> {
    Error::new(Class::Request, "the request is no partitioned send")
}

fn negative(partition: c_int) -> Box<Error> {
    Error::new(Class::Argument, format!("partition is {partition}: it must not be negative"))
}

/// `MPI_Pready`.
pub fn pready(partition: c_int, request: MPI_Request) -> CallResult {
    ready(request, std::iter::once(partition), "MPI_Pready")
}

/// `MPI_Pready_range`.
pub fn pready_range(partition_low: c_int, partition_high: c_int, request: MPI_Request) -> CallResult {
    ready(request, partition_low..=partition_high, "MPI_Pready_range")
}

/// `MPI_Pready_list`.
pub fn pready_list(length: c_int, array_of_partitions: In<c_int>, request: MPI_Request) -> CallResult {
    let Ok(length) = usize::try_from(length) else {
        fail!(Count, "length is {length}: it must not be negative");
    };
    let list = array_of_partitions.slice(length, "array_of_partitions")?;
    ready(request, list.iter().copied(), "MPI_Pready_list")
}

/// `MPI_Parrived`.
pub fn parrived(request: MPI_Request, partition: c_int, flag: Out<c_int>) -> CallResult {
    if request == MPI_REQUEST_NULL {
        return Ok(flag.set(1, "flag")?);
    }
    let found = match requests_with(request)?.get(request)?.partitioned() {
        Some(Partitioned::Receive(receive)) => Some(receive.clone()),
        _ => None,
    };
    let look = || match found {
        Some(receive) => receive.has_arrived(usize::try_from(partition).map_err(|_| negative(partition))?),
        _ => fail!(Request, "the request is no partitioned receive"),
    };
    let arrived = look().map_err(|error| wait::raise_of(request, "MPI_Parrived", error))?;
    Ok(flag.set(c_int::from(arrived), "flag")?)
}
