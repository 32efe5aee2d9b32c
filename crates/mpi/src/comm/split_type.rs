//! Communicators of members that share hardware or belong to a process set, by their names (MPI 5.0, §7.4.2, §9.1.3).

use std::hash::Hasher;
use std::sync::Arc;

use canele_sys::topology::{Resource, resources};

use super::Comm;
use super::resources::{Division, KINDS, SharedResource};
use crate::Result;
use crate::info::Info;
use crate::process_set::ProcessSet;

/// How a member wants the members divided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitType {
    /// It takes no part.
    Undefined,
    /// By the memory of hosts.
    Shared,
    /// By the type of resource that the info names.
    HardwareGuided,
    /// By the largest resource that divides the members.
    HardwareUnguided,
    /// By the type of resource, or the process set, that the info names.
    ResourceGuided,
}

/// The memory that processes of a host share.
const SHARED_MEMORY: &str = "mpi_shared_memory";
/// The key of the type of resource.
pub const TYPE: &str = "mpi_hw_resource_type";
/// The key of the process set.
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

/// Returns what the process runs on: a kind of resource is a key, its value says whether the process may use one of that kind only.
///
/// # Errors
/// None but those of an info object.
pub fn hardware_info() -> Result<Info> {
    let all = Info::new();
    all.set(SHARED_MEMORY, "true")?;
    for (kind, number) in resources().unwrap_or_default() {
        all.set(name(kind), if number.is_some() { "true" } else { "false" })?;
    }
    Ok(all)
}

impl Comm {
    /// Divides the members. Gives the communicator of this member's part, if it is in one, and the name of what divided them if
    /// they are not guided.
    ///
    /// # Errors
    /// A member died.
    pub fn split_type(
        &self,
        of: SplitType,
        info: &Info,
        key: i32,
    ) -> Result<(Option<Arc<Comm>>, Option<&'static str>)> {
        let (division, kinds) = match of {
            SplitType::Undefined => (Division::Undefined, [None; KINDS]),
            SplitType::Shared => (Division::Shared, [None; KINDS]),
            SplitType::HardwareUnguided => (Division::Unguided, restricted()),
            SplitType::HardwareGuided => (self.guided(info, false)?, restricted()),
            SplitType::ResourceGuided => (self.guided(info, true)?, restricted()),
        };
        let (made, found) = self.split_by_resource(division, kinds, key)?;
        let found = found.map(|found| match found {
            SharedResource::Host => SHARED_MEMORY,
            SharedResource::Kind(n) => name(Resource::ALL[n]),
        });
        Ok((made, found))
    }

    /// The division that the info names, with `sets` by a process set, too.
    fn guided(&self, info: &Info, sets: bool) -> Result<Division> {
        let wanted = info.get(TYPE)?;
        let set = if sets && wanted.is_none() { info.get(SET)? } else { None };
        Ok(match (&wanted, &set) {
            (Some(wanted), _) => Division::Guided(hash(wanted), of_type(wanted)),
            (None, Some(set)) => Division::Everywhere(hash(set), self.of_set(set)),
            (None, None) => Division::Guided(0, None),
        })
    }

    /// The number of the process set of this name that the process is in.
    fn of_set(&self, set: &[u8]) -> Option<u32> {
        ProcessSet::find(&String::from_utf8_lossy(set)).map(|set| match set {
            ProcessSet::World => 0,
            ProcessSet::Own => self.engine.rank().0,
        })
    }
}

/// The number of the resource of this type that the process is restricted to.
fn of_type(wanted: &[u8]) -> Option<u32> {
    if wanted == SHARED_MEMORY.as_bytes() {
        return Some(0);
    }
    let at = Resource::ALL.iter().position(|kind| wanted == name(*kind).as_bytes())?;
    restricted()[at]
}

/// The same for the same text on all ranks.
fn hash(text: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(text);
    hasher.finish()
}
