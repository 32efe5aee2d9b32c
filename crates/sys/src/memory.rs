//! The amount of memory that this process may still use, in bytes.
//!
//! It is the smallest of what the kernel calls available and the rest of each memory control group (version 2
//! or 1) of the process. Swap is not counted: messages that swap are lost already.
//!
//! This module never reserves anything. Two processes that ask at once get the same result; a process that is
//! about to reserve asks its host's [`Account`].

use crate::bounded_read::read_kernel;
use std::path::{Path, PathBuf};

#[cfg(not(loom))]
mod account;

#[cfg(not(loom))]
pub use account::{Account, Grant};

/// The part of the machine's memory, and of each control group's, that is left to allocations of the
/// processes themselves ...
const HEADROOM_PART: u64 = 16;
/// ... but no more than this many bytes.
const MOST_HEADROOM: u64 = 256 << 20;

/// Memory that a machine or a control group has, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Room {
    all: u64,
    left: u64,
}

/// Returns the bytes that can be used before the machine or a control group runs out; `u64::MAX` if no limit
/// is known.
///
/// It reads a few small files, so it belongs to set-up and never to the path of a message.
pub fn available() -> u64 {
    rooms().into_iter().map(|room| room.left).min().unwrap_or(u64::MAX)
}

/// Returns the bytes of [`available`] memory that may be reserved for messages. The rest is left to
/// allocations of the processes themselves, because above a limit the kernel kills a process.
pub fn spare() -> u64 {
    let spare = |room: Room| room.left.saturating_sub((room.all / HEADROOM_PART).min(MOST_HEADROOM));
    rooms().into_iter().map(spare).min().unwrap_or(u64::MAX)
}

/// Returns the machine's memory, and that of each control group of the process that has a limit.
fn rooms() -> Vec<Room> {
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| machine(&text));
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let groups = VERSIONS.iter().flat_map(|version| rooms_in_groups(version, &groups));
    machine.into_iter().chain(groups).collect()
}

/// The mount points and file names of a version of control groups.
struct Version {
    controller: &'static str,
    mounts: &'static [&'static str],
    limit: &'static str,
    usage: &'static str,
    reclaimable: &'static str,
}

const VERSIONS: [Version; 2] = [
    Version {
        controller: "",
        mounts: &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"],
        limit: "memory.max",
        usage: "memory.current",
        reclaimable: "inactive_file",
    },
    Version {
        controller: "memory",
        mounts: &["/sys/fs/cgroup/memory"],
        limit: "memory.limit_in_bytes",
        usage: "memory.usage_in_bytes",
        reclaimable: "total_inactive_file",
    },
];

fn read(path: &Path) -> Option<String> {
    read_kernel(path).ok()
}

/// Returns the memory of the process's groups that have a limit, from its own up to the mount's root.
fn rooms_in_groups(version: &Version, groups: &str) -> Vec<Room> {
    let Some(group) = group_path(groups, version.controller) else { return Vec::new() };
    let mounts = version.mounts.iter().map(Path::new);
    let folders = mounts.flat_map(|mount| ancestry(mount, &group));
    folders.filter_map(|folder| room_in_group(version, &folder)).collect()
}

fn room_in_group(version: &Version, folder: &Path) -> Option<Room> {
    let limit = limit(&read(&folder.join(version.limit))?)?;
    let usage = limit_text(&read(&folder.join(version.usage))?)?;
    let statistics = read(&folder.join("memory.stat")).unwrap_or_default();
    let left = left(limit, usage, field(&statistics, version.reclaimable).unwrap_or(0));
    Some(Room { all: limit, left })
}

/// Reads `MemTotal` and `MemAvailable` of `/proc/meminfo`, in bytes.
fn machine(text: &str) -> Option<Room> {
    let bytes = |name| field(text, name)?.checked_mul(1024);
    Some(Room { all: bytes("MemTotal:")?, left: bytes("MemAvailable:")? })
}

/// Returns the number that follows `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    lines.find_map(|mut words| (words.next() == Some(name)).then(|| words.next()?.parse().ok())?)
}

/// Returns the process's group under `controller` (the empty one: version 2), without the leading slash.
///
/// A path that leaves the namespace's root (`/../…`) cannot be seen from here; the root replaces it.
pub(crate) fn group_path(text: &str, controller: &str) -> Option<PathBuf> {
    text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        if !controllers.split(',').any(|name| name == controller) {
            return None;
        }
        let visible = !path.split('/').any(|part| part == "..");
        Some(PathBuf::from(if visible { path.trim_start_matches('/') } else { "" }))
    })
}

/// Returns the folders to check: the group below `mount`, then each one above it up to `mount` itself.
pub(crate) fn ancestry(mount: &Path, group: &Path) -> Vec<PathBuf> {
    group.ancestors().map(|part| mount.join(part)).collect()
}

/// Reads the number of a limit file; `max`, and the number that version 1 writes for it, mean no limit.
fn limit(text: &str) -> Option<u64> {
    const UNLIMITED: u64 = 1 << 62;
    limit_text(text).filter(|&bytes| bytes < UNLIMITED)
}

fn limit_text(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Returns the bytes left. Usage counts file pages that the kernel reclaims before it refuses an allocation.
fn left(limit: u64, usage: u64, reclaimable: u64) -> u64 {
    limit.saturating_sub(usage.saturating_sub(reclaimable))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const MEMINFO: &str =
        "MemTotal:       24684096 kB\nMemFree:        24079252 kB\nMemAvailable:   24295640 kB\n";
    const HYBRID: &str = "9:name=systemd:/\n4:cpuset,memory:/docker/5cdd\n1:cpu:/\n0::/user.slice\n";

    #[test]
    fn meminfo_counts_in_kibibytes() {
        assert_eq!(machine(MEMINFO), Some(Room { all: 24_684_096 * 1024, left: 24_295_640 * 1024 }));
        assert_eq!(machine("MemTotal: 1 kB\n"), None, "kernels before 3.14");
        assert_eq!(machine("MemTotal: 1 kB\nMemAvailable: lots\n"), None);
    }

    #[test]
    fn groups_of_both_versions() {
        assert_eq!(group_path(HYBRID, "memory"), Some(PathBuf::from("docker/5cdd")));
        assert_eq!(group_path(HYBRID, ""), Some(PathBuf::from("user.slice")));
        assert_eq!(group_path("0::/\n", ""), Some(PathBuf::new()));
        assert_eq!(group_path("0::/\n", "memory"), None);
        assert_eq!(group_path("0::/../sibling\n", ""), Some(PathBuf::new()), "outside the namespace");
    }

    #[test]
    fn limits_apply_up_to_the_root() {
        let folders = ancestry(Path::new("/g"), Path::new("a/b"));
        assert_eq!(folders, ["/g/a/b", "/g/a", "/g/"].map(PathBuf::from));
    }

    #[test]
    fn no_limit_is_written_in_two_ways() {
        assert_eq!(limit("max\n"), None);
        assert_eq!(limit("9223372036854771712\n"), None);
        assert_eq!(limit("1048576\n"), Some(1 << 20));
    }

    #[test]
    fn reclaimable_pages_are_not_lost() {
        assert_eq!(left(100, 80, 30), 50);
        assert_eq!(left(100, 80, 90), 100);
        assert_eq!(left(100, 180, 30), 0, "over the limit");
        assert_eq!(field("anon 5\ninactive_file 7\n", "inactive_file"), Some(7));
        assert_eq!(field("total_inactive_file 9\n", "inactive_file"), None, "whole names only");
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = std::env::temp_dir().join(format!("canele-memory-{}", std::process::id()));
        let inner = root.join("inner");
        fs::create_dir_all(&inner).unwrap();
        for (folder, limit) in [(&root, "1000"), (&inner, "max")] {
            fs::write(folder.join("memory.max"), limit).unwrap();
            fs::write(folder.join("memory.current"), "400\n").unwrap();
            fs::write(folder.join("memory.stat"), "inactive_file 100\n").unwrap();
        }
        let seen = ancestry(&root, Path::new("inner"));
        let left: Vec<_> = seen.iter().map(|folder| room_in_group(&VERSIONS[0], folder)).collect();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(left, [None, Some(Room { all: 1000, left: 700 })]);
    }

    #[test]
    fn this_machine_has_some_memory() {
        assert!(available() > 1 << 20 && spare() < available());
    }
}
