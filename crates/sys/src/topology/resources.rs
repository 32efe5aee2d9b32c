//! Which single resource of each kind a process is restricted to: the one that all processors lie in that it may run on.

use std::fs;
use std::io;
use std::path::Path;

use super::{allowed, list, nodes};

/// A kind of resource that processors lie in, from the largest to the smallest.
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

    /// A number of the resource of this kind that a processor lies in; nothing if the kernel does not tell.
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

/// The kinds of resources of this machine, each with the number of the one that the calling thread is restricted to, if it is to one.
///
/// # Errors
/// If the kernel does not tell on which processors the thread may run.
pub fn resources() -> io::Result<Vec<(Resource, Option<u32>)>> {
    Ok(read(Path::new("/sys/devices/system"), &allowed()?))
}

/// As `resources`, for a thread that may run on `allowed`, as described in the folder `system`.
pub(super) fn read(system: &Path, allowed: &[u32]) -> Vec<(Resource, Option<u32>)> {
    let restricted = |kind: Resource| {
        let mut found = allowed.iter().map(|processor| kind.of(system, *processor));
        let first = found.next()??;
        Some((kind, found.all(|other| other == Some(first)).then_some(first)))
    };
    Resource::ALL.into_iter().filter_map(restricted).collect()
}

/// The lowest processor that shares the cache for data of a level.
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

/// The lowest number of a list.
fn first(file: &Path) -> Option<u32> {
    list::parse(&fs::read_to_string(file).ok()?)?.into_iter().min()
}
