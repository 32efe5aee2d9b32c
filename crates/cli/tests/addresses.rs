//! Interfaces that are down, equal in every host, or behind a firewall. Ranks try them all, and report them
//! if no connection is left. Skipped with a message on a machine without network namespaces.

mod support;

use support::hosts::Cluster;
use support::ranks::example;

/// Changes the network of both hosts.
fn on_both(cluster: &Cluster, command: &str) {
    for host in ["h0", "h1"] {
        let output = cluster.does(&["rsh", host, command]);
        assert!(output.status.success(), "{host}: {command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

fn does(cluster: &Cluster, words: &[&str]) {
    let output = cluster.does(words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn bridges_dead_interfaces_and_firewalls_do_not_keep_hosts_apart() {
    let Some(cluster) = Cluster::up() else { return };
    // Docker gives every host this address, and each host reaches only itself by it.
    on_both(&cluster, "ip link add docker0 type bridge");
    on_both(&cluster, "ip addr add 172.17.0.1/16 dev docker0 && ip link set docker0 up");
    on_both(&cluster, "ip link add idle0 type bridge && ip addr add 10.9.0.1/24 dev idle0");
    does(&cluster, &["swallow", "ra0"]);
    does(&cluster, &["cut", "rb0"]);
    let ended = cluster.start("h0:1,h1:1", &[], &[&example("rails_check"), "1"]).end();
    assert_eq!((ended.code(), ended.lines().len()), (Some(0), 2), "{}", ended.error);
}

#[test]
fn a_rail_behind_a_firewall_is_left_alone_while_another_works_and_used_when_that_falls() {
    let Some(cluster) = Cluster::up() else { return };
    does(&cluster, &["swallow", "ra0"]);
    does(&cluster, &["swallow", "rb0"]);
    let run = cluster.start("h0:1,h1:1", &[], &[&example("rails_check"), "7"]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    does(&cluster, &["mend", "rb0"]);
    // Attempts on a rail are a second apart.
    std::thread::sleep(std::time::Duration::from_secs(2));
    does(&cluster, &["swallow", "rc0"]);
    let ended = run.end();
    assert_eq!((ended.code(), ended.lines().len()), (Some(0), 2), "{}", ended.error);
}

#[test]
fn where_nothing_leads_to_the_other_host_each_address_is_told_with_its_error() {
    let Some(cluster) = Cluster::up() else { return };
    does(&cluster, &["swallow", "ra0"]);
    let no_way = "ip route add unreachable 10.77.2.2/32 && ip route add prohibit fd77:2::2/128 && \
                  ip route add unreachable 10.77.3.2/32 && ip route add unreachable fd77:3::2/128";
    does(&cluster, &["rsh", "h0", no_way]);
    let options = ["--on-failure", "continue"];
    let ended = cluster.start("h0:1,h1:1", &options, &[&example("rails_check"), "1"]).end();
    assert_eq!(ended.code(), Some(1));
    let told =
        |by: &str| ended.error.lines().find(|line| line.contains(&format!("no connection to host {by}: ")));
    let mut hosts = 0;
    for (host, other, tries) in [
        (
            "h1",
            "rank 1 is gone",
            [
                ("10.77.1.2:", "Connection timed out (os error 110)"),
                ("[fd77:1::2]:", "Connection timed out (os error 110)"),
                ("10.77.2.2:", "No route to host (os error 113)"),
                ("[fd77:2::2]:", "Permission denied (os error 13)"),
                ("10.77.3.2:", "No route to host (os error 113)"),
                ("[fd77:3::2]:", "No route to host (os error 113)"),
            ],
        ),
        (
            "h0",
            "rank 0 is gone",
            ["10.77.1.1:", "[fd77:1::1]:", "10.77.2.1:", "[fd77:2::1]:", "10.77.3.1:", "[fd77:3::1]:"]
                .map(|address| (address, "Connection timed out (os error 110)")),
        ),
    ] {
        // One rank, but not both, may learn that the other gave up before its own attempts have ended.
        if ended.error.contains(other) {
            continue;
        }
        hosts += 1;
        let line = told(host).unwrap_or_else(|| panic!("nothing of {host}: {}", ended.error));
        for (address, error) in tries {
            let try_of = line.split("; ").find(|part| part.contains(address));
            assert!(try_of.is_some_and(|part| part.contains(error)), "{address} {error}: {line}");
        }
    }
    assert!(hosts > 0, "no host told of addresses: {}", ended.error);
}
