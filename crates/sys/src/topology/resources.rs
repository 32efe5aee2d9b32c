//! The single resource of each kind that a process is restricted to, because it contains all processors of
//! the process.

use std::fs;
use std::io;
use std::path::Path;

use super::{allowed, list, nodes};

/// A kind of resource that contains processors, from the largest to the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A package (socket).
    Package,
    /// A memory node (NUMA).
    MemoryNode,
    /// A cache for data of this level.
    Cache(u32),
    /// A core.
    Core,
    /// A processor.
    Processor,
}

impl Resource {
    /// All kinds, from the largest to the smallest.
    pub const ALL: [Resource; 7] = [
        Resource::Package,
        Resource::MemoryNode,
        Resource::Cache(3),
        Resource::Cache(2),
        Resource::Cache(1),
        Resource::Core,
        Resource::Processor,
    ];

    /// Returns a number of the resource of this kind that contains a processor; none if the kernel does not
    /// tell.
    fn of(self, system: &Path, processor: u32) -> Option<u32> {
        let folder = system.join(format!("cpu/cpu{processor}"));
        match self {
            Self::Package => number(&folder.join("topology/physical_package_id")),
            Self::MemoryNode => nodes(&system.join("node")).get(&processor).copied(),
            Self::Cache(level) => cache(&folder.join("cache"), level),
            Self::Core => ["core_cpus_list", "thread_siblings_list"]
                .iter()
                .find_map(|name| first(&folder.join("topology").join(name))),
            Self::Processor => Some(processor),
        }
    }
}

/// Returns the kinds of resources of this machine. Each has the number of the resource that the calling
/// thread is restricted to, if there is one.
///
/// # Errors
/// Fails if the kernel does not tell on which processors the thread may run.
pub fn resources() -> io::Result<Vec<(Resource, Option<u32>)>> {
    Ok(read(Path::new("/sys/devices/system"), &allowed()?))
}

/// Returns the resources for a thread that may run on `allowed`, as the folder `system` describes them.
pub(super) fn read(system: &Path, allowed: &[u32]) -> Vec<(Resource, Option<u32>)> {
    let restricted = |kind: Resource| {
        let mut found = allowed.iter().map(|processor| kind.of(system, *processor));
        let first = found.next()??;
        Some((kind, found.all(|other| other == Some(first)).then_some(first)))
    };
    Resource::ALL.into_iter().filter_map(restricted).collect()
}

/// Returns the lowest processor that shares the data cache of a level.
pub(super) fn cache(folder: &Path, level: u32) -> Option<u32> {
    let caches = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let mut caches = caches.filter(|cache| number(&cache.join("level")) == Some(level));
    let data = caches
        .find(|cache| fs::read_to_string(cache.join("type")).is_ok_and(|of| of.trim() != "Instruction"));
    first(&data?.join("shared_cpu_list"))
}

fn number(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns the lowest number of a list.
fn first(file: &Path) -> Option<u32> {
    list::parse(&fs::read_to_string(file).ok()?)?.into_iter().min()
}
