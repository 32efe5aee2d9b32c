//! `canele bench` at its smallest sizes: the shape of its output, never a figure.

mod support;

use serde_json::Value;
use std::time::Duration;
use support::hosts::{Cluster, SCRIPT, rsh};
use support::start_with;

/// A time limit for two processes and a launcher on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const SMALL: [&str; 5] = ["--rounds", "1", "--iterations", "20", "--json"];

/// Returns the output of `canele bench WORDS`.
fn report(words: &[&str], variables: &[(&str, &str)]) -> Value {
    let words = [&["bench"], words, &SMALL].concat();
    let ended = start_with(&words, variables, b"").end_within(TIMEOUT);
    assert_eq!(ended.code(), Some(0), "{words:?}: {}", ended.error);
    let report: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(report["bench"], words[1]);
    for row in report["rows"].as_array().unwrap() {
        let figure = row.get("processor_share").or(row.get("median_ns")).and_then(Value::as_f64);
        assert!(figure.is_some_and(|figure| figure >= 0.0), "{row}");
    }
    report
}

/// Returns one field of each row.
fn column(report: &Value, field: &str) -> Vec<Value> {
    report["rows"].as_array().unwrap().iter().map(|row| row[field].clone()).collect()
}

#[test]
fn on_one_host_the_limits_are_those_of_its_memory() {
    let report = report(&["latency", "--bytes", "8,4K"], &[]);
    assert_eq!(column(&report, "bytes"), [8, 4096]);
    assert_eq!(column(&report, "rails"), [Value::Null, Value::Null]);
    assert!(report["limits"]["line_ns"].is_f64() && report["limits"].get("socket").is_none(), "{report}");
}

#[test]
fn between_hosts_the_limits_are_plain_sockets() {
    // Both hosts are this machine, connected by the loopback interface.
    let rsh = rsh("plain");
    let place = ["--hosts", "a:1,b:1", "--rsh", &rsh];
    let lo = [("CANELE_RAILS", "lo")];
    let latency = report(&[&["latency", "--bytes", "8,4K"][..], &place].concat(), &lo);
    assert_eq!(column(&latency, "rails"), [serde_json::json!(["lo"]), serde_json::json!(["lo"])]);
    let sockets = latency["limits"]["socket"].as_array().unwrap();
    assert_eq!(sockets.iter().map(|socket| &socket["bytes"]).collect::<Vec<_>>(), [8, 4096]);
    assert!(sockets.iter().all(|socket| socket["median_ns"].is_f64() && socket["gbytes_per_s"].is_f64()));
    assert!(latency["limits"].get("line_ns").is_none(), "{latency}");
    let bandwidth = report(&[&["bandwidth", "--bytes", "64K"][..], &place].concat(), &lo);
    assert_eq!(bandwidth["limits"]["socket_stream"][0]["bytes"], 65536);
    let rate = report(&[&["rate"][..], &place].concat(), &lo);
    assert_eq!(rate["limits"]["socket_window"][0]["bytes"], 8);
    assert!(rate["rows"][0]["messages_per_s"].is_f64(), "{rate}");
    let all = report(&[&["collectives", "--hosts", "a:2,b:1"][..], &place[2..]].concat(), &lo);
    assert!(column(&all, "ranks").iter().all(|ranks| *ranks == 3));
}

#[test]
fn hosts_that_are_namespaces_have_three_rails() {
    let Some(cluster) = Cluster::up() else { return };
    let rsh = format!("{SCRIPT} rsh");
    let words = ["latency", "--bytes", "8", "--hosts", "h0:1,h1:1", "--rsh", &rsh];
    let report = report(&words, &[("CLUSTER", &cluster.name)]);
    assert_eq!(report["rows"][0]["rails"], serde_json::json!(["ra0", "rb0", "rc0"]));
}

#[test]
fn one_host_alone_is_refused() {
    let rsh = rsh("plain");
    let words = ["bench", "latency", "--hosts", "a:2", "--rsh", &rsh];
    let ended = start_with(&words, &[], b"").end();
    assert_eq!(ended.code(), Some(1));
    assert!(ended.error.contains("name two, as in --hosts h0:1,h1:1"), "{}", ended.error);
}

#[test]
fn puts_and_mailboxes_are_measured_between_hosts_too() {
    let rsh = rsh("plain");
    for kind in ["put", "mailbox"] {
        let words = [kind, "--bytes", "8", "--hosts", "a:1,b:1", "--rsh", &rsh];
        let report = report(&words, &[("CANELE_RAILS", "lo")]);
        assert_eq!(report["rows"][0]["rails"], serde_json::json!(["lo"]), "{kind}");
    }
}

#[test]
fn ranks_that_only_poll_reach_their_end_between_hosts() {
    // The ranks never sleep, so polling alone must send the last messages.
    let rsh = rsh("plain");
    let words = ["wait", "--wait", "poll", "--hosts", "a:1,b:1", "--rsh", &rsh];
    let report = report(&words, &[("CANELE_RAILS", "lo")]);
    assert_eq!(column(&report, "operation"), ["poll ping-pong", "poll blocked"]);
}

/// The experiments at their smallest sizes, and the operations of their rows.
const EXPERIMENTS: [(&[&str], &[&str]); 3] = [
    (&["dsm", "--packs", "1,3", "--strategy", "aggregate"], &["request + rendezvous", "whole"]),
    (&["flows", "--flows", "1,3", "--packs", "2", "--bytes", "4,64K", "--strategy", "aggregate"], &[]),
    (
        &["priority", "--strategy", "priority"],
        &["urgent round trip alone", "urgent round trip beside 4 streams"],
    ),
];

/// Returns the output of `canele bench WORDS --plot`, and checks that the plot shows these words.
fn pictured(words: &[&str], variables: &[(&str, &str)], shows: &[&str]) -> Value {
    let name = format!("canele-plot-{}-{}.svg", std::process::id(), words[0]);
    let path = std::env::temp_dir().join(name);
    let report = report(&[words, &["--plot", path.to_str().unwrap()]].concat(), variables);
    let svg = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>") && svg.len() < 200_000);
    for word in shows {
        assert!(svg.contains(word), "{words:?}: {word} is missing in {svg}");
    }
    report
}

/// Checks that each row has its strategy, and a row of `fifo` for the same operation.
fn compares(report: &Value, other: &str, operations: &[&str]) {
    let rows = report["rows"].as_array().unwrap();
    for row in rows {
        let is_fifo = row["strategy"] == "fifo";
        assert!(is_fifo || row["strategy"] == other, "{row}");
        assert!(row["ratio_to_fifo"].as_f64().is_some_and(|ratio| ratio > 0.0), "{row}");
        assert!(!is_fifo || row["ratio_to_fifo"] == 1.0, "{row}");
        let like = |it: &&Value| {
            ["operation", "bytes", "flows", "packs"].iter().all(|field| it[*field] == row[*field])
        };
        assert_eq!(rows.iter().filter(like).count(), 2, "{row}");
        assert!(operations.is_empty() || operations.iter().any(|name| row["operation"] == *name), "{row}");
    }
    assert!(rows.len() >= 4, "{report}");
}

#[test]
fn strategies_take_turns_on_one_host_and_between_hosts() {
    let rsh = rsh("plain");
    let place = ["--hosts", "a:1,b:1", "--rsh", &rsh];
    for (words, operations) in EXPERIMENTS {
        let other = words[words.len() - 1];
        let shows: &[&str] = match words[0] {
            "dsm" => &["pages asked for at once", "request + rendezvous, aggregate", "whole, fifo"],
            "flows" => &["packs of 64 KB", "packs per message", "3 flows, aggregate", "1 flow, fifo"],
            _ => &["urgent round trip alone, fifo", "99th percentile", "time there and back"],
        };
        compares(&pictured(words, &[], shows), other, operations);
        // Only hosts are connected by a wire.
        let wire: &[&str] = if words[0] == "priority" { &["a piece of a stream on the wire"] } else { &[] };
        let shows = [shows, wire].concat();
        let between = pictured(&[words, &place].concat(), &[("CANELE_RAILS", "lo")], &shows);
        compares(&between, other, operations);
        assert_eq!(between["rows"][0]["rails"], serde_json::json!(["lo"]));
    }
}

#[test]
fn urgent_messages_are_timed_one_by_one_and_streams_go_on_beside_them() {
    let report = report(&["priority", "--strategy", "priority"], &[]);
    for row in report["rows"].as_array().unwrap() {
        assert!(row["longest_ns"].as_f64() >= row["p99_ns"].as_f64(), "{row}");
        assert_eq!(row["streams_gbytes_per_s"].is_f64(), row["flows"] == 5, "{row}");
    }
}

#[test]
fn rails_are_measured_alone_and_together() {
    let Some(cluster) = Cluster::up() else { return };
    let rsh = format!("{SCRIPT} rsh");
    let words = ["rails", "--bytes", "64K,1M", "--hosts", "h0:1,h1:1", "--rsh", &rsh];
    let shows =
        ["ra0 + rb0 + rc0", "MB/s", "plain sockets, the sum", "one message at a time, split", "mixed load"];
    let report = pictured(&words, &[("CLUSTER", &cluster.name)], &shows);
    compares(&report, "split", &["single", "mixed"]);
    let alone = report["limits"]["rails"].as_array().unwrap();
    for rail in ["ra0", "rb0", "rc0"] {
        let sizes = alone.iter().filter(|limit| limit["rail"] == rail).count();
        assert_eq!(sizes, 3, "two sizes and the mixed load: {report}");
    }
    for row in report["rows"].as_array().unwrap() {
        assert!(row["ratio_to_sockets"].is_f64() && row["longest_ns"].is_f64(), "{row}");
        let carried = row["rail_bytes"].as_object().unwrap();
        let all: u64 = carried.values().filter_map(Value::as_u64).sum();
        assert!(all >= row["bytes"].as_u64().unwrap(), "{row}");
    }
}
