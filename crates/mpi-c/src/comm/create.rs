//! Making and freeing communicators (MPI 5.0, §7.4).

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::group::Group;
use canele_mpi::info::Info;
use canele_mpi::split_type::SplitType;
use canele_mpi::{Class, Comm, Error, Result, World, fail};
use layout::SPLIT_TYPES;

use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{Handle, MPI_Comm, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Request, ObjectHandle};
use crate::library::{self, publish};
use crate::point::{LARGEST_TAG, start};
use crate::pointer::{Out, Text};
use crate::requests::add_all_deferred;

/// Stores the handle of a communicator, or the null handle for a process outside of it.
pub(crate) fn give(newcomm: Out<MPI_Comm>, made: Option<Arc<Comm>>) -> CallResult {
    let handle = made.map_or(Ok(MPI_COMM_NULL), publish)?;
    Ok(newcomm.set(handle, "newcomm")?)
}

/// `MPI_Comm_dup`.
pub fn comm_dup(comm: MPI_Comm, newcomm: Out<MPI_Comm>) -> CallResult {
    give(newcomm, Some(comm.get()?.dup(&Info::new())?))
}

/// `MPI_Comm_dup_with_info`.
pub fn comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: Out<MPI_Comm>) -> CallResult {
    let info = given(info)?;
    give(newcomm, Some(comm.get()?.dup(&info)?))
}

/// `MPI_Comm_idup`.
pub fn comm_idup(comm: MPI_Comm, newcomm: Out<MPI_Comm>, request: Out<MPI_Request>) -> CallResult {
    idup(comm, &Info::new(), newcomm, request)
}

/// `MPI_Comm_idup_with_info`.
pub fn comm_idup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> CallResult {
    idup(comm, &*given(info)?, newcomm, request)
}

fn idup(comm: MPI_Comm, info: &Info, newcomm: Out<MPI_Comm>, request: Out<MPI_Request>) -> CallResult {
    newcomm.set(MPI_COMM_NULL, "newcomm")?;
    let place = newcomm.address().expose_provenance();
    let done = move |made: Arc<Comm>| -> Result<()> {
        let newcomm: Out<MPI_Comm> = Out::at(place);
        newcomm.set(publish(made)?, "newcomm")
    };
    start::give(request, Some(comm.share()?.idup(info, Box::new(done))?))
}

/// Returns the info of a handle, which may be null.
pub(crate) fn given(info: MPI_Info) -> Result<Arc<Info>> {
    if info == MPI_INFO_NULL { Ok(Arc::default()) } else { Ok(Arc::new(info.get()?.duplicate())) }
}

/// `MPI_Comm_create`.
pub fn comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: Out<MPI_Comm>) -> CallResult {
    let made = comm.get()?.create(&group.share()?)?;
    give(newcomm, made)
}

/// `MPI_Comm_create_group`.
pub fn comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: Out<MPI_Comm>) -> CallResult {
    let (comm, group) = (comm.get()?, group.share()?);
    if group.is_empty() {
        return give(newcomm, None);
    }
    give(newcomm, comm.create_group(&group, check_tag(tag)?)?)
}

fn check_tag(tag: c_int) -> Result<u32> {
    match u32::try_from(tag) {
        Ok(number) if tag <= LARGEST_TAG => Ok(number),
        _ => fail!(Tag, "tag is {tag}: it must be from 0 to MPI_TAG_UB, which is {LARGEST_TAG}"),
    }
}

/// Returns true if the group contains this process. If it does not, the process gets the null handle, as for
/// an empty group; other implementations do the same.
pub(super) fn is_member(world: &World, group: &Group) -> bool {
    group.rank_of(world.engine().rank()).is_some()
}

/// `MPI_Comm_create_from_group`.
pub fn comm_create_from_group(
    group: MPI_Group,
    stringtag: Text,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newcomm: Out<MPI_Comm>,
) -> CallResult {
    let (group, name, handler) = (group.share()?, stringtag.read("stringtag")?, errhandler.share()?);
    let world = library::world()?;
    if !is_member(&world, &group) {
        return give(newcomm, None);
    }
    let made = world.create_from_group(&group, &name, handler)?;
    made.set_info(&*given(info)?);
    give(newcomm, Some(made))
}

/// `MPI_Comm_split`.
pub fn comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: Out<MPI_Comm>) -> CallResult {
    let color = match u32::try_from(color) {
        Ok(color) => Some(color),
        Err(_) if color == MPI_UNDEFINED => None,
        Err(_) => fail!(Argument, "color is {color}: it must not be negative, or MPI_UNDEFINED"),
    };
    let made = comm.get()?.split(color, key)?;
    give(newcomm, made)
}

/// Splits by a resource, or not at all if its name is empty. Members that may use several such resources are
/// split by host.
fn split_by_resource(comm: &Comm, resource: &str, key: c_int) -> Result<Arc<Comm>> {
    if resource.is_empty() {
        return comm.split(Some(0), key)?.ok_or_else(no_part);
    }
    let wanted = Info::new();
    wanted.set(canele_mpi::split_type::TYPE, resource)?;
    let (of_resource, _) = comm.split_type(SplitType::HardwareGuided, &wanted, key)?;
    let rest = if of_resource.is_some() { SplitType::Undefined } else { SplitType::Shared };
    let (of_host, _) = comm.split_type(rest, &wanted, key)?;
    of_resource.or(of_host).ok_or_else(no_part)
}

#[cold]
fn no_part() -> Box<Error> {
    Error::new(Class::Internal, "a member has no part of a split communicator")
}

/// `MPI_Comm_split_type`.
pub fn comm_split_type(
    comm: MPI_Comm,
    split_type: c_int,
    key: c_int,
    info: MPI_Info,
    newcomm: Out<MPI_Comm>,
) -> CallResult {
    let (comm, hints) = (comm.get()?, given(info)?);
    if let Some((_, resource)) = SPLIT_TYPES.iter().find(|(number, _)| *number == split_type) {
        let made = split_by_resource(comm, resource, key)?;
        made.set_info(&hints);
        return give(newcomm, Some(made));
    }
    let of = match split_type {
        MPI_COMM_TYPE_SHARED => SplitType::Shared,
        MPI_COMM_TYPE_HW_GUIDED => SplitType::HardwareGuided,
        MPI_COMM_TYPE_RESOURCE_GUIDED => SplitType::ResourceGuided,
        MPI_COMM_TYPE_HW_UNGUIDED => SplitType::HardwareUnguided,
        MPI_UNDEFINED => SplitType::Undefined,
        _ => fail!(Argument, "split_type is {split_type}: it is one of the MPI_COMM_TYPE_ constants"),
    };
    let (made, found) = comm.split_type(of, &hints, key)?;
    if let Some(found) = found
        && info != MPI_INFO_NULL
    {
        info.get()?.set(canele_mpi::split_type::TYPE, found)?;
    }
    if let Some(made) = &made {
        made.set_info(&hints);
    }
    give(newcomm, made)
}

/// `MPI_Comm_free`.
pub fn comm_free(comm: Out<MPI_Comm>) -> CallResult {
    comm.get("comm")?.get()?.stay_connected();
    free(comm)
}

fn free(comm: Out<MPI_Comm>) -> CallResult {
    let handle = comm.get("comm")?;
    let freed = handle.get()?;
    if handle.is_constant() {
        handle.free()?;
    }
    // Deferred receives on it keep it until they complete.
    add_all_deferred(library::engine()?)?;
    freed.attributes().clear(freed.number())?;
    handle.free()?;
    Ok(comm.set(MPI_COMM_NULL, "comm")?)
}

/// `MPI_Comm_disconnect`.
pub fn comm_disconnect(comm: Out<MPI_Comm>) -> CallResult {
    match comm.get("comm")?.get()?.await_parting() {
        // A process failure or a revocation does not prevent that the communicator is freed.
        Err(error) if !matches!(error.class, Class::ProcFailed | Class::Revoked) => Err(error.into()),
        _ => free(comm),
    }
}
