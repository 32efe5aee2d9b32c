//! Jobs on two hosts that are network namespaces, made by `scripts/cluster`. Skipped with a message if they
//! cannot be made.

mod support;

use support::hosts::{Cluster, SCRIPT};
use support::kill;

#[test]
fn ranks_run_where_they_are_said_to_and_the_rails_between_are_there() {
    let Some(cluster) = Cluster::up() else { return };
    let script = "echo $CANELE_RANK $(ip -o -4 addr show dev ra0 | grep -o '10[.0-9]*')";
    let ended = cluster.start("h0:2,h1:2", &[], &["sh", "-c", script]).end();
    assert_eq!((ended.code(), ended.error.as_str()), (Some(0), ""));
    assert_eq!(ended.lines(), ["0 10.77.1.1", "1 10.77.1.1", "2 10.77.1.2", "3 10.77.1.2"]);
}

#[test]
fn hosts_can_be_named_by_their_addresses() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = cluster.start("10.77.1.1:1,[fd77:2::2]:1", &[], &["sh", "-c", "echo $CANELE_RANK"]).end();
    assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["0", "1"]), "{}", ended.error);
}

#[test]
fn a_wrong_host_name_is_one_error_and_nothing_is_left() {
    let Some(cluster) = Cluster::up() else { return };
    let ended = cluster.start("h0:2,h7:2", &[], &["sleep", "1000"]).end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.starts_with("canele: cannot start on host h7: "), "{}", ended.error);
    assert!(
        ended
            .error
            .ends_with("exited with status 2; it printed:\n  cluster: no host h7: there are h0 and h1\n")
    );
}

#[test]
fn a_killed_rank_ends_the_job_on_both_hosts() {
    let Some(cluster) = Cluster::up() else { return };
    let run = cluster.start("h0:2,h1:2", &[], &["sleep", "1000"]);
    let (ranks, there) = (run.wait_for(4, "sleep"), cluster.processes("h1"));
    let rank = *ranks.iter().find(|rank| there.contains(rank)).expect("a rank on h1");
    kill("KILL", rank);
    let ended = run.end();
    assert_eq!(ended.code(), Some(137));
    assert!(
        ended.error.contains(" on h") && ended.error.contains("was killed by signal 9"),
        "{}",
        ended.error
    );
}

#[test]
fn when_the_launcher_is_killed_nothing_is_left_in_the_namespaces() {
    let Some(cluster) = Cluster::up() else { return };
    let run = cluster.start("h0:2,h1:2", &[], &["sleep", "1000"]);
    run.wait_for(4, "sleep");
    kill("KILL", run.pid());
    run.end();
    for host in ["h0", "h1"] {
        assert_eq!(cluster.processes(host), [] as [u32; 0], "{host}");
    }
}

#[test]
fn two_instances_exist_at_once_and_run_a_job_each() {
    let (Some(one), Some(other)) = (Cluster::up(), Cluster::up()) else { return };
    let runs = [&one, &other]
        .map(|cluster| cluster.start("h0:2,h1:2", &[], &["sh", "-c", "sleep 0.2; echo $CANELE_RANK"]));
    for run in runs {
        let ended = run.end();
        assert_eq!((ended.code(), ended.lines()), (Some(0), vec!["0", "1", "2", "3"]), "{}", ended.error);
    }
}

#[test]
fn rails_are_cut_mended_and_limited() {
    let Some(cluster) = Cluster::up() else { return };
    let addresses = |rail: &str| cluster.prints("h0", &format!("ip -br addr show dev {rail} up"));
    assert!(addresses("rb0").contains("10.77.2.1/24") && addresses("rb0").contains("fd77:2::1/64"));
    assert!(cluster.does(&["cut", "rb0"]).status.success());
    assert_eq!(addresses("rb0"), "");
    assert!(addresses("ra0").contains("10.77.1.1/24"));
    assert!(cluster.does(&["mend", "rb0"]).status.success());
    assert!(addresses("rb0").contains("10.77.2.1/24") && addresses("rb0").contains("fd77:2::1/64"));
    let queue = || cluster.prints("h1", "tc qdisc show dev rc0");
    assert!(cluster.does(&["rate", "rc0", "500"]).status.success());
    assert!(queue().contains("rate 500Mbit"), "{}", queue());
    assert!(cluster.does(&["rate", "rc0", "0"]).status.success());
    assert!(!queue().contains("rate"), "{}", queue());
    for words in [&["cut", "rx0"][..], &["rate", "ra0"], &["rsh", "h0"], &["rsh", "h7", "true"]] {
        assert_eq!(cluster.does(words).status.code(), Some(2), "{words:?}");
    }
}

#[test]
fn the_script_explains_itself() {
    let output = std::process::Command::new(SCRIPT).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    for verb in ["up", "down", "rsh", "rate", "cut", "mend"] {
        assert!(text.contains(&format!("scripts/cluster {verb} ")), "{text}");
    }
}
