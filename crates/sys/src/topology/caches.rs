//! The caches of a processor: their levels, their sizes, and the number of processors that share each.

use std::fs;
use std::path::Path;

use super::list;

/// A cache for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cache {
    /// The level; 1 is next to the processor.
    pub level: u32,
    /// The size in bytes; 0 if the kernel does not tell.
    pub bytes: u64,
    /// The number of processors that share it, at least 1.
    pub processors: u32,
}

/// Returns the data caches of the first processor that is in use, from the first level on; empty if the
/// kernel does not tell. The processor does not depend on the affinity of this process.
pub fn caches() -> Vec<Cache> {
    read_caches(Path::new("/sys/devices/system"))
}

/// Returns the caches of the machine that the folder `system` describes.
pub(super) fn read_caches(system: &Path) -> Vec<Cache> {
    let online = fs::read_to_string(system.join("cpu/online")).ok();
    let first = online.and_then(|text| list::parse(&text)?.into_iter().min()).unwrap_or(0);
    let entries = fs::read_dir(system.join(format!("cpu/cpu{first}/cache"))).into_iter().flatten().flatten();
    let mut caches: Vec<Cache> = entries.filter_map(|entry| read_cache(&entry.path())).collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Reads one cache; none for a cache of instructions alone.
fn read_cache(folder: &Path) -> Option<Cache> {
    let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
    let level = text("level")?.trim().parse().ok()?;
    if text("type").is_some_and(|kind| kind.trim() == "Instruction") {
        return None;
    }
    let sharing = text("shared_cpu_list").and_then(|text| list::parse(&text));
    let processors = sharing.map_or(1, |processors| processors.len() as u32).max(1);
    Some(Cache { level, bytes: text("size").and_then(|text| size(text.trim())).unwrap_or(0), processors })
}

/// Parses a size as the kernel writes it: `48K`.
fn size(text: &str) -> Option<u64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1 << 10),
        b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
