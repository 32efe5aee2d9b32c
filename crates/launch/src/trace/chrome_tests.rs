use canele_trace::WaitKind;
use serde_json::Value;

use super::*;

fn event(at_ns: u64, kind: EventKind) -> Event {
    Event { at_ns, thread: 1, ..Event::new(kind) }
}

fn message(at_ns: u64, kind: EventKind, peer: u32) -> Event {
    Event { peer, tag: 7, flow: 4, bytes: 8, variant: 2, ..event(at_ns, kind) }
}

fn written(ranks: Vec<Vec<Event>>) -> Vec<Value> {
    let mut numbers = MessageNumbers::default();
    (0..).zip(&ranks).for_each(|(rank, events)| numbers.count(rank, events));
    numbers.assign();
    let mut out = Writer::begin(Vec::new(), "2 x \"a\"", (1000, 9000)).unwrap();
    for (rank, events) in (0..).zip(ranks) {
        let names = HashMap::from([(1, "MPI_Recv".to_owned()), (2, "barrier".to_owned())]);
        out.write_rank(
            RankTrace { rank, host: "h".into(), events, names, sites: HashMap::new(), missing: 3 },
            &mut numbers,
        )
        .unwrap();
    }
    let bytes = out.end(5).unwrap();
    let all: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(all["canele"]["command"], "2 x \"a\"");
    all["traceEvents"].as_array().unwrap().clone()
}

fn named<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["name"] == name).collect()
}

#[test]
fn slices_lie_in_each_other_and_arrows_join_a_send_and_its_receive() {
    let events = written(vec![
        vec![message(1500, EventKind::Sent, 1)],
        vec![
            Event { name: 1, ..event(1100, EventKind::CallBegin) },
            Event { peer: 0, variant: WaitKind::Receive as u8, ..event(1200, EventKind::WaitBegin) },
            message(1900, EventKind::Matched, 0),
            event(2000, EventKind::WaitEnd),
            event(2400, EventKind::CallEnd),
        ],
    ]);
    let call = named(&events, "MPI_Recv")[0];
    assert_eq!((call["ts"].as_f64(), call["dur"].as_f64()), (Some(0.1), Some(1.3)));
    let wait = named(&events, "wait for a message from 0")[0];
    assert_eq!((wait["ts"].as_f64(), wait["dur"].as_f64()), (Some(0.2), Some(0.8)));
    let receive = named(&events, "receive from 0")[0];
    assert_eq!(
        (receive["dur"].as_f64(), &receive["args"]["message"]),
        (Some(0.1), &1.into()),
        "within the wait"
    );
    let arrows = named(&events, "message");
    assert_eq!((&arrows[0]["ph"], &arrows[0]["pid"]), (&"s".into(), &0.into()));
    assert_eq!((&arrows[1]["ph"], &arrows[1]["pid"]), (&"f".into(), &1.into()));
    assert_eq!(arrows[0]["id"], arrows[1]["id"]);
}

#[test]
fn what_a_rank_was_in_when_it_ended_goes_on_to_its_end() {
    let events = written(vec![vec![
        Event { name: 2, ..event(2000, EventKind::CollectiveBegin) },
        message(5000, EventKind::Sent, 1),
    ]]);
    let barrier = named(&events, "barrier")[0];
    assert_eq!((barrier["dur"].as_f64(), &barrier["args"]["unfinished"]), (Some(7.0), &true.into()));
    assert!(named(&events, "message").is_empty(), "a send without its receive has no arrow");
}

#[test]
fn a_call_that_was_left_open_ends_with_the_one_around_it() {
    let events = written(vec![vec![
        Event { name: 1, ..event(1000, EventKind::CallBegin) },
        event(1100, EventKind::WaitBegin),
        event(1200, EventKind::CallEnd),
        event(1300, EventKind::WaitEnd),
    ]]);
    let ends: Vec<f64> = events
        .iter()
        .filter(|event| event["ph"] == "X")
        .map(|event| event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap())
        .collect();
    assert_eq!(ends, [0.2, 0.2]);
}

#[test]
fn a_wait_in_portions_is_one_wait_with_its_message() {
    let begin =
        |at_ns| Event { peer: 0, variant: WaitKind::Receive as u8, ..event(at_ns, EventKind::WaitBegin) };
    let events = written(vec![
        vec![message(3500, EventKind::Sent, 1)],
        vec![
            begin(1000),
            event(2000, EventKind::WaitEnd),
            begin(2010),
            event(3010, EventKind::WaitEnd),
            begin(3020),
            message(3900, EventKind::Matched, 0),
            event(4000, EventKind::WaitEnd),
            begin(4600),
            event(4700, EventKind::WaitEnd),
        ],
    ]);
    let waits = named(&events, "wait for a message from 0");
    let times: Vec<_> = waits.iter().map(|wait| (wait["ts"].as_f64(), wait["dur"].as_f64())).collect();
    assert_eq!(times, [(Some(0.0), Some(3.0)), (Some(3.6), Some(0.1))]);
}

#[test]
fn a_long_reception_is_drawn_from_its_match_to_its_end() {
    let long = Event { bytes: 1 << 20, variant: 0, ..message(1000, EventKind::Matched, 0) };
    let chosen = Event { bytes: 1 << 20, variant: 7, peer: 0, ..event(1010, EventKind::Chosen) };
    let done = Event { kind: EventKind::Completed, at_ns: 9000, variant: 7, ..long };
    let events = written(vec![vec![long, chosen, done]]);
    assert_eq!(named(&events, "receive from 0")[0]["args"]["protocol"], "direct-read");
    let parts = named(&events, "from 0");
    assert_eq!((&parts[0]["ph"], &parts[1]["ph"]), (&"b".into(), &"e".into()));
    assert_eq!(parts[1]["ts"].as_f64(), Some(8.0));
}

#[test]
fn times_that_cannot_be_give_no_panic() {
    let events = written(vec![vec![
        Event { name: 1, ..event(0, EventKind::CallBegin) },
        message(u64::MAX, EventKind::Sent, 1),
        Event { peer: 1, ..event(u64::MAX, EventKind::Accessed) },
        event(u64::MAX, EventKind::CallEnd),
    ]]);
    assert_eq!(named(&events, "MPI_Recv").len(), 1);
}

#[test]
fn a_send_that_was_withdrawn_before_it_left_leaves_its_departure_to_the_next() {
    let waits = |at_ns| Event { variant: 0, ..message(at_ns, EventKind::Sent, 1) };
    let withdrawn = Event { bytes: 1, ..message(1300, EventKind::Withdrawn, 1) };
    let leaves = |at_ns| Event { variant: 3, ..message(at_ns, EventKind::Departed, 1) };
    let events = written(vec![vec![
        message(1000, EventKind::Sent, 1),
        waits(1100),
        waits(1200),
        withdrawn,
        leaves(1400),
    ]]);
    let protocols: Vec<_> =
        named(&events, "send to 1").iter().map(|send| send["args"]["protocol"].clone()).collect();
    assert_eq!(protocols, ["short".into(), Value::Null, "eager".into()]);
}
