//! Communicators of members that share hardware or belong to a process set, selected by name (MPI 5.0,
//! §7.4.2, §9.1.3).

use std::hash::Hasher;
use std::sync::Arc;

use canele_sys::topology::{Resource, resources};

use super::Comm;
use super::resources::{Division, KINDS, SharedResource};
use crate::Result;
use crate::info::Info;
use crate::process_set::ProcessSet;

/// The division that a member requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SplitType {
    /// The member takes no part.
    Undefined,
    /// By shared memory, that is by host.
    Shared,
    /// By the resource type in the info.
    HardwareGuided,
    /// By the largest resource that divides the members.
    HardwareUnguided,
    /// By the resource type or the process set in the info.
    ResourceGuided,
}

/// The name of the memory that processes of a host share.
const SHARED_MEMORY: &str = "mpi_shared_memory";
/// The key of the resource type.
pub const TYPE: &str = "mpi_hw_resource_type";
/// The key of the process set.
const SET: &str = "mpi_pset_name";

/// Returns the name of a resource kind.
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

/// Returns for each resource kind the number of the resource to which the process is restricted.
fn restricted() -> [Option<u32>; KINDS] {
    let found = resources().unwrap_or_default();
    Resource::ALL.map(|kind| found.iter().find(|(of, _)| *of == kind).and_then(|(_, number)| *number))
}

/// Returns the hardware of the process: each resource kind is a key, and its value is true if the process is
/// restricted to one such resource.
///
/// # Errors
/// Fails like the operations of an info object.
pub fn hardware_info() -> Result<Info> {
    let all = Info::new();
    all.set(SHARED_MEMORY, "true")?;
    for (kind, number) in resources().unwrap_or_default() {
        all.set(name(kind), if number.is_some() { "true" } else { "false" })?;
    }
    Ok(all)
}

impl Comm {
    /// Divides the members. Returns the communicator of this member's part, if any, and in the unguided case
    /// the name of the dividing resource.
    ///
    /// # Errors
    /// Fails if a member died.
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

    /// Returns the division that the info names; by process sets only if `sets`.
    fn guided(&self, info: &Info, sets: bool) -> Result<Division> {
        let wanted = info.get(TYPE)?;
        let set = if sets && wanted.is_none() { info.get(SET)? } else { None };
        Ok(match (&wanted, &set) {
            (Some(wanted), _) => Division::Guided(hash(wanted), of_type(wanted)),
            (None, Some(set)) => Division::Everywhere(hash(set), self.of_set(set)),
            (None, None) => Division::Guided(0, None),
        })
    }

    /// Returns the number of the process set with this name, if the process is in it.
    fn of_set(&self, set: &[u8]) -> Option<u32> {
        ProcessSet::find(&String::from_utf8_lossy(set)).map(|set| match set {
            ProcessSet::World => 0,
            ProcessSet::Own => self.engine.rank().0,
        })
    }
}

/// Returns the number of the resource of this type to which the process is restricted.
fn of_type(wanted: &[u8]) -> Option<u32> {
    if wanted == SHARED_MEMORY.as_bytes() {
        return Some(0);
    }
    let at = Resource::ALL.iter().position(|kind| wanted == name(*kind).as_bytes())?;
    restricted()[at]
}

/// Returns a hash that is equal on all ranks.
fn hash(text: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(text);
    hasher.finish()
}
