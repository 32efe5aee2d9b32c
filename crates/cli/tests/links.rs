//! Reports on the links of a running job's ranks: the rail to each peer, and its state.

mod support;

use serde_json::{Value, json};
use support::hosts::{Cluster, start_on};
use support::ranks::{example, program, start_job};
use support::{canele, kill, wait_until};

/// Returns the output of `canele info --job` for the launcher `pid`.
fn ask(pid: u32, more: &[&str]) -> String {
    canele(&[&["info", "--job", &pid.to_string()], more].concat()).out
}

/// Asks for the report as JSON until `is` returns true.
fn wait_for(pid: u32, what: &str, mut is: impl FnMut(&Value) -> bool) {
    wait_until(what, || {
        let report: Value = serde_json::from_str(&ask(pid, &["--rails", "--json"])).unwrap_or_default();
        is(&report)
    });
}

/// Returns the lines below the row of a rank.
fn lines_of(table: &str, rank: u32) -> Vec<String> {
    let below = table.lines().skip_while(|line| !line.starts_with(&format!("{rank:>5} "))).skip(1);
    below.take_while(|line| line.starts_with("        ")).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn on_one_host_all_peers_are_in_shared_memory() {
    // Rank 3 has finished, so no rank has a link to it any more.
    let job = start_job(&["-n", "4", "--wait", "sleep"], &["counted"], &[]);
    let pid = job.run.pid();
    wait_for(pid, "the links of ranks that sleep or come by", |report| {
        report["ranks"][1]["links"]["shm"] == json!([[0, 0], [2, 2]])
            && report["ranks"][0]["links"]["shm"] == json!([[1, 1]])
            && report["rails"] == json!([])
    });
    wait_until("a table of them", || {
        let table = ask(pid, &["--rails"]);
        lines_of(&table, 1).first().is_some_and(|line| line == "ranks 0, 2 shm")
            && lines_of(&table, 2).first().is_some_and(|line| line.contains("did not come by"))
            && lines_of(&table, 3) == ["messages sent, with their mean sizes: 2 short of 8 B"]
            && table.lines().any(|line| line.starts_with("    1 ") && line.contains(" 2 shm "))
    });
    let one = ask(pid, &["--rails", "--rank", "1"]);
    assert!(lines_of(&one, 0).is_empty() && !lines_of(&one, 1).is_empty(), "{one}");
    let report: Value = serde_json::from_str(&ask(pid, &["--json"])).unwrap();
    assert!(report["ranks"][1].get("links").is_none(), "only with --rails: {report}");
    let wrong = canele(&["info", "--job", &pid.to_string(), "--rank", "4"]);
    assert!(wrong.code() == Some(1) && wrong.error.contains("ranks 0 to 3"), "{}", wrong.error);
    kill("TERM", pid);
    assert_eq!(job.end().code(), Some(143));
}

#[test]
fn between_hosts_each_link_has_its_addresses_and_what_it_moved() {
    // Rank 0 is on the host of rank 1; ranks 2 and 3 of the other host send to rank 1.
    let lo = ["--env", "CANELE_RAILS=lo"];
    let run = start_on("plain", "h0:2,h1:2", &lo, &[&program(), "counted"]);
    wait_for(run.pid(), "the links of rank 1", |report| {
        let links = &report["ranks"][1]["links"];
        let to_2 = links["sockets"].as_array().and_then(|all| all.iter().find(|link| link["peer"] == 2));
        links["shm"] == json!([[0, 0]])
            && to_2.is_some_and(|link| {
                let here = link["here"].as_str().unwrap_or_default();
                link["rail"] == 1
                    && link["open"] == true
                    && here.starts_with("127.0.0.1:")
                    && link["received"].as_u64() > Some(0)
                    && link["round_trip_ns"].is_u64()
                    && link["under_way"].is_u64()
            })
            && report["rails"][0]["hosts"][1]["interface"] == "lo"
    });
    let table = ask(run.pid(), &["--rails"]);
    assert!(table.contains("\ntcp 1: lo on h0 (127.0.0.1") && table.contains("lo on h1 ("), "{table}");
    let lines = lines_of(&table, 1);
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["rank", "0", "shm"]);
    assert!(lines[1].starts_with("rank 2 ") && lines[1].contains(" tcp 1 lo "), "{table}");
    for word in ["127.0.0.1 to 127.0.0.1: open", "sent", "received", "under way"] {
        assert!(lines[1].contains(word), "{word}: {table}");
    }
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
}

#[test]
fn rails_that_are_cut_and_mended_show_it() {
    let Some(cluster) = Cluster::up() else { return };
    // This job runs until the test ends it.
    let run = cluster.start("h0:1,h1:1", &[], &[&example("rails_check"), "1000"]);
    let open = |report: &Value| {
        let links = report["ranks"][0]["links"]["sockets"].as_array().cloned().unwrap_or_default();
        let is_open = |link: &&Value| link["open"] == true;
        links.iter().filter(is_open).filter_map(|link| link["rail"].as_u64()).collect::<Vec<_>>()
    };
    wait_for(run.pid(), "three rails, measured", |report| {
        let links = report["ranks"][0]["links"]["sockets"].as_array().cloned().unwrap_or_default();
        open(report) == [1, 2, 3] && links.iter().all(|link| link["bytes_per_s"].as_u64() > Some(0))
    });
    let table = ask(run.pid(), &["--rails"]);
    for words in ["tcp 2: rb0 on h0 (10.77.2.1, fd77:2::1), rb0 on h1", " tcp 3 rc0 ", "MB/s, round trip"] {
        assert!(table.contains(words), "{words}: {table}");
    }
    assert!(cluster.does(&["cut", "rb0"]).status.success());
    wait_for(run.pid(), "two rails", |report| open(report) == [1, 3]);
    let table = ask(run.pid(), &["--rails", "--rank", "0"]);
    assert!(
        lines_of(&table, 0).iter().any(|line| line.starts_with("tcp 2 rb0") && line.contains("not open: "))
    );
    assert!(cluster.does(&["mend", "rb0"]).status.success());
    wait_for(run.pid(), "three rails again", |report| open(report) == [1, 2, 3]);
    kill("TERM", run.pid());
    assert_eq!(run.end().code(), Some(143));
}
