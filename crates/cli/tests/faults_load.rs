//! Overload: floods, threads, forks, ranks, and too little memory. All messages stay exact.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use support::canele;
use support::ranks::{example, program, setting, start_job, succeeds};

const MIB: u64 = 1 << 20;

#[test]
fn a_flood_of_blocking_sends_stays_below_the_cap() {
    let count = setting("FAULT_FLOOD", 1_000_000);
    for (ranks, cap_mib) in [("2", 64), ("3", 16)] {
        let cap = (cap_mib * MIB).to_string();
        let job =
            start_job(&["-n", ranks], &["flood", &count.to_string()], &[("CANELE_UNEXPECTED_BYTES", &cap)]);
        let ended = job.end_within(Duration::from_secs(60 + count / 10_000));
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{ended:?}");
        let grown = ended.out.trim().strip_prefix("grew by ").and_then(|rest| rest.strip_suffix(" KiB"));
        let grown: u64 = grown.unwrap_or_else(|| panic!("{ended:?}")).parse().unwrap();
        assert!(grown < cap_mib * 1024, "{ranks} ranks: grew by {grown} KiB, the cap is {cap_mib} MiB");
    }
}

#[test]
fn two_ranks_that_flood_each_other_get_all() {
    for (cells, cap) in [("64", "65536"), ("256", "67108864")] {
        let variables = [
            ("CANELE_RING_CELLS", cells),
            ("CANELE_PAYLOAD_RING_BYTES", "65536"),
            ("CANELE_UNEXPECTED_BYTES", cap),
        ];
        for wait in ["adaptive", "sleep"] {
            let ended = succeeds(&["-n", "2", "--wait", wait], &["flood-both", "500"], &variables);
            assert_eq!(ended.lines(), ["exact"; 2]);
        }
    }
}

#[test]
fn forks_change_nothing_for_the_parent_and_give_the_child_nothing() {
    assert_eq!(succeeds(&["-n", "2"], &["forked", "100"], &[]).lines(), ["exact"; 2]);
}

#[test]
fn threads_get_their_own_messages_however_they_wait() {
    for (wait, rounds) in [("adaptive", "300"), ("sleep", "300"), ("poll", "60")] {
        let ended = succeeds(&["-n", "2", "--wait", wait], &["threads", rounds], &[]);
        assert_eq!(ended.lines(), ["exact"; 2], "{wait}");
    }
}

#[test]
fn many_ranks_on_few_processors_exchange_with_all() {
    for wait in ["adaptive", "sleep"] {
        let ended = succeeds(&["-n", "16", "--wait", wait], &["all-to-all", "24"], &[]);
        assert_eq!(ended.lines(), ["exact"; 16], "{wait}");
    }
}

#[test]
fn no_wake_up_is_lost() {
    for (ranks, wait) in [("2", "sleep"), ("3", "sleep"), ("4", "adaptive")] {
        let ended = canele(&["run", "-n", ranks, "--wait", wait, &example("sleep_stress"), "2"]);
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{ended:?}");
        assert!(ended.out.contains("rounds") && !ended.out.contains("slept 0 times"), "{ended:?}");
    }
}

#[test]
fn a_blocked_rank_leaves_its_processor_to_others() {
    let ended = succeeds(&["-n", "2"], &["blocked", "3"], &[]);
    let used: u64 = ended.out.trim().strip_suffix(" us").unwrap().parse().unwrap();
    assert!(used < 30_000, "{used} µs of processor time while blocked for 3 s: more than 1 %");
}

#[test]
fn a_region_larger_than_memory_is_refused_naming_both_sizes() {
    for bytes in [1_u64 << 40, 1 << 50, (1 << 62) + 4096] {
        let ended = succeeds(&["-n", "2"], &["region", &bytes.to_string()], &[]);
        assert_eq!(ended.lines().len(), 2, "{ended:?}");
        for line in ended.lines() {
            let numbers: Vec<u64> =
                line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
            assert!(numbers.contains(&bytes), "{line} names {bytes} needed");
            let available = numbers.iter().any(|n| (MIB..1 << 40).contains(n));
            assert!(available, "{line} names what is available");
        }
    }
}

/// A memory control group with a limit; removed when dropped. `None` if it is not allowed here.
struct Group(PathBuf);

impl Group {
    fn new(limit: u64) -> Option<Group> {
        for (mount, file) in
            [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        {
            let folder = Path::new(mount).join(format!("canele-fault-{}-{limit}", std::process::id()));
            let made = std::fs::create_dir(&folder).is_ok();
            let group = made.then_some(Group(folder))?;
            if std::fs::write(group.0.join(file), limit.to_string()).is_ok() {
                return Some(group);
            }
        }
        None
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The group is empty by now; otherwise an empty folder stays in a virtual file system.
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Runs four ranks with the largest rings in a group of `limit` bytes; returns the exit status and the error
/// output.
fn run_in_group(limit: u64) -> Option<(Option<i32>, String)> {
    let group = Group::new(limit).or_else(|| {
        eprintln!("SKIPPED: no memory control group can be made here");
        None
    })?;
    // The shell moves itself into the group, so all processes below it count.
    let script = format!("echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    let (canele, fault) = (env!("CARGO_BIN_EXE_canele"), program());
    let output = Command::new("sh")
        .args(["-c", &script, canele, "run", "-n", "4", "--timeout", "50", &fault, "exchange", "2"])
        .envs([("CANELE_PAYLOAD_RING_BYTES", "67108864"), ("CANELE_INBOX_BYTES", "1073741824")])
        .env("CANELE_RING_CELLS", "65536")
        .output()
        .unwrap();
    Some((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[test]
fn rings_that_do_not_fit_in_the_control_group_are_refused_naming_both_sizes() {
    // The beginning of one ring alone is larger than the rest of this memory.
    let Some((code, error)) = run_in_group(24 * MIB) else { return };
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("20975616") && error.contains("bytes of memory are available"), "{error}");
    assert!(error.contains("cannot be reached"), "{error}");
}

/// Most links do not fit; ranks that ask at once must not all be told that there is room.
#[test]
fn ranks_that_fill_the_control_group_together_are_refused_and_none_is_killed() {
    let Some((code, error)) = run_in_group(150 * MIB) else { return };
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("bytes of memory are available"), "{error}");
    assert!(!error.contains("signal") && !error.contains("Bus error"), "{error}");
}

/// The beginnings of all rings fit, with little memory left.
#[test]
fn rings_that_cannot_grow_in_the_control_group_stay_usable() {
    let Some((code, error)) = run_in_group(330 * MIB) else { return };
    assert_eq!((code, error.as_str()), (Some(0), ""));
}
