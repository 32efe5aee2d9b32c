//! Reports with known figures: the statistics of a row, and the JSON object character by character.

use super::*;
use crate::run::Wait;

pub fn task(bench: Bench, ranks: u32) -> Task {
    let (buffers, wait) = (Buffers::Private, Wait::Adaptive);
    Task {
        bench,
        bytes: vec![],
        ranks,
        buffers,
        wait,
        rounds: 3,
        iterations: None,
        strategies: vec![],
        flows: vec![],
        packs: vec![],
        limits: true,
        between_hosts: false,
        settings: vec![],
        calls: vec![],
        most_seconds: None,
    }
}

fn case(
    bytes: usize,
    figure: Figure,
    limits: Vec<Limit>,
    rounds: &[f64],
    beside: &[f64],
) -> (Case, Measured) {
    let mut case = Case::of_bytes(bytes, figure, 10, limits);
    case.buffers = Some(Buffers::Private);
    let beside = vec![beside.to_vec(); case.limits.len()];
    (case, Measured { rounds: rounds.to_vec(), batches: rounds.to_vec(), beside, ..Measured::default() })
}

/// Returns a latency report of a few sizes with plain figures.
pub fn latency() -> Report {
    let cases = vec![
        case(0, Figure::Time, vec![Limit::Line], &[80.0, 90.0, 70.0], &[40.0, 100.0, 70.0]),
        case(1024, Figure::Time, vec![Limit::Copy1(1024)], &[128.0, 256.0, 128.0], &[64.0; 3]),
        case(1 << 20, Figure::Time, vec![Limit::Stream(1 << 20)], &[40_000.0; 3], &[20_000.0; 3]),
    ];
    let limits = [
        (Limit::Line, vec![40.0, 100.0, 70.0]),
        (Limit::Cells, vec![5.0; 3]),
        (Limit::Flags, vec![5400.0; 3]),
        (Limit::Copy1(1024), vec![64.0; 3]),
        (Limit::Copy2(1024), vec![128.0; 3]),
        (Limit::Stream(1 << 20), vec![20_000.0; 3]),
    ]
    .into();
    let sample = Sample { cases, limits };
    let protocol = |case: &Case| Some(if case.bytes == Some(0) { "short" } else { "eager" }.to_owned());
    Report::new(&task(Bench::Latency, 2), &sample, protocol)
}

#[test]
fn json_is_the_documented_object() {
    let expected = concat!(
        r#"{"bench":"latency","rows":["#,
        r#"{"bytes":0,"ranks":2,"buffers":"private","protocol":"short","median_ns":80.0,"min_ns":70.0,"p99_ns":90.0},"#,
        r#"{"bytes":1024,"ranks":2,"buffers":"private","protocol":"eager","median_ns":128.0,"min_ns":128.0,"#,
        r#""p99_ns":256.0,"gbytes_per_s":8.0},"#,
        r#"{"bytes":1048576,"ranks":2,"buffers":"private","protocol":"eager","median_ns":40000.0,"min_ns":40000.0,"#,
        r#""p99_ns":40000.0,"gbytes_per_s":26.2144}],"#,
        r#""limits":{"line_ns":70.0,"cells_per_s":200000000.0,"flags_ns":5400.0,"#,
        r#""copy1":[{"bytes":1024,"gbytes_per_s":16.0}],"copy2":[{"bytes":1024,"gbytes_per_s":8.0}],"#,
        r#""stream":[{"bytes":1048576,"gbytes_per_s":52.4288}]}}"#,
        "\n"
    );
    assert_eq!(latency().json(), expected);
}

#[test]
fn a_table_without_limits_says_so_once() {
    let mut sample = Sample::default();
    sample.cases.push(case(0, Figure::Time, vec![], &[9000.0; 3], &[]));
    let text = crate::bench::table::table(&Report::new(&task(Bench::Latency, 2), &sample, |_| None));
    assert!(text.ends_with("\nNo limits were measured.\n"), "{text}");
    assert!(!text.contains("This machine"), "{text}");
}

#[test]
fn what_does_not_apply_is_absent() {
    let mut sample = Sample::default();
    let (mut barrier, measured) = case(0, Figure::Time, vec![], &[9000.0; 3], &[]);
    (barrier.operation, barrier.bytes, barrier.buffers) = (Some("barrier".into()), None, None);
    sample.cases.push((barrier, measured));
    let json = Report::new(&task(Bench::Collectives, 8), &sample, |_| None).json();
    let row = r#"{"ranks":8,"median_ns":9000.0,"min_ns":9000.0,"p99_ns":9000.0,"operation":"barrier"}"#;
    assert_eq!(json, format!("{{\"bench\":\"collectives\",\"rows\":[{row}],\"limits\":{{}}}}\n"));
}

#[test]
fn ratios_are_medians_of_paired_rounds() {
    // 80/40 = 2, 90/100 = 0.9, 70/70 = 1: not the ratio of the medians, 80/70.
    assert_eq!(latency().lines[0].beside[0].ratio, 1.0);
    let rate = case(8, Figure::Rate, vec![Limit::Cells], &[20.0, 10.0, 20.0], &[5.0; 3]);
    let mut sample = Sample::default();
    sample.cases.push(rate);
    let report = Report::new(&task(Bench::Rate, 2), &sample, |_| None);
    assert_eq!(report.lines[0].beside[0].ratio, 0.25);
    assert_eq!(report.lines[0].row.messages_per_s, Some(5e7));
}

#[test]
fn processor_time_is_a_share_and_no_time() {
    let mut sample = Sample::default();
    sample.cases.push(case(8, Figure::Processor, vec![], &[2e6, 1e6, 3e6], &[]));
    let line = Report::new(&task(Bench::Wait, 2), &sample, |_| None).lines.remove(0);
    assert_eq!((line.row.processor_share, line.row.median_ns), (Some(0.002), None));
}

#[test]
fn joined_jobs_keep_the_later_flags() {
    let mut all = latency();
    let mut other = latency();
    other.limits = vec![(Limit::Flags, 7000.0)];
    all.join(other);
    assert_eq!(all.lines.len(), 6);
    assert!(all.json().contains(r#""flags_ns":7000.0"#) && all.json().contains(r#""line_ns":70.0"#));
}

#[test]
fn a_report_survives_the_way_to_the_command() {
    let text = serde_json::to_string(&latency()).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), latency());
}

#[test]
fn the_time_of_a_piece_follows_from_the_rate_of_the_streams() {
    let piece = |gbytes_per_s, between_hosts| {
        let mut sample = Sample::default();
        let (case, measured) = case(64, Figure::Time, vec![], &[9000.0; 3], &[]);
        sample.cases.push((case, Measured { streams: vec![gbytes_per_s], ..measured }));
        let task = Task { between_hosts, ..task(Bench::Priority, 2) };
        Report::new(&task, &sample, |_| None).lines[0].row.piece_ns
    };
    // A piece lasts half a millisecond, unless its size would be too small or too large.
    assert!(piece(0.4, true).is_some_and(|ns| (490_000.0..520_000.0).contains(&ns)));
    assert_eq!(piece(8.0, true), Some(32_768.0));
    assert!(piece(0.01, true).is_some_and(|ns| ns > 1e6));
    assert_eq!(piece(1.0, false), None);
}
