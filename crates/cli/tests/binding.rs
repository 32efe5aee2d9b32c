//! Ranks are released from processors that other processes use too, even if no claim says so.

mod support;

use canele_sys::topology::Topology;
use support::hosts::Cluster;

/// Shell code that reads its allowed processors into `now`, and at the start into `then`.
const LOOK: &str = "look() { while read -r name value; do case $name in Cpus_allowed_list:) now=$value;; esac; done < /proc/$$/status; }; \
                    look; then=$now";

#[test]
fn jobs_that_cannot_see_each_other_do_not_stay_on_the_same_processors() {
    let Some(cluster) = Cluster::up() else { return };
    let cores = Topology::discover().expect("the kernel tells").cores();
    if cores < 2 {
        return;
    }
    let ranks = cores.to_string();
    let done = std::env::temp_dir().join(format!("{}.done", cluster.name));
    let beside = format!("{LOOK}; while [ ! -e {} ]; do look; done; echo $then", done.display());
    let other = cluster.start_within("h0", &[], &["-n", &ranks], &["sh", "-c", &beside]);
    other.wait_for(cores, "sh");
    let script = format!("{LOOK}; while [ $now = $then ]; do look; done; echo $then");
    let job = cluster.start_within("h1", &[], &["-n", &ranks, "--report-bindings"], &["sh", "-c", &script]);
    let ended = job.end();
    std::fs::write(&done, "").unwrap();
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let beside = other.end();
    std::fs::remove_file(&done).unwrap();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert_eq!(sorted(&ended.out), sorted(&beside.out), "both began on the same processors");
    assert!(ended.error.contains("no longer bound"), "{}", ended.error);
}
