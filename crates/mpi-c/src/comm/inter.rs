//! Intercommunicators (MPI 5.0, §7.6).

use core::ffi::c_int;

use canele_mpi::{Result, fail};

use super::create::{give, given, is_member};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_Group, MPI_Info, ObjectHandle};
use crate::library;
use crate::point::LARGEST_TAG;
use crate::pointer::{Out, Text};

/// `MPI_Intercomm_create`.
pub fn intercomm_create(
    local_comm: MPI_Comm,
    local_leader: c_int,
    peer_comm: MPI_Comm,
    remote_leader: c_int,
    tag: c_int,
    newintercomm: Out<MPI_Comm>,
) -> CallResult {
    let local = local_comm.get()?;
    let leader = leader(local_leader, local.size(), "local_leader")?;
    if !(0..=LARGEST_TAG).contains(&tag) {
        fail!(Tag, "tag is {tag}: it must be from 0 to MPI_TAG_UB, which is {LARGEST_TAG}");
    }
    let peers = if leader == local.rank() {
        let peers = peer_comm.get()?;
        let members = peers.peers().members();
        let other = members[self::leader(remote_leader, members.len(), "remote_leader")?];
        Some((peers, other))
    } else {
        None
    };
    give(newintercomm, Some(local.create_between(leader, peers, tag as u32)?))
}

fn leader(rank: c_int, size: usize, what: &str) -> Result<usize> {
    match usize::try_from(rank) {
        Ok(rank) if rank < size => Ok(rank),
        _ => fail!(Rank, "{what} is {rank}: it must be from 0 to {}", size.saturating_sub(1)),
    }
}

/// `MPI_Intercomm_create_from_groups`.
pub fn intercomm_create_from_groups(
    local_group: MPI_Group,
    local_leader: c_int,
    remote_group: MPI_Group,
    remote_leader: c_int,
    stringtag: Text,
    info: MPI_Info,
    errhandler: MPI_Errhandler,
    newintercomm: Out<MPI_Comm>,
) -> CallResult {
    let (local, remote) = (local_group.share()?, remote_group.share()?);
    let world = library::world()?;
    if local.is_empty() {
        return give(newintercomm, None);
    }
    leader(local_leader, local.size(), "local_leader")?;
    leader(remote_leader, remote.size(), "remote_leader")?;
    let name = stringtag.read("stringtag")?;
    if !is_member(&world, &local) {
        return give(newintercomm, None);
    }
    let made = world.create_between_groups(&local, &remote, &name, errhandler.share()?)?;
    made.set_info(&*given(info)?);
    give(newintercomm, Some(made))
}

/// `MPI_Intercomm_merge`.
pub fn intercomm_merge(intercomm: MPI_Comm, high: c_int, newintracomm: Out<MPI_Comm>) -> CallResult {
    give(newintracomm, Some(intercomm.get()?.merge(high != 0)?))
}
