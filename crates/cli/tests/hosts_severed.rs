//! A host whose interfaces are all cut while its agent still answers: a rank that waits for its ranks gets an
//! error that names them, and goes on with the others. Skipped with a message if there can be no network
//! namespaces.

mod support;

use std::thread::sleep;
use std::time::Duration;

use support::hosts::Cluster;
use support::ranks::{program, temporary_folder};

/// Changes all rails between the hosts.
fn all(cluster: &Cluster, verb: &str) {
    for rail in ["ra0", "rb0", "rc0"] {
        assert!(cluster.does(&[verb, rail]).status.success(), "{verb} {rail}");
    }
}

#[test]
fn who_waits_for_a_rank_of_a_severed_host_is_told_and_goes_on() {
    let program = program();
    let start = |what| {
        let (cluster, signs) = (Cluster::up()?, temporary_folder());
        let options = ["--on-failure", "continue"];
        let words = [&program, "severed", "2", what, signs.to_str().expect("a path of text")];
        let run = cluster.start("h0:2,h1:1", &options, &words);
        Some((what, cluster, run, signs))
    };
    let runs: Vec<_> = ["receive", "send", "probe"].into_iter().filter_map(start).collect();
    // By now all are connected and wait, and senders have no room left.
    sleep(Duration::from_secs(3));
    for (_, cluster, ..) in &runs {
        all(cluster, "cut");
    }
    for (what, _cluster, run, signs) in runs {
        let ended = run.end();
        std::fs::remove_dir_all(signs).unwrap();
        let lines = ended.lines();
        let has = |text: &str| lines.iter().any(|line| line.starts_with(text));
        assert!(has("rank 0 goes on") && has("rank 1 goes on"), "{what}: {}{}", ended.out, ended.error);
        assert!(has("rank 2 is alone: "), "{what}: {}{}", ended.out, ended.error);
        assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{what}");
    }
}

#[test]
fn a_host_cut_off_for_a_moment_while_nothing_is_sent_costs_time_only() {
    let Some(cluster) = Cluster::up() else { return };
    let run = cluster.start("h0:1,h1:1", &[], &[&program(), "blocked", "7"]);
    sleep(Duration::from_secs(2));
    all(&cluster, "cut");
    // Longer than the kernels wait for an answer.
    sleep(Duration::from_secs(4));
    all(&cluster, "mend");
    let ended = run.end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""), "{}", ended.out);
}
