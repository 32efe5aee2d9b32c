//! The buffers, lists and roots of collectives, as C programs pass them.

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::collective::{Root, Scattered, TypedPart, span};
use canele_mpi::datatype::Datatype;
use canele_mpi::{Comm, Elements, Result, fail};

use crate::buffer::{UserBuffer, check_is_of_host, memory};
use crate::constants::{MPI_IN_PLACE, MPI_PROC_NULL, MPI_ROOT};
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::width::{Count, Counts, Displacements};

/// Returns contiguous elements.
pub(super) fn one<B: UserBuffer>(
    buffer: B,
    count: Count,
    datatype: MPI_Datatype,
) -> Result<Elements<B::Raw>> {
    many(buffer, count, datatype, 1)
}

/// Returns the elements of one of many ranks, in memory for those of all.
pub(super) fn many<B: UserBuffer>(
    buffer: B,
    count: Count,
    datatype: MPI_Datatype,
    ranks: usize,
) -> Result<Elements<B::Raw>> {
    if buffer.address() == MPI_IN_PLACE {
        fail!(Buffer, "a buffer is MPI_IN_PLACE where the standard does not permit it");
    }
    let (count, of) = (count.get()?, datatype.share()?);
    let raw = memory(buffer, count.saturating_mul(ranks), &of)?;
    Ok(Elements { raw, count, of })
}

/// Returns elements, or none for `MPI_IN_PLACE`.
pub(super) fn or_in_place<B: UserBuffer>(
    buffer: B,
    count: Count,
    datatype: MPI_Datatype,
    ranks: usize,
) -> Result<Option<Elements<B::Raw>>> {
    if buffer.address() == MPI_IN_PLACE { Ok(None) } else { many(buffer, count, datatype, ranks).map(Some) }
}

/// Returns parts of one datatype, at displacements in its extent.
pub(super) fn parts<B: UserBuffer>(
    buffer: B,
    counts: Counts,
    displacements: Displacements,
    datatype: MPI_Datatype,
    ranks: usize,
) -> Result<Scattered<B::Raw>> {
    let of = datatype.share()?;
    of.check_committed()?;
    let counts = counts.0.read(ranks, "the array of counts")?;
    let places = displacements.0.read(ranks, "the array of displacements")?;
    let extent = of.extent();
    let at = |place: i64| (place as isize).saturating_mul(extent);
    let list = counts.into_iter().zip(places).enumerate();
    let parts = list.map(|(n, (count, place))| Ok((number(n, count)?, at(place), of.clone())));
    scattered(buffer, parts.collect::<Result<_>>()?)
}

/// Returns parts of any datatypes, at displacements in bytes.
pub(super) fn parts_of_types<B: UserBuffer>(
    buffer: B,
    counts: Counts,
    places: &[i64],
    types: &[MPI_Datatype],
) -> Result<Scattered<B::Raw>> {
    let counts = counts.0.read(types.len(), "the array of counts")?;
    let list = counts.into_iter().zip(places).zip(types).enumerate();
    let parts = list.map(|(n, ((count, place), datatype))| {
        let count = number(n, count)?;
        // The type of an empty part may be null.
        let of = if count == 0 && datatype.get().is_err() { nothing() } else { datatype.share()? };
        of.check_committed()?;
        Ok((count, *place as isize, of))
    });
    scattered(buffer, parts.collect::<Result<_>>()?)
}

fn nothing() -> Arc<Datatype> {
    Datatype::basic(canele_mpi::datatype::Basic::Byte).clone()
}

fn number(n: usize, count: i64) -> Result<usize> {
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) => fail!(Count, "count {n} is {count}: it must not be negative"),
    }
}

fn scattered<B: UserBuffer>(buffer: B, parts: Vec<TypedPart>) -> Result<Scattered<B::Raw>> {
    if buffer.address() == MPI_IN_PLACE {
        fail!(Buffer, "a buffer is MPI_IN_PLACE where the standard does not permit it");
    }
    for (count, _, of) in &parts {
        of.total_bytes(*count)?;
    }
    let range = span(&parts);
    if buffer.address().is_null() && range.start == 0 && range.end > 0 {
        fail!(Buffer, "the buffer is a null pointer, though there are data");
    }
    check_is_of_host(buffer.address().wrapping_byte_offset(range.start), range.len())?;
    // SAFETY: as of other buffers; its parts span this range.
    let raw = unsafe { buffer.raw(range.start, range.end) };
    Ok(Scattered { raw, parts })
}

/// Converts the root of a collective.
pub(super) fn root(comm: &Comm, root: c_int) -> Result<Root> {
    match u32::try_from(root) {
        Ok(root) => Ok(Root::At(root)),
        Err(_) if comm.is_inter() && root == MPI_ROOT => Ok(Root::Here),
        Err(_) if comm.is_inter() && root == MPI_PROC_NULL => Ok(Root::Elsewhere),
        Err(_) => {
            fail!(Root, "root is {root}: it must be from 0 to {}", comm.peers().size().saturating_sub(1))
        }
    }
}

/// Returns true if this rank is the root.
pub(super) fn is_root(comm: &Comm, root: Root) -> bool {
    match root {
        Root::Here => true,
        Root::Elsewhere => false,
        Root::At(n) => !comm.is_inter() && n as usize == comm.rank(),
    }
}
