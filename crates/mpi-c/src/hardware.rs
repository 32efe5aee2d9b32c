//! What the process runs on (MPI 5.0, §9.1.3), and communicators of processes that share it (§7.4.2).

use std::hash::Hasher;
use std::sync::Arc;

use canele_mpi::Comm;
use canele_mpi::Result;
use canele_mpi::info::Info;
use canele_mpi::resources::{Division, KINDS, SharedResource};
use canele_sys::topology::{Resource, resources};

use crate::constants::MPI_INFO_NULL;
use crate::error::CallResult;
use crate::handle::MPI_Info;
use crate::library;
use crate::pointer::Out;
use crate::session;

/// The memory that processes of a host share.
const SHARED_MEMORY: &str = "mpi_shared_memory";
const TYPE: &str = "mpi_hw_resource_type";
const SET: &str = "mpi_pset_name";

/// The name of a kind of resource.
fn name(kind: Resource) -> &'static str {
    match kind {
        Resource::Package => "hwloc://Package",
        Resource::MemoryNode => "hwloc://NUMANode",
        Resource::Cache(3) => "hwloc://L3Cache",
        Resource::Cache(2) => "hwloc://L2Cache",
        Resource::Cache(_) => "hwloc://L1Cache",
        Resource::Core => "hwloc://Core",
        Resource::Processor => "hwloc://PU",
    }
}

/// The numbers of the resources of each kind that the process is restricted to.
fn restricted() -> [Option<u32>; KINDS] {
    let found = resources().unwrap_or_default();
    Resource::ALL.map(|kind| found.iter().find(|(of, _)| *of == kind).and_then(|(_, number)| *number))
}

/// A kind of hardware is a key; its value says whether the process may use one of that kind only.
pub fn get_hw_resource_info(hw_info: Out<MPI_Info>) -> CallResult {
    let all = Info::new();
    all.set(SHARED_MEMORY, "true")?;
    for (kind, number) in resources().unwrap_or_default() {
        all.set(name(kind), if number.is_some() { "true" } else { "false" })?;
    }
    Ok(hw_info.set(MPI_Info::new(Arc::new(all))?, "hw_info")?)
}

/// Divides the members by the type of resource that the info names, or with `sets` by a process set.
pub(crate) fn split_guided(comm: &Comm, info: &Info, sets: bool, key: i32) -> Result<Option<Arc<Comm>>> {
    let wanted = info.get(TYPE)?;
    let set = if sets && wanted.is_none() { info.get(SET)? } else { None };
    let division = match (&wanted, &set) {
        (Some(wanted), _) => Division::Guided(hash(wanted), of_type(wanted)),
        (None, Some(set)) => Division::Everywhere(hash(set), of_set(set)?),
        (None, None) => Division::Guided(0, None),
    };
    Ok(comm.split_by_resource(division, restricted(), key)?.0)
}

/// Divides the members by the largest resource that does, and says in the info which it was.
pub(crate) fn split_unguided(comm: &Comm, info: MPI_Info, key: i32) -> Result<Option<Arc<Comm>>> {
    let (made, found) = comm.split_by_resource(Division::Unguided, restricted(), key)?;
    let found = found.map(|found| match found {
        SharedResource::Host => SHARED_MEMORY,
        SharedResource::Kind(n) => name(Resource::ALL[n]),
    });
    if let Some(found) = found
        && info != MPI_INFO_NULL
    {
        info.get()?.set(TYPE, found)?;
    }
    Ok(made)
}

/// Takes part for others who are divided, or divides by the memory of hosts.
pub(crate) fn split_shared(comm: &Comm, takes_part: bool, key: i32) -> Result<Option<Arc<Comm>>> {
    let division = if takes_part { Division::Shared } else { Division::Undefined };
    Ok(comm.split_by_resource(division, [None; KINDS], key)?.0)
}

/// The number of the resource of this type that the process is restricted to.
fn of_type(wanted: &[u8]) -> Option<u32> {
    if wanted == SHARED_MEMORY.as_bytes() {
        return Some(0);
    }
    let at = Resource::ALL.iter().position(|kind| wanted == name(*kind).as_bytes())?;
    restricted()[at]
}

/// The number of the process set of this name that the process is in.
fn of_set(set: &[u8]) -> Result<Option<u32>> {
    let me = library::world()?.engine().rank().0;
    Ok(match session::position(&String::from_utf8_lossy(set)) {
        Some(0) => Some(0),
        Some(_) => Some(me),
        None => None,
    })
}

/// The same for the same text on all ranks.
fn hash(text: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(text);
    hasher.finish()
}
