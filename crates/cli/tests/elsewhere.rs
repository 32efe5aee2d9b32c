//! Regions, puts and mailboxes among ranks of two hosts: in network namespaces with three rails, skipped with
//! a message if there can be none, and on this machine alone.

#[path = "../../canele/tests/launch/mod.rs"]
mod launch;
mod support;

use std::thread::sleep;
use std::time::Duration;

use support::hosts::{Cluster, start_on_with};
use support::{Ended, Run};

fn example(name: &str) -> String {
    launch::path(name).to_str().expect("a path of text").to_owned()
}

fn start(cluster: &Cluster, hosts: &str, options: &[&str], words: &[&str]) -> Run {
    let program = example(words[0]);
    cluster.start(hosts, options, &[&[program.as_str()], &words[1..]].concat())
}

/// Checks that every pair of ranks put, read and counted.
fn assert_whole(ended: &Ended, pairs: u32) {
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert_eq!(ended.lines(), [format!("{pairs} pairs on different hosts")]);
}

#[test]
fn regions_of_ranks_here_and_there_hold_what_was_put() {
    let Some(cluster) = Cluster::up() else { return };
    for (hosts, pairs) in [("h0:2,h1:2", 8), ("h0:1,h1:2", 4)] {
        assert_whole(&start(&cluster, hosts, &[], &["region_check", "all"]).end(), pairs);
    }
    for wait in ["sleep", "poll"] {
        let options = ["--wait", wait, "--env", "CANELE_EAGER_BYTES=256"];
        assert_whole(&start(&cluster, "h0:1,h1:1", &options, &["region_check", "all"]).end(), 2);
    }
}

#[test]
fn a_rail_that_is_cut_amid_puts_loses_none_and_doubles_none() {
    let Some(cluster) = Cluster::up() else { return };
    let run = start(&cluster, "h0:2,h1:1", &[], &["region_check", "all", "40"]);
    for rail in ["ra0", "rb0"] {
        sleep(Duration::from_millis(700));
        assert!(cluster.does(&["cut", rail]).status.success());
        sleep(Duration::from_millis(700));
        assert!(cluster.does(&["mend", rail]).status.success());
    }
    assert_whole(&run.end(), 4);
}

#[test]
fn a_region_that_was_dropped_is_refused_by_name_and_nothing_else_suffers() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = start(&cluster, "h0:2,h1:2", &[], &["region_check", "gone"]).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
}

#[test]
fn a_rank_that_uses_memory_of_one_that_dies_is_told_and_the_others_go_on() {
    let Some(cluster) = Cluster::up() else { return };
    let options = ["--on-failure", "continue"];
    let ended = start(&cluster, "h0:2,h1:2", &options, &["region_check", "dead"]).end();
    let mut lines = ended.lines();
    lines.sort_unstable();
    assert_eq!(lines, ["rank 0 told", "rank 1 told", "rank 2 told"], "{}", ended.error);
    assert!(ended.error.contains("rank 3") && !ended.error.contains("panicked"), "{}", ended.error);
}

#[test]
fn memory_of_a_rank_that_cannot_be_reached_any_more_is_an_error_that_names_it() {
    let Some(cluster) = Cluster::up() else { return };
    let options = ["--env", "CANELE_RAILS=rb0"];
    let run = start(&cluster, "h0:1,h1:1", &options, &["region_check", "all", "100000"]);
    sleep(Duration::from_secs(1));
    assert!(cluster.does(&["cut", "rb0"]).status.success());
    let ended = run.end_within(Duration::from_secs(40));
    assert_eq!(ended.code(), Some(1), "{}", ended.error);
    assert!(ended.error.contains("cannot be reached"), "{}", ended.error);
}

#[test]
fn mailboxes_hold_their_depth_whatever_the_hosts_of_their_posters() {
    let Some(cluster) = Cluster::up() else { return };
    for mode in ["many", "depth", "full", "long"] {
        for hosts in ["h0:2,h1:2", "h0:1,h1:1"] {
            // Each post and each count takes a round trip, and there are more threads than processors.
            let ended = start(&cluster, hosts, &[], &["mailbox_check", mode, "150"]).end();
            assert_eq!(ended.code(), Some(0), "{mode} on {hosts}: {}", ended.error);
        }
    }
    let ended = start(&cluster, "h0:1,h1:1", &["--wait", "sleep"], &["mailbox_check", "full"]).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
}

#[test]
fn a_long_message_whose_poster_computes_keeps_no_retrieval_beyond_its_deadline() {
    for wait in ["adaptive", "sleep"] {
        let path = std::env::temp_dir().join(format!("canele-late-{}-{wait}", std::process::id()));
        let (program, lo) = (example("mailbox_check"), [("CANELE_RAILS", "lo")]);
        let words = [&program, "late", path.to_str().expect("a path of text")];
        let ended = start_on_with("plain", "h0:1,h1:1", &["--wait", wait], &words, &lo, b"").end();
        let _ = std::fs::remove_file(&path);
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
    }
}

#[test]
fn a_place_for_a_poster_that_gave_up_and_finished_is_free_again() {
    let (program, lo) = (example("mailbox_check"), [("CANELE_RAILS", "lo")]);
    for _ in 0..3 {
        let ended = start_on_with("plain", "h0:1,h1:1", &[], &[&program, "granted"], &lo, b"").end();
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
    }
}

#[test]
fn a_poster_of_another_host_that_dies_leaves_no_slot_taken() {
    let Some(cluster) = Cluster::up() else { return };
    for micros in ["0", "1000", "100000"] {
        let words = ["mailbox_check", "dead", micros];
        let ended = start(&cluster, "h0:2,h1:1", &["--on-failure", "continue"], &words).end();
        // The error also reports the data of a message that is lost with its sender.
        let told = ended.lines().iter().any(|line| ["told 1", "told 2", "told 3"].contains(line));
        assert!(told, "after {micros} µs: {:?}\n{}", ended.lines(), ended.error);
        assert!(ended.error.contains("rank 2") && !ended.error.contains("rank 0"), "{}", ended.error);
    }
}

#[test]
fn the_same_on_hosts_that_are_this_machine() {
    for words in [
        ["region_check", "all"],
        ["region_check", "called"],
        ["region_check", "gone"],
        ["mailbox_check", "many"],
        ["mailbox_check", "depth"],
    ] {
        let (program, lo) = (example(words[0]), [("CANELE_RAILS", "lo")]);
        let run = start_on_with("plain", "h0:2,h1:2", &[], &[&program, words[1]], &lo, b"");
        let ended = run.end();
        assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.error);
    }
}
