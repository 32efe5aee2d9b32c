use super::*;

/// Reads a trace with these events.
fn read_events(events: &[String]) -> Result<Trace, String> {
    let head = r#"{"canele":{"version":2,"command":"x"},"traceEvents":["#;
    read_from(format!("{head}{}]}}", events.join(",")).as_bytes())
}

fn operation(phase: &str, id: &str, ts: u32) -> String {
    format!(r#"{{"ph":"{phase}","pid":0,"ts":{ts},"cat":"operation","name":"barrier","id":{id}}}"#)
}

#[test]
fn the_end_of_an_operation_is_found_behind_any_number_of_others() {
    let mut events: Vec<_> = (0..10_000).map(|id| operation("b", &format!("\"0.c{id}\""), id)).collect();
    events.push(operation("e", "\"0.c0\"", 20_000));
    events.push(operation("e", "\"0.c7\"", 20_001));
    events.push(operation("e", "\"0.c7\"", 30_000));
    let trace = read_events(&events).unwrap();
    let operations = &trace.ranks[&0].operations;
    assert_eq!([0, 7, 8].map(|at| operations[at].end), [20_000.0, 20_001.0, 8.0]);
    assert!(trace.under_way.is_empty());
}

#[test]
fn an_identifier_is_a_number_or_a_text() {
    assert!(read_events(&[operation("b", "7", 1), operation("b", "null", 1)]).is_ok());
    for other in ["[[1],[2]]", "{\"a\":1}", "-1", "1.5", "true"] {
        assert!(
            read_events(&[operation("b", other, 1)]).unwrap_err().contains("a number or a text"),
            "{other}"
        );
    }
    let ids: Vec<NumberOrText> = serde_json::from_str(r#"[3, "3"]"#).unwrap();
    assert_eq!(ids.iter().map(NumberOrText::to_string).collect::<Vec<_>>(), ["3", "\"3\""]);
}

#[test]
fn times_that_no_clock_gives_are_refused() {
    let event = |ts: f64, dur: f64| {
        format!(r#"{{"ph":"X","pid":0,"ts":{ts:e},"dur":{dur:e},"cat":"call","name":"MPI_Send"}}"#)
    };
    assert!(read_events(&[event(1.8e16, 1.8e16)]).is_ok());
    for (ts, dur) in [(1e300, 1.0), (-1e300, 1.0), (1.0, 1e300), (1.0, -1.0)] {
        assert!(read_events(&[event(ts, dur)]).is_err(), "{ts} {dur}");
    }
}
