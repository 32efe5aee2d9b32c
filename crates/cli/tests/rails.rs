//! Messages over several rails between two hosts, which are cut and restored meanwhile. Skipped with a
//! message if there can be no network namespaces.

mod support;

use std::thread::sleep;
use std::time::Duration;

use support::hosts::Cluster;
use support::{Ended, ranks};

fn start(cluster: &Cluster, options: &[&str], seconds: &str) -> support::Run {
    cluster.start("h0:1,h1:1", options, &[&ranks::example("rails_check"), seconds])
}

/// Checks that both ranks report a correct run.
fn assert_whole(ended: &Ended, what: &str) {
    assert_eq!((ended.code(), ended.lines().len()), (Some(0), 2), "{what}: {}", ended.error);
}

#[test]
fn every_strategy_keeps_order_and_content_over_three_rails() {
    let Some(cluster) = Cluster::up() else { return };
    for strategy in ["aggregate", "fifo", "priority", "split"] {
        let setting = format!("CANELE_STRATEGY={strategy}");
        assert_whole(&start(&cluster, &["--env", &setting], "0.5").end(), strategy);
    }
}

#[test]
fn a_rail_that_is_cut_and_mended_loses_nothing() {
    let Some(cluster) = Cluster::up() else { return };
    let run = start(&cluster, &[], "6");
    for rail in ["ra0", "rb0"] {
        sleep(Duration::from_secs(1));
        assert!(cluster.does(&["cut", rail]).status.success());
        sleep(Duration::from_millis(1500));
        assert!(cluster.does(&["mend", rail]).status.success());
    }
    assert_whole(&run.end(), "two rails cut in turn");
}

#[test]
fn the_only_rail_may_be_away_for_a_while() {
    let Some(cluster) = Cluster::up() else { return };
    let run = start(&cluster, &["--env", "CANELE_RAILS=rb0"], "5");
    sleep(Duration::from_secs(1));
    assert!(cluster.does(&["cut", "rb0"]).status.success());
    sleep(Duration::from_secs(3));
    assert!(cluster.does(&["mend", "rb0"]).status.success());
    assert_whole(&run.end(), "the only rail cut for three seconds");
}

#[test]
fn hosts_without_a_way_between_them_are_an_error_that_names_rank_and_address() {
    let Some(cluster) = Cluster::up() else { return };
    let run = start(&cluster, &["--env", "CANELE_RAILS=rb0"], "60");
    sleep(Duration::from_secs(1));
    assert!(cluster.does(&["cut", "rb0"]).status.success());
    let ended = run.end_within(Duration::from_secs(40));
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("cannot be reached"), "{}", ended.error);
    assert!(ended.error.contains("no connection to host h"), "{}", ended.error);
}

#[test]
fn an_interface_that_a_host_does_not_have_is_named_with_those_it_has() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = start(&cluster, &["--env", "CANELE_RAILS=ib7"], "1").end();
    assert_eq!(ended.code(), Some(1));
    for word in ["CANELE_RAILS", "ib7", "host h0", "ra0", "10.77.1.1"] {
        assert!(ended.error.contains(word), "{word}: {}", ended.error);
    }
}

#[test]
fn two_jobs_on_the_same_hosts_and_rails_do_not_meet() {
    let Some(cluster) = Cluster::up() else { return };
    let runs = [0; 3].map(|_| start(&cluster, &[], "1"));
    for run in runs {
        assert_whole(&run.end(), "one of three jobs");
    }
}

#[test]
fn a_rank_blocked_on_another_host_leaves_its_processor_to_others() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = cluster.start("h0:1,h1:1", &[], &[&ranks::example("fault"), "blocked", "4"]).end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
    let used: u64 = ended.out.trim().strip_suffix(" us").unwrap().parse().unwrap();
    assert!(used < 40_000, "{used} µs of processor time while blocked for 4 s: more than 1 %");
}
