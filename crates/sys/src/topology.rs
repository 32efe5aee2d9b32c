//! The processors that this process may run on, and their place among cores, caches, packages and memory
//! nodes.
//!
//! Read from `sched_getaffinity` and `/sys/devices/system`. A container may hide any file of the latter.
//! Unknown structure is taken as one processor per core, one second cache per core, one package, one node,
//! one third cache for each package.
//!
//! This module never decides if ranks are bound, and never looks again when the machine changes.

mod caches;
mod list;
mod quota;
mod resources;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use crate::affinity::ProcessorSet;
pub use caches::{Cache, caches};
pub use quota::quota;
pub use resources::{Resource, resources};

/// A processor as the kernel numbers it, and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// The kernel's number of the processor.
    pub id: u32,
    /// The lowest processor number of its core: equal for all processors of the core.
    pub core: u32,
    /// The package (socket) of the processor.
    pub package: u32,
    /// The nearest memory node (NUMA).
    pub node: u32,
    /// The lowest number among the processors that share its second cache: equal for all of them.
    pub second_cache: u32,
    /// The lowest number among the processors that share its third cache: equal for all of them.
    pub third_cache: u32,
}

/// The processors that this process may run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// The processors in the order in which ranks are spread over them.
    spread: Vec<Processor>,
}

impl Topology {
    /// Returns the processors of this machine that the calling thread may run on.
    ///
    /// # Errors
    /// Fails if the kernel does not tell them.
    pub fn discover() -> io::Result<Topology> {
        Ok(Topology::read(Path::new("/sys/devices/system"), &allowed()?))
    }

    /// Returns the topology of the processors `allowed`, as the folder `system` describes them.
    pub fn read(system: &Path, allowed: &[u32]) -> Topology {
        let nodes = nodes(&system.join("node"));
        let processors = allowed.iter().map(|&id| {
            let folder = system.join(format!("cpu/cpu{id}/topology"));
            let siblings = ["core_cpus_list", "thread_siblings_list"].iter();
            let siblings = siblings.filter_map(|name| fs::read_to_string(folder.join(name)).ok());
            let core = siblings.flat_map(|text| list::parse(&text)).flatten().min().unwrap_or(id);
            // The kernel writes -1 for a package that it does not know.
            let package = fs::read_to_string(folder.join("physical_package_id")).ok();
            let package = package.and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            let caches = system.join(format!("cpu/cpu{id}/cache"));
            let second_cache = resources::cache(&caches, 2).unwrap_or(core);
            let third_cache = resources::cache(&caches, 3);
            let node = nodes.get(&id).copied().unwrap_or(0);
            Processor { id, core, package, node, second_cache, third_cache: third_cache.unwrap_or(u32::MAX) }
        });
        let mut processors: Vec<Processor> = processors.collect();
        share_unknown_caches(&mut processors);
        Topology { spread: spread(processors) }
    }

    /// Returns the processors in the order in which ranks are spread over them: one of each core first, near
    /// ones next to each other, then the cores' further processors.
    pub fn processors(&self) -> &[Processor] {
        &self.spread
    }

    /// Returns the number of distinct cores.
    pub fn cores(&self) -> usize {
        let mut cores: Vec<_> = self.spread.iter().map(|processor| processor.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores.len()
    }

    /// Returns the processor for the rank with number `local_rank` on this host, from 0. With more ranks than
    /// processors the order repeats.
    pub fn choose(&self, local_rank: u32) -> Option<Processor> {
        let count = self.spread.len();
        (count > 0).then(|| self.spread[local_rank as usize % count])
    }
}

/// Returns the numbers of the processors that the calling thread may run on, ascending.
///
/// # Errors
/// Fails as [`Topology::discover`] does.
pub fn allowed() -> io::Result<Vec<u32>> {
    Ok(ProcessorSet::of_thread()?.processors())
}

/// Returns the number of processors of the machine that are in use, those included that this process may not
/// use. `None` if the system does not tell.
pub fn online() -> Option<u32> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").ok()?;
    Some(list::parse(&text)?.len() as u32)
}

/// Returns the number of processors that this process and its children can use at the same time. It may run
/// on them, and its control groups grant it time for them. At least 1.
pub fn usable() -> u32 {
    let allowed = allowed().map_or(1, |allowed| allowed.len() as u32);
    allowed.min(quota().unwrap_or(u32::MAX)).max(1)
}

/// Returns the memory node of each processor, as far as the folder tells.
fn nodes(folder: &Path) -> BTreeMap<u32, u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let nodes = entries.filter_map(|entry| {
        let node: u32 = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        let processors = list::parse(&fs::read_to_string(entry.path().join("cpulist")).ok()?)?;
        Some((node, processors))
    });
    nodes.flat_map(|(node, processors)| processors.into_iter().map(move |id| (id, node))).collect()
}

/// Gives processors whose third cache is unknown (`u32::MAX`) one shared cache for each package.
fn share_unknown_caches(processors: &mut [Processor]) {
    let is_unknown = |processor: &&Processor| processor.third_cache == u32::MAX;
    let mut lowest: BTreeMap<u32, u32> = BTreeMap::new();
    for &Processor { id, package, .. } in processors.iter().filter(is_unknown) {
        let known = lowest.entry(package).or_insert(id);
        *known = id.min(*known);
    }
    for processor in processors.iter_mut().filter(|processor| processor.third_cache == u32::MAX) {
        processor.third_cache = lowest[&processor.package];
    }
}

/// Sorts by the number of processors of the same core that come before, then by nearness.
fn spread(mut processors: Vec<Processor>) -> Vec<Processor> {
    processors.sort_by_key(|processor| (processor.node, processor.package, processor.core, processor.id));
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    let numbered = processors.into_iter().map(|processor| {
        let before = seen.entry(processor.core).or_insert(0);
        *before += 1;
        (*before, processor)
    });
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort_by_key(|&(before, _)| before); // Stable: keeps the order by nearness.
    numbered.into_iter().map(|(_, processor)| processor).collect()
}

#[cfg(test)]
mod tests;
