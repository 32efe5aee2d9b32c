//! Traces of jobs: the contents of the file, and the findings of `canele trace`.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::hosts::start_on;
use support::ranks::{program, start_job};
use support::{canele, kill, wait_until};

/// Returns a file name of this test that does not exist yet.
fn file(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("canele-tracing-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn events(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(all["canele"]["version"], 2);
    all["traceEvents"].as_array().unwrap().clone()
}

fn number(event: &Value, of: &str) -> f64 {
    event[of].as_f64().unwrap_or_else(|| panic!("no {of}: {event}"))
}

fn of<'e>(events: &'e [Value], phase: &'e str, category: &'e str) -> impl Iterator<Item = &'e Value> {
    events.iter().filter(move |event| event["ph"] == phase && event["cat"] == category)
}

/// Returns true for a message of the program with this tag: collectives have a flow of their own.
fn is_with(event: &Value, tag: u32) -> bool {
    event["args"]["tag"] == tag && event["args"]["flow"] == 0
}

/// Checks that times of a rank rise from line to line, and that slices of a thread are nested or apart.
fn assert_ordered(events: &[Value]) {
    let mut last: BTreeMap<u64, f64> = BTreeMap::new();
    let mut open: BTreeMap<(u64, u64), Vec<f64>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] != "M") {
        let (rank, at) = (event["pid"].as_u64().unwrap(), number(event, "ts"));
        let before = last.insert(rank, at).unwrap_or(0.0);
        assert!(before <= at, "rank {rank} goes back from {before} to {at}");
        if event["ph"] == "X" {
            let (end, stack) =
                (at + number(event, "dur"), open.entry((rank, number(event, "tid") as u64)).or_default());
            // The file has nanoseconds; sums of them have rounding errors.
            while stack.last().is_some_and(|until| *until <= at + 0.0005) {
                stack.pop();
            }
            assert!(
                stack.last().is_none_or(|until| end <= *until + 0.0005),
                "it ends after what it lies in: {event}"
            );
            stack.push(end);
        }
    }
}

/// Checks that every message has an arrow from its send to its receive, forwards in time.
fn assert_arrows(events: &[Value], least: usize) {
    let ends = |phase| -> BTreeMap<u64, (f64, u64)> {
        of(events, phase, "message")
            .map(|event| {
                (event["id"].as_u64().unwrap(), (number(event, "ts"), event["pid"].as_u64().unwrap()))
            })
            .collect()
    };
    let (starts, arrivals) = (ends("s"), ends("f"));
    assert!(starts.len() >= least, "{} arrows", starts.len());
    assert_eq!(starts.keys().collect::<Vec<_>>(), arrivals.keys().collect::<Vec<_>>());
    for (id, (sent, from)) in &starts {
        let (received, to) = arrivals[id];
        assert!(
            *sent <= received,
            "message {id} from {from} to {to} arrives {} µs before it is sent",
            sent - received
        );
    }
}

#[test]
fn a_trace_has_calls_messages_and_arrows_and_its_summary_names_the_late_sender() {
    let path = file("whole.json");
    let trace = path.to_str().unwrap();
    let ended = start_job(&["-n", "4", "--trace", trace], &["traced"], &[]).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert!(ended.error.contains("written to"), "{}", ended.error);
    let events = events(&path);
    assert_ordered(&events);
    // Ten rounds and a long message from each of four ranks, and the late message. Messages of collectives
    // add to these.
    assert_arrows(&events, 45);
    let sends = of(&events, "X", "send").filter(|event| is_with(event, 1)).collect::<Vec<_>>();
    assert_eq!(sends.len(), 40);
    assert!(sends.iter().all(|send| send["args"]["protocol"] == "short"), "{sends:?}");
    assert!(
        sends.iter().all(|send| send["args"]["message"].is_u64() && send["args"]["bytes"] == 8),
        "{sends:?}"
    );
    let long: Vec<_> = of(&events, "X", "receive").filter(|event| is_with(event, 2)).collect();
    assert_eq!(long.len(), 4);
    assert!(long.iter().all(|message| message["args"]["bytes"] == 1 << 20), "{long:?}");
    assert!(of(&events, "e", "reception").count() >= 4, "long messages take time to come");
    for name in ["barrier", "allreduce"] {
        let ranks = of(&events, "X", "collective").filter(|event| event["name"] == name).count();
        assert_eq!(ranks, 4, "{name}");
    }
    let said = canele(&["trace", trace]);
    assert_eq!(said.code(), Some(0), "{}", said.error);
    let cause = said
        .out
        .lines()
        .find(|line| line.starts_with("* rank 1 computes longest before"))
        .unwrap_or_default();
    assert!(cause.contains("; rank 0 waits ") || cause.contains("ranks 0"), "{}", said.out);
    // The program sleeps at this place before it sends.
    assert!(cause.contains("traced::run (traced.rs:"), "{cause}");
    let json = canele(&["trace", trace, "--json"]).out;
    let summary: Value = serde_json::from_str(&json).unwrap();
    let late = &summary["late_senders"][0];
    assert_eq!((&late["sender"], &late["receiver"]), (&1.into(), &0.into()), "{json}");
    assert!(number(late, "waited") > 100_000.0, "{late}");
    let cause = &summary["causes"][0];
    assert_eq!((&cause["rank"], &cause["kind"]), (&1.into(), &"computes".into()), "{json}");
    assert!(number(cause, "waited") > 100_000.0, "{cause}");
    let svg = file("whole.svg");
    let drawn = canele(&["trace", trace, "--svg", svg.to_str().unwrap()]);
    assert_eq!(drawn.code(), Some(0), "{}", drawn.error);
    let picture = std::fs::read_to_string(&svg).unwrap();
    assert!(picture.contains("<svg") && picture.contains("rank 3"), "{picture}");
    let html = file("whole.html");
    let written = canele(&["trace", trace, "--html", html.to_str().unwrap()]);
    assert_eq!(written.code(), Some(0), "{}", written.error);
    assert_page(&html, &events);
    [path, svg, html].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

/// Checks that a page names the cause and loads nothing, and that its own code finds the trace's contents.
/// The last check needs Node.js.
fn assert_page(html: &Path, events: &[Value]) {
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("computes longest before"), "{page}");
    assert!(!page.contains("http:") && !page.contains("https:"), "{page}");
    let between = |before: &str, after: &str| {
        page.split_once(before).unwrap().1.split_once(after).unwrap().0.to_owned()
    };
    let decode = format!("{}\n", between("<script>\n", "const summary = "));
    let script = format!(
        "{decode}const found = decodeEvents({:?}); \
         console.log(found.isWhole, found.rows.length, found.rows.reduce((sum, row) => sum + row.start.length, 0), found.messages.count)",
        between("id=\"events\">", "</script>")
    );
    let Ok(ended) = std::process::Command::new("node").arg("-e").arg(script).output() else { return };
    let slices = events.iter().filter(|event| {
        event["ph"] == "X" && ["call", "collective", "wait"].iter().any(|category| event["cat"] == **category)
    });
    let messages = of(events, "s", "message").count();
    let out = String::from_utf8_lossy(&ended.stdout);
    assert_eq!(
        out.trim(),
        format!("true 4 {} {messages}", slices.count()),
        "{}",
        String::from_utf8_lossy(&ended.stderr)
    );
}

#[test]
fn the_events_of_a_rank_that_was_killed_are_there() {
    let path = file("killed.json");
    let job = start_job(&["-n", "3", "--trace", path.to_str().unwrap()], &["traced", "killed"], &[]);
    let (victim, launcher) = (job.wait_for_rank(2), job.run.pid().to_string());
    wait_until("all others wait for rank 2", || {
        canele(&["why", &launcher]).out.matches("receive from rank 2, tag 10").count() == 2
    });
    kill("KILL", victim);
    let ended = job.end();
    assert_eq!(ended.code(), Some(137), "{}", ended.error);
    let events = events(&path);
    assert_ordered(&events);
    let sends = of(&events, "X", "send").filter(|event| event["pid"] == 2 && is_with(event, 1));
    assert_eq!(sends.count(), 10);
    // The other ranks may learn of its death before they are ended, or not.
    let waits: Vec<_> = of(&events, "X", "wait").filter(|event| is_with(event, 10)).collect();
    assert_eq!(waits.len(), 2, "{waits:?}");
    assert!(waits.iter().all(|wait| wait["name"] == "wait for a message from 2"), "{waits:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn ranks_of_two_hosts_are_in_one_trace() {
    let path = file("hosts.json");
    let program = program();
    let run = start_on("plain", "h0:2,h1:2", &["--trace", path.to_str().unwrap()], &[&program, "traced"]);
    let ended = run.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let events = events(&path);
    assert_ordered(&events);
    let hosts: Vec<_> = events
        .iter()
        .filter(|event| event["name"] == "process_name")
        .map(|event| event["args"]["host"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(hosts, ["h0", "h0", "h1", "h1"]);
    let starts: BTreeMap<u64, f64> = of(&events, "s", "message")
        .map(|event| (event["id"].as_u64().unwrap(), number(event, "ts")))
        .collect();
    let arrivals: Vec<_> = of(&events, "f", "message").collect();
    assert!(arrivals.len() >= 45, "{}", arrivals.len());
    let text = std::fs::read_to_string(&path).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let uncertainty: f64 = all["otherData"]["clock_uncertainty_ns"].as_str().unwrap().parse().unwrap();
    assert!(uncertainty > 0.0, "clocks were compared");
    for arrival in arrivals {
        let sent = starts[&arrival["id"].as_u64().unwrap()];
        let early = sent - number(arrival, "ts");
        assert!(early * 1000.0 <= 2.0 * uncertainty + 2.0, "arrives {early} µs before it is sent");
    }
    let said = canele(&["trace", path.to_str().unwrap()]).out;
    assert!(said.contains("* rank 1 computes longest before"), "{said}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn messages_of_threads_have_their_lanes_and_arrows() {
    let path = file("lanes.json");
    let trace = path.to_str().unwrap();
    let ended =
        start_job(&["-n", "2", "--trace", trace], &["traced", "lanes"], &[("CANELE_LANES", "3")]).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    let events = events(&path);
    assert_ordered(&events);
    assert_arrows(&events, 66);
    for (category, tag, of_a_lane) in
        [("send", 500, 20), ("receive", 500, 20), ("send", 600, 2), ("receive", 600, 2)]
    {
        let mut lanes: BTreeMap<u64, usize> = BTreeMap::new();
        for event in of(&events, "X", category).filter(|event| event["args"]["tag"] == tag) {
            assert!(event["args"]["message"].is_u64(), "{event}");
            *lanes.entry(event["args"]["lane"].as_u64().unwrap_or(0)).or_default() += 1;
        }
        assert_eq!(
            lanes,
            BTreeMap::from([(0, of_a_lane), (1, of_a_lane), (2, of_a_lane)]),
            "{category} {tag}"
        );
    }
    let waits: Vec<_> = of(&events, "X", "wait").filter(|event| event["pid"] == 1).collect();
    let long = waits.iter().filter(|wait| number(wait, "dur") > 100_000.0);
    assert_eq!(long.map(|wait| &wait["name"]).collect::<Vec<_>>(), ["wait for any of several"], "{waits:?}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_finds_no_room_is_counted() {
    let path = file("full.json");
    let room = [("CANELE_TRACE_BYTES", "5120")];
    let ended = start_job(&["-n", "2", "--trace", path.to_str().unwrap()], &["traced"], &room).end();
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    assert!(ended.error.contains("more found no room: raise CANELE_TRACE_BYTES"), "{}", ended.error);
    assert_ordered(&events(&path));
    assert!(canele(&["trace", path.to_str().unwrap()]).out.contains("events found no room"));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_is_no_trace_is_refused_in_words() {
    let refused = |path: &Path, what: &str| {
        let ended = canele(&["trace", path.to_str().unwrap()]);
        assert_eq!(ended.code(), Some(1), "{}", ended.error);
        assert!(ended.error.contains(what), "{what}: {}", ended.error);
    };
    let path = file("bad.json");
    refused(&path, "No such file");
    for (text, what) in [
        ("", "cut off"),
        (
            "{\"canele\":{\"version\":1,\"command\":\"a\"},\"traceEvents\":[\n{\"ph\":\"X\",\"pid\":0",
            "cut off",
        ),
        (
            "not JSON",
            "no trace of `canele run --trace`: record one with `canele run -n N --trace run.json PROGRAM`",
        ),
        ("[1,2]", "no trace of `canele run --trace`"),
        ("{\"traceEvents\":[]}", "no trace of `canele run --trace`"),
        ("{\"canele\":{\"version\":9,\"command\":\"a\"},\"traceEvents\":[]}", "version 9"),
        ("{\"canele\":{\"version\":1,\"command\":\"a\"},\"traceEvents\":[{\"ph\":7}]}", "no trace"),
        ("{\"canele\":{\"version\":1,\"command\":\"a\"},\"traceEvents\":[]} more", "something follows"),
    ] {
        std::fs::write(&path, text).unwrap();
        refused(&path, what);
    }
    std::fs::remove_file(&path).unwrap();
    let ended = canele(&["run", "-n", "1", "--trace", "/no/such/folder/t.json", "true"]);
    assert_eq!(ended.code(), Some(2));
    assert!(ended.error.contains("--trace /no/such/folder/t.json"), "{}", ended.error);
}

#[test]
fn a_trace_says_nothing_that_a_terminal_obeys() {
    let path = file("obeyed");
    let event = |name: &str| format!(r#"{{"ph":"X","cat":"call","pid":0,"ts":1,"dur":2,"name":"{name}"}}"#);
    let trace = format!(
        r#"{{"canele":{{"version":1,"command":"x\u001b]0;owned\u0007\u009b31mRED"}},"traceEvents":[{}]}}"#,
        event(r"\u001b[2J\u001b[Hcleared\nrow")
    );
    std::fs::write(&path, trace).unwrap();
    let path = path.to_str().unwrap();
    for options in [&["trace", path][..], &["trace", path, "--json"]] {
        let ended = canele(options);
        assert!(ended.out.contains("cleared"), "{ended:?}");
        assert!(!ended.out.chars().any(|c| c.is_control() && c != '\n'), "{ended:?}");
        assert!(!ended.out.contains(r"\u001b") && !ended.out.contains("\nrow"), "{ended:?}");
    }
    std::fs::remove_file(path).unwrap();
}
