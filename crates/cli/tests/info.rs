//! `canele info` of the machine, the settings and a message: its output for people and for programs.

mod support;

use std::collections::BTreeSet;

use canele_sys::tunables::Tunables;
use serde_json::Value;
use support::{Ended, canele, start_with};

fn json(ended: &Ended) -> Value {
    assert_eq!(ended.code(), Some(0), "{}", ended.error);
    serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {}", ended.out))
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys().map(String::as_str).collect()
}

#[test]
fn info_shows_the_machine_and_every_setting() {
    let machine = canele(&["info"]).out;
    for word in ["processors", "memory", "kernel", "rails", "shm", "tcp"] {
        assert!(machine.contains(word), "{machine}");
    }
    let shown = start_with(&["info", "--tunables"], &[("CANELE_YIELDS", "77")], b"").end().out;
    assert!(shown.lines().any(|line| line.starts_with("CANELE_YIELDS") && line.contains("77")), "{shown}");
}

#[test]
fn info_says_which_protocol_a_message_takes() {
    for (bytes, words) in [("8", ": short ("), ("4096", ": eager ("), ("1000000", ": streamed (")] {
        let ended = canele(&["info", "--peer", "1", "--bytes", bytes]);
        assert_eq!(ended.code(), Some(0), "{}", ended.error);
        assert!(
            ended.out.contains(&format!("{bytes} bytes between private buffers{words}")),
            "{}",
            ended.out
        );
    }
    let far = canele(&["info", "--peer", "1", "--bytes", "65536", "--remote"]);
    assert!(far.out.contains("rail      tcp") && far.out.contains("region buffers: eager ("), "{}", far.out);
    let regions = canele(&["info", "--peer", "1", "--bytes", "64K"]).out;
    for words in [
        "65536 bytes between private buffers: eager-multi (",
        "region buffers: direct-both (",
        "private buffer: direct-read (",
    ] {
        assert!(regions.contains(words), "{words}: {regions}");
    }
    assert!(canele(&["info", "--peer", "0", "--bytes", "8"]).out.contains("itself"));
    assert_eq!(canele(&["info", "--peer", "99999", "--bytes", "8"]).code(), Some(2));
    assert_eq!(canele(&["info", "--peer", "1"]).code(), Some(2));
    for wrong in ["64X", "-1", "99999999999999999999", "18014398509481985K"] {
        let bytes = format!("--bytes={wrong}");
        let ended = canele(&["info", "--peer", "1", &bytes]);
        assert!(ended.code() == Some(2) && ended.error.contains("--bytes"), "{wrong}: {}", ended.error);
    }
}

#[test]
fn settings_as_json_are_the_rows_of_the_table() {
    // One setting differs from its default.
    let ask = |args: &[&str]| start_with(args, &[("CANELE_EAGER_BYTES", "4096")], b"").end();
    let text = ask(&["info", "--tunables"]).out;
    let answer = json(&ask(&["info", "--tunables", "--json"]));
    assert_eq!(keys(&answer), ["tunables"].into());
    let rows = answer["tunables"].as_array().unwrap();
    assert_eq!(rows.len(), Tunables::table().count());
    // Below the head of the table each setting has a line of columns and one with a description.
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines.len(), 2 * rows.len(), "{text}");
    for (row, line) in rows.iter().zip(lines.chunks_exact(2)) {
        assert_eq!(keys(row), ["allowed", "default", "doc", "name", "unit", "value", "variable"].into());
        let of = |key: &str| row[key].as_str().unwrap_or_else(|| panic!("no text {key}: {row}"));
        let unit = if of("unit").is_empty() { "-" } else { of("unit") };
        let mut columns = [of("variable"), of("value"), of("default"), unit, of("allowed")].join(" ");
        columns = columns.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(line[0].split_whitespace().collect::<Vec<_>>().join(" "), columns);
        assert_eq!(line[1].trim(), format!("{}.", of("doc")));
        assert_eq!(of("variable"), format!("CANELE_{}", of("name").to_uppercase()));
    }
    let eager = rows.iter().find(|row| row["name"] == "eager_bytes").unwrap();
    assert_eq!((&eager["value"], &eager["default"]), (&"4096".into(), &"0".into()));
}

#[test]
fn what_a_message_takes_is_told_as_json_with_the_numbers_of_the_text() {
    for (bytes, more) in [("8", &[][..]), ("100000", &[]), ("4000000", &[]), ("100000", &["--remote"])] {
        let words = [&["info", "--peer", "3", "--bytes", bytes], more].concat();
        let text = canele(&words).out;
        let answer = json(&canele(&[&words[..], &["--json"]].concat()));
        assert_eq!(keys(&answer), ["bytes", "choices", "eager_bytes", "peer", "rail", "remote"].into());
        let is_remote = !more.is_empty();
        assert_eq!((&answer["peer"], &answer["remote"]), (&3.into(), &is_remote.into()));
        assert_eq!(answer["bytes"].to_string(), bytes);
        let rail = answer["rail"].as_str().unwrap();
        assert_eq!(rail, if is_remote { "tcp" } else { "shm" });
        assert_eq!(lines_of(&answer), text.lines().skip(1).collect::<Vec<_>>());
        assert!(text.starts_with(&format!("rail      {rail}: ")), "{text}");
    }
}

/// Returns the text that an answer stands for, without its first line.
fn lines_of(answer: &Value) -> Vec<String> {
    let mut lines = vec![format!("eager     up to {} bytes", answer["eager_bytes"].as_u64().unwrap())];
    let choices = answer["choices"].as_array().unwrap();
    assert_eq!(choices.len(), 4, "{answer}");
    for choice in choices {
        assert_eq!(keys(choice), ["buffers", "doc", "estimates", "protocol"].into());
        let of = |key: &str| choice[key].as_str().unwrap();
        let (bytes, taken) = (&answer["bytes"], of("protocol"));
        lines.push(format!("{bytes} bytes between {}: {taken} ({})", of("buffers"), of("doc")));
        let estimates = choice["estimates"].as_array().unwrap();
        let taken_once = estimates.iter().filter(|one| one["protocol"] == taken && one["ns"].is_f64());
        assert_eq!(taken_once.count(), 1, "{choice}");
        for estimate in estimates {
            assert_eq!(keys(estimate), ["ns", "protocol"].into());
            let protocol = estimate["protocol"].as_str().unwrap();
            let is_taken = if protocol == taken { "; taken" } else { "" };
            lines.push(match estimate["ns"].as_f64() {
                Some(ns) => format!("    {protocol:<12} about {ns:.0} ns{is_taken}"),
                None => format!("    {protocol:<12} not for this size, these buffers and this rail"),
            });
        }
    }
    lines
}

#[test]
fn info_shows_leaders_among_the_candidates_of_scans_on_several_hosts() {
    for operation in ["scan", "exscan"] {
        let words =
            ["info", "--collective", operation, "--bytes", "8", "--ranks", "16", "--hosts", "2", "--json"];
        let answer = json(&canele(&words));
        let estimates = answer["estimates"].as_array().unwrap();
        let names: Vec<&str> =
            estimates.iter().map(|estimate| estimate["algorithm"].as_str().unwrap()).collect();
        assert_eq!(names, ["doubling", "ring", "flat", "slices", "leaders"], "{answer}");
    }
}

#[test]
fn info_says_which_algorithm_a_collective_takes_and_what_the_others_would_cost() {
    for (operation, bytes, ranks) in
        [("barrier", "0", "4"), ("allreduce", "8", "1000"), ("alltoall", "100000", "2")]
    {
        let words = ["info", "--collective", operation, "--bytes", bytes, "--ranks", ranks];
        let text = canele(&words).out;
        let answer = json(&canele(&[&words[..], &["--json"]].concat()));
        let expected =
            ["algorithm", "bytes", "collective", "doc", "estimates", "hosts", "processors", "ranks"];
        assert_eq!(keys(&answer), expected.into());
        assert_eq!(
            (&answer["collective"], answer["ranks"].to_string()),
            (&operation.into(), ranks.to_owned())
        );
        let estimates = answer["estimates"].as_array().unwrap();
        let ns = |estimate: &Value| estimate["ns"].as_f64().unwrap();
        let least = estimates.iter().min_by(|one, other| ns(one).total_cmp(&ns(other))).unwrap();
        assert_eq!(least["algorithm"], answer["algorithm"], "{answer}");
        let lines = estimates.iter().map(|estimate| {
            let (name, is_taken) = (estimate["algorithm"].as_str().unwrap(), estimate == least);
            format!("    {name:<14} about {:.0} ns{}", ns(estimate), if is_taken { "; taken" } else { "" })
        });
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), lines.collect::<Vec<_>>());
    }
    for wrong in [&["--collective", "dance"][..], &["--collective", "scan", "--peer", "1"], &["--ranks", "2"]]
    {
        assert_eq!(canele(&[&["info"], wrong].concat()).code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_message_to_itself_takes_no_rail_in_json_too() {
    let answer = json(&canele(&["info", "--peer", "0", "--bytes", "8", "--json"]));
    assert_eq!((keys(&answer), &answer["rail"]), (["peer", "rail"].into(), &Value::Null));
    assert!(canele(&["info", "--peer", "0", "--bytes", "8"]).out.contains("no rail"));
}
