//! `canele sim campaign` runs seeds of real programs on every preset, from the command line.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

fn canele(line: &str) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_canele"))
        .args(line.split_whitespace())
        .output()
        .expect("the command can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn seeds_are_well_on_every_preset_and_on_two_rails() {
    for net in [
        "hsl",
        "myrinet-bip",
        "sci-deck",
        "ethernet",
        "ethernet --net ethernet --faults losses",
        "ethernet --faults packets",
    ] {
        let (status, out, err) = canele(&format!("sim campaign --seeds 0..12 --net {net}"));
        assert_eq!(status, Some(0), "{net}: {err}");
        assert!(out.starts_with("12 seeds:"), "{out}");
    }
}

#[test]
fn wrong_usage_says_what_there_is() {
    let (status, _, err) = canele("sim campaign --seeds 0..12 --net token-ring");
    assert_eq!(status, Some(2));
    assert!(err.contains("canele: ") && err.contains("myrinet-bip"), "{err}");
    let (status, _, err) = canele("sim campaign --seeds 0..12 --faults deaths,packets");
    assert_eq!(status, Some(2));
    assert!(err.contains("one of the two"), "{err}");
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object.as_object().unwrap_or_else(|| panic!("no object: {object}")).keys().map(String::as_str).collect()
}

#[test]
fn a_campaign_tells_as_json_how_many_seeds_ran() {
    let line = "sim campaign --seeds 3..10 --net ethernet";
    let ((status, text, err), (of_json, answer, _)) = (canele(line), canele(&format!("{line} --json")));
    assert_eq!((status, of_json), (Some(0), Some(0)), "{err}");
    let answer = json(&answer);
    assert_eq!(keys(&answer), ["failure", "seconds", "seeds"].into());
    assert_eq!((&answer["seeds"], &answer["failure"]), (&7.into(), &Value::Null));
    assert!(text.starts_with(&format!("{} seeds: ", answer["seeds"])), "{text}");
    assert!(answer["seconds"].as_f64() > Some(0.0), "{answer}");
}

/// Returns the cells of a table, without the speed, which depends on the machine.
fn cells(table: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let mut lines: Vec<_> = table.lines().skip(2).map(cells).collect();
    lines.iter_mut().for_each(|line| {
        line[10].clear();
        line[14].clear();
    });
    lines
}

#[test]
fn many_ranks_take_the_same_virtual_time_and_memory_in_every_run() {
    // Every result is checked at every rank; else the status is 1.
    for net in ["ethernet", "hsl"] {
        let line = format!("sim scale --ranks 64,100 --net {net}");
        let ((status, first, err), (_, again, _)) = (canele(&line), canele(&line));
        assert_eq!(status, Some(0), "{err}");
        let (first, again) = (cells(&first), cells(&again));
        assert_eq!(first, again);
        assert_eq!(first.len(), 8, "two numbers of ranks, four operations: {first:?}");
        assert!(first.iter().all(|line| line.len() == 16), "{first:?}");
        let counted = first.iter().all(|line| line[11..14].iter().all(|bytes| bytes.parse::<u64>().is_ok()));
        assert_eq!(counted, cfg!(feature = "memory"), "{first:?}");
    }
}

#[test]
fn each_case_is_a_line_of_json_with_the_numbers_of_the_table() {
    let line = "sim scale --ranks 16,64 --net hsl --operation barrier,allreduce";
    let ((status, table, err), (of_json, rows, _)) = (canele(line), canele(&format!("{line} --json")));
    assert_eq!((status, of_json), (Some(0), Some(0)), "{err}");
    let (table, rows) = (cells(&table), rows.lines().map(json).collect::<Vec<_>>());
    assert_eq!((table.len(), rows.len()), (4, 4), "two numbers of ranks, two operations");
    let mut fields = BTreeSet::from(["ranks", "operation", "network", "virtual_ns", "model_ns", "messages"]);
    fields.extend(["per_host", "between", "events", "wall_s", "idle_bytes", "state_bytes", "net_bytes"]);
    for (row, cells) in rows.iter().zip(table) {
        assert_eq!(keys(row), fields);
        let count = |key: &str| row[key].as_u64().unwrap_or_else(|| panic!("no number {key}: {row}"));
        let (virtual_ns, model_ns) = (count("virtual_ns") as f64, count("model_ns") as f64);
        assert_eq!([&row["network"], &row["operation"]], [cells[1].as_str(), cells[2].as_str()]);
        assert_eq!(cells[3..5], [count("ranks").to_string(), count("per_host").to_string()]);
        assert_eq!(
            cells[5..7],
            [format!("{:.1}", virtual_ns / 1e3), format!("{:.2}", virtual_ns / model_ns)]
        );
        assert_eq!(cells[7..10], ["messages", "between", "events"].map(|key| count(key).to_string()));
        let bytes = ["idle_bytes", "state_bytes", "net_bytes"];
        let bytes = bytes.map(|key| row[key].as_u64().map_or("-".into(), |bytes| bytes.to_string()));
        assert_eq!(cells[11..14], bytes);
        assert!(row["wall_s"].as_f64() > Some(0.0), "{row}");
    }
}

#[test]
fn a_barrier_of_64_ranks_takes_six_messages_one_after_the_other() {
    let (status, out, err) = canele("sim scale --ranks 64 --operation barrier");
    assert_eq!(status, Some(0), "{err}");
    let line = &cells(&out)[0];
    // 2 µs, 8 µs and 16 bytes, twice 14 ns.
    assert_eq!(line[5..10], ["60.2", "1.00", "384", "384", "1152"], "{out}");
}

#[test]
fn ranks_of_a_host_share_what_goes_between_hosts() {
    let operations =
        "barrier,broadcast,reduce,allreduce,gather,scatter,allgather,alltoall,reduce-scatter,scan,exscan";
    // A last host with fewer ranks, and a network of routers.
    for line in ["--ranks 128 --per-host 16", "--ranks 42 --per-host 5", "--ranks 64 --per-host 16 --net hsl"]
    {
        let (status, out, err) = canele(&format!("sim scale {line} --operation {operations}"));
        assert_eq!(status, Some(0), "{line}: {err}");
        let lines = cells(&out);
        assert_eq!(lines.len(), 11, "{out}");
        if line.ends_with("--per-host 16") {
            // Three rounds of eight hosts; a tree; each pair of hosts.
            let between = |operation: &str| {
                let line = lines.iter().find(|line| line[2] == operation).expect("an operation");
                line[8].parse::<u64>().expect("a number")
            };
            assert_eq!(["barrier", "broadcast", "reduce", "alltoall"].map(between), [24, 7, 7, 56], "{out}");
            let model = |line: &Vec<String>| line[6].parse::<f64>().expect("a number");
            assert!(lines.iter().all(|line| model(line) < 1.7), "{out}");
        }
    }
}

#[test]
fn an_algorithm_is_taken_by_its_name() {
    let packets = |algorithm: &str| {
        let line = "sim scale --ranks 32 --per-host 8 --bytes 65536 --operation broadcast";
        let (status, out, err) = canele(&format!("{line} --algorithm {algorithm}"));
        assert_eq!(status, Some(0), "{algorithm}: {err}");
        cells(&out)[0][8].parse::<u64>().expect("a number")
    };
    // The data go from host to host as one message, in pieces, or as one message of each rank.
    assert!(packets("leaders") < packets("lanes"));
    let (status, _, err) = canele("sim scale --ranks 4 --operation barrier --algorithm circle");
    assert_eq!(status, Some(2));
    assert!(err.contains("circle") && err.contains("leaders"), "{err}");
}

#[test]
fn a_broadcast_reaches_every_rank_and_waits_for_none_but_its_tree() {
    // A status of 0 says that every rank has the data of rank 0.
    let (status, out, err) = canele("sim scale --ranks 100 --operation broadcast --bytes 64");
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(cells(&out)[0][7], "99", "one message for each rank but the first: {out}");
}

#[test]
fn a_picture_is_drawn_and_wrong_numbers_are_refused() {
    let path = std::env::temp_dir().join(format!("canele-scale-{}.svg", std::process::id()));
    let line = format!("sim scale --ranks 2,16 --operation barrier,allreduce --plot {}", path.display());
    let (status, _, err) = canele(&line);
    assert_eq!(status, Some(0), "{err}");
    let svg = std::fs::read_to_string(&path).expect("the picture");
    std::fs::remove_file(&path).expect("it can be removed");
    assert!(svg.starts_with("<svg") && svg.contains("allreduce, ethernet"), "{svg}");
    for (line, says) in [
        ("--ranks 1", "2 to 100000"),
        ("--ranks 4 --bytes 12", "multiple of 8"),
        ("--ranks 4 --per-host 0", "1..=1024"),
    ] {
        let (status, _, err) = canele(&format!("sim scale {line}"));
        assert_eq!(status, Some(2));
        assert!(err.contains(says), "{err}");
    }
}
