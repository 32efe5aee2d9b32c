//! Making and freeing communicators (MPI 5.0, §7.4).

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::{Comm, Result, fail};
use canele_mpi_macros::mpi;

use crate::constants::*;
use crate::error::Outcome;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_Group, MPI_Info, MPI_Request};
use crate::library::{self, publish};
use crate::point::{LARGEST_TAG, start};
use crate::pointer::{Out, Text};

/// Stores the handle of a communicator that this process may not be in.
pub(crate) fn give(newcomm: Out<MPI_Comm>, made: Option<Arc<Comm>>) -> Outcome {
    let handle = made.map_or(Ok(MPI_COMM_NULL), publish)?;
    Ok(newcomm.set(handle, "newcomm")?)
}

#[mpi]
fn MPI_Comm_dup(comm: MPI_Comm, newcomm: Out<MPI_Comm>) -> Outcome {
    give(newcomm, Some(comm.get()?.dup(None)?))
}

#[mpi]
fn MPI_Comm_dup_with_info(comm: MPI_Comm, info: MPI_Info, newcomm: Out<MPI_Comm>) -> Outcome {
    let info = given(info)?;
    give(newcomm, Some(comm.get()?.dup(Some(info))?))
}

#[mpi]
fn MPI_Comm_idup(comm: MPI_Comm, newcomm: Out<MPI_Comm>, request: Out<MPI_Request>) -> Outcome {
    idup(comm, None, newcomm, request)
}

#[mpi]
fn MPI_Comm_idup_with_info(
    comm: MPI_Comm,
    info: MPI_Info,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    idup(comm, Some(given(info)?), newcomm, request)
}

fn idup(
    comm: MPI_Comm,
    info: Option<Arc<canele_mpi::info::Info>>,
    newcomm: Out<MPI_Comm>,
    request: Out<MPI_Request>,
) -> Outcome {
    newcomm.set(MPI_COMM_NULL, "newcomm")?;
    let place = newcomm.address().expose_provenance();
    let done = move |made: Arc<Comm>| -> Result<()> {
        let newcomm: Out<MPI_Comm> = Out::at(place);
        newcomm.set(publish(made)?, "newcomm")
    };
    start::give(request, Some(comm.share()?.idup(info, Box::new(done))?))
}

/// The info of a handle, which may be null.
pub(crate) fn given(info: MPI_Info) -> Result<Arc<canele_mpi::info::Info>> {
    if info == MPI_INFO_NULL { Ok(Arc::default()) } else { Ok(Arc::new(info.get()?.duplicate())) }
}

#[mpi]
fn MPI_Comm_create(comm: MPI_Comm, group: MPI_Group, newcomm: Out<MPI_Comm>) -> Outcome {
    let made = comm.get()?.create(&group.share()?)?;
    give(newcomm, made)
}

#[mpi]
fn MPI_Comm_create_group(comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: Out<MPI_Comm>) -> Outcome {
    let (comm, group) = (comm.get()?, group.share()?);
    if group.is_empty() {
        return give(newcomm, None);
    }
    give(newcomm, Some(comm.create_group(&group, check_tag(tag)?)?))
}

fn check_tag(tag: c_int) -> Result<u32> {
    match u32::try_from(tag) {
        Ok(number) if tag <= LARGEST_TAG => Ok(number),
        _ => fail!(Tag, "tag is {tag}: it must be from 0 to MPI_TAG_UB, which is {LARGEST_TAG}"),
    }
}

#[mpi]
fn MPI_Comm_create_from_group(
    group: MPI_Group,
    stringtag: Text,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let (group, name, handler) = (group.share()?, stringtag.read("stringtag")?, errhandler.share()?);
    if group.is_empty() {
        return give(newcomm, None);
    }
    let made = library::world()?.create_from_group(&group, &name, handler)?;
    made.set_info(given(info)?);
    give(newcomm, Some(made))
}

#[mpi]
fn MPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, newcomm: Out<MPI_Comm>) -> Outcome {
    let color = match u32::try_from(color) {
        Ok(color) => Some(color),
        Err(_) if color == MPI_UNDEFINED => None,
        Err(_) => fail!(Argument, "color is {color}: it must not be negative, or MPI_UNDEFINED"),
    };
    let made = comm.get()?.split(color, key)?;
    give(newcomm, made)
}

#[mpi]
fn MPI_Comm_split_type(
    comm: MPI_Comm,
    split_type: c_int,
    key: c_int,
    info: MPI_Info,
    newcomm: Out<MPI_Comm>,
) -> Outcome {
    let (comm, info) = (comm.get()?, given(info)?);
    let made = match split_type {
        MPI_COMM_TYPE_SHARED => comm.split_by_host(true, key)?,
        MPI_COMM_TYPE_HW_GUIDED | MPI_COMM_TYPE_RESOURCE_GUIDED => {
            // The one resource that is known is memory that all processes of a host share.
            let wanted = info.get(b"mpi_hw_resource_type")?;
            comm.split_by_host(wanted.as_deref() == Some(&b"mpi_shared_memory"[..]), key)?
        }
        // No division of a host finer than itself is known.
        MPI_COMM_TYPE_HW_UNGUIDED | MPI_UNDEFINED => comm.split_by_host(false, key)?,
        _ => fail!(Argument, "split_type is {split_type}: it is one of the MPI_COMM_TYPE_ constants"),
    };
    give(newcomm, made)
}

#[mpi]
fn MPI_Comm_free(comm: Out<MPI_Comm>) -> Outcome {
    let handle = comm.get("comm")?;
    let freed = handle.get()?;
    if handle.value() < 0x1000 {
        handle.free()?;
    }
    freed.attributes().clear(freed.number())?;
    handle.free()?;
    Ok(comm.set(MPI_COMM_NULL, "comm")?)
}

#[mpi]
fn MPI_Comm_disconnect(comm: Out<MPI_Comm>) -> Outcome {
    comm.get("comm")?.get()?.barrier()?;
    body_of_MPI_Comm_free(comm)
}

#[mpi]
fn MPI_Comm_get_parent(parent: Out<MPI_Comm>) -> Outcome {
    library::world()?;
    // No process is started by another one.
    Ok(parent.set(MPI_COMM_NULL, "parent")?)
}
