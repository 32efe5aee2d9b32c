//! The processor time that the control groups of this process grant it.

use crate::bounded_read::read_kernel;
use std::path::{Path, PathBuf};

use crate::memory::{ancestry, group_path};

/// Returns the number of processors' time that the tightest control group grants this process, rounded up;
/// none without a limit.
pub fn quota() -> Option<u32> {
    let groups = read_kernel("/proc/self/cgroup").ok()?;
    let unified = folders(&groups, "", &["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]);
    let unified = unified.iter().filter_map(|folder| of_version_2(&read(folder, "cpu.max")?));
    let separate = folders(&groups, "cpu", &["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]);
    let separate = separate.iter().filter_map(|folder| {
        of_version_1(&read(folder, "cpu.cfs_quota_us")?, &read(folder, "cpu.cfs_period_us")?)
    });
    unified.chain(separate).min()
}

fn folders(groups: &str, controller: &str, mounts: &[&str]) -> Vec<PathBuf> {
    let Some(group) = group_path(groups, controller) else { return Vec::new() };
    mounts.iter().flat_map(|mount| ancestry(Path::new(mount), &group)).collect()
}

fn read(folder: &Path, name: &str) -> Option<String> {
    read_kernel(folder.join(name)).ok()
}

/// Parses `cpu.max`: the time in a period, or `max`, and the period, in microseconds.
fn of_version_2(text: &str) -> Option<u32> {
    let (time, period) = text.trim().split_once(' ')?;
    processors(time.parse().ok()?, period.parse().ok()?)
}

/// Parses the two files of version 1; a quota of -1 means no limit.
fn of_version_1(time: &str, period: &str) -> Option<u32> {
    processors(time.trim().parse().ok()?, period.trim().parse().ok()?)
}

fn processors(time: u64, period: u64) -> Option<u32> {
    (period > 0).then(|| u32::try_from(time.div_ceil(period)).unwrap_or(u32::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_rounded_up_to_whole_processors() {
        assert_eq!(of_version_2("max 100000\n"), None);
        assert_eq!(of_version_2("200000 100000\n"), Some(2));
        assert_eq!(of_version_2("150000 100000\n"), Some(2));
        assert_eq!(of_version_2("1000 100000\n"), Some(1));
        assert_eq!(of_version_2("1000 0\n"), None);
        assert_eq!(of_version_1("-1\n", "100000\n"), None);
        assert_eq!(of_version_1("50000\n", "100000\n"), Some(1));
        assert_eq!(of_version_2("nonsense"), None);
    }
}
