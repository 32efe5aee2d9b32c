//! Groups (MPI 5.0, §7.3).

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::Result;
use canele_mpi::fail;
pub use canele_mpi::group::Range;
use canele_mpi::group::{Comparison, Group};

use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Group, ObjectHandle};
use crate::library;
use crate::pointer::{In, Out};

/// Assigns the empty group to its constant.
pub(crate) fn predefine() {
    MPI_GROUP_EMPTY.fix(Arc::new(Group::empty()));
}

/// Stores a handle of a group; the constant if it is empty.
fn give(group: Arc<Group>, newgroup: Out<MPI_Group>) -> CallResult {
    let handle = if group.is_empty() { MPI_GROUP_EMPTY } else { MPI_Group::new(group)? };
    Ok(newgroup.set(handle, "newgroup")?)
}

/// Returns the `n` elements of an array.
fn list<'a, T>(of: In<T>, n: c_int, what: &str) -> Result<&'a [T]> {
    match usize::try_from(n) {
        Ok(n) => of.slice(n, what),
        Err(_) => fail!(Argument, "n is {n}: it must not be negative"),
    }
}

/// `MPI_Group_size`.
pub fn group_size(group: MPI_Group, size: Out<c_int>) -> CallResult {
    Ok(size.set(group.get()?.size() as c_int, "size")?)
}

/// `MPI_Group_rank`.
pub fn group_rank(group: MPI_Group, rank: Out<c_int>) -> CallResult {
    let group = group.get()?;
    let place = if group.is_empty() { None } else { group.rank_of(library::world()?.engine().rank()) };
    Ok(rank.set(place.map_or(MPI_UNDEFINED, |place| place as c_int), "rank")?)
}

/// `MPI_Group_translate_ranks`.
pub fn group_translate_ranks(
    group1: MPI_Group,
    n: c_int,
    ranks1: In<c_int>,
    group2: MPI_Group,
    ranks2: Out<c_int>,
) -> CallResult {
    let (from, to) = (group1.get()?, group2.get()?);
    for (at, rank) in list(ranks1, n, "ranks1")?.iter().enumerate() {
        let place = match *rank {
            MPI_PROC_NULL => MPI_PROC_NULL,
            rank => from.translate(rank, to)?.map_or(MPI_UNDEFINED, |place| place as c_int),
        };
        ranks2.set_at(at, place, "ranks2")?;
    }
    Ok(())
}

/// `MPI_Group_compare`.
pub fn group_compare(group1: MPI_Group, group2: MPI_Group, result: Out<c_int>) -> CallResult {
    let compared = match group1.get()?.compare(group2.get()?) {
        Comparison::Identical => MPI_IDENT,
        Comparison::Similar => MPI_SIMILAR,
        Comparison::Unequal => MPI_UNEQUAL,
    };
    Ok(result.set(compared, "result")?)
}

/// `MPI_Group_union`.
pub fn group_union(group1: MPI_Group, group2: MPI_Group, newgroup: Out<MPI_Group>) -> CallResult {
    give(Arc::new(group1.get()?.union(group2.get()?)), newgroup)
}

/// `MPI_Group_intersection`.
pub fn group_intersection(group1: MPI_Group, group2: MPI_Group, newgroup: Out<MPI_Group>) -> CallResult {
    give(Arc::new(group1.get()?.intersection(group2.get()?)), newgroup)
}

/// `MPI_Group_difference`.
pub fn group_difference(group1: MPI_Group, group2: MPI_Group, newgroup: Out<MPI_Group>) -> CallResult {
    give(Arc::new(group1.get()?.difference(group2.get()?)), newgroup)
}

/// `MPI_Group_incl`.
pub fn group_incl(group: MPI_Group, n: c_int, ranks: In<c_int>, newgroup: Out<MPI_Group>) -> CallResult {
    give(Arc::new(group.get()?.incl(list(ranks, n, "ranks")?)?), newgroup)
}

/// `MPI_Group_excl`.
pub fn group_excl(group: MPI_Group, n: c_int, ranks: In<c_int>, newgroup: Out<MPI_Group>) -> CallResult {
    give(Arc::new(group.get()?.excl(list(ranks, n, "ranks")?)?), newgroup)
}

/// `MPI_Group_range_incl`.
pub fn group_range_incl(
    group: MPI_Group,
    n: c_int,
    ranges: In<Range>,
    newgroup: Out<MPI_Group>,
) -> CallResult {
    give(Arc::new(group.get()?.range_incl(list(ranges, n, "ranges")?)?), newgroup)
}

/// `MPI_Group_range_excl`.
pub fn group_range_excl(
    group: MPI_Group,
    n: c_int,
    ranges: In<Range>,
    newgroup: Out<MPI_Group>,
) -> CallResult {
    give(Arc::new(group.get()?.range_excl(list(ranges, n, "ranges")?)?), newgroup)
}

/// `MPI_Group_free`.
pub fn group_free(group: Out<MPI_Group>) -> CallResult {
    let handle = group.get("group")?;
    // Programs free every group that they get, which may be the empty one.
    if handle == MPI_GROUP_EMPTY {
        handle.get()?;
    } else {
        handle.free()?;
    }
    Ok(group.set(MPI_GROUP_NULL, "group")?)
}

/// `MPI_Comm_group`.
pub fn comm_group(comm: MPI_Comm, group: Out<MPI_Group>) -> CallResult {
    give(comm.get()?.group().clone(), group)
}

/// `MPI_Comm_remote_group`.
pub fn comm_remote_group(comm: MPI_Comm, group: Out<MPI_Group>) -> CallResult {
    give(comm.get()?.remote()?.clone(), group)
}

/// `MPI_Comm_compare`.
pub fn comm_compare(comm1: MPI_Comm, comm2: MPI_Comm, result: Out<c_int>) -> CallResult {
    let (one, other) = (comm1.get()?, comm2.get()?);
    let local = one.group().compare(other.group());
    let remote = match (one.remote(), other.remote()) {
        (Ok(one), Ok(other)) => one.compare(other),
        (Err(_), Err(_)) => Comparison::Identical,
        _ => Comparison::Unequal,
    };
    let compared = match (local, remote) {
        _ if core::ptr::eq(one, other) => MPI_IDENT,
        (Comparison::Unequal, _) | (_, Comparison::Unequal) => MPI_UNEQUAL,
        (Comparison::Identical, Comparison::Identical) => MPI_CONGRUENT,
        _ => MPI_SIMILAR,
    };
    Ok(result.set(compared, "result")?)
}
