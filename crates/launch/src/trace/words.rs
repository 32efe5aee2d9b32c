//! Parts of lines of the timeline: names of waits, arguments, numbers.

use std::collections::HashMap;
use std::fmt::Write as _;

use canele_trace::{Event, EventKind, NO_RANK, NO_TAG, WaitKind};

/// The names of flows of lanes.
pub type NamesOfFlows<'a> = HashMap<(u8, u16), &'a str>;

/// Names the awaited operation.
pub fn wait_name(wait: &Event, named: Option<&str>) -> String {
    let peer = |word: &str| match wait.peer {
        NO_RANK => format!("{word} any rank"),
        peer => format!("{word} {peer}"),
    };
    match WaitKind::of(wait.variant) {
        WaitKind::Send => peer("wait to send to"),
        WaitKind::Receive => peer("wait for a message from"),
        WaitKind::Any => "wait for any of several".into(),
        WaitKind::Collective => format!("wait in {}", named.unwrap_or("a collective")),
        WaitKind::Other => format!("wait for {}", named.unwrap_or("something else")),
    }
}

/// Adds the peer, tag, flow and bytes of a message, as far as they are known.
pub fn add_message(args: &mut String, event: &Event, flows: &NamesOfFlows<'_>) {
    if event.peer != NO_RANK {
        add(args, "peer", &event.peer.to_string());
    }
    if event.tag != NO_TAG {
        add(args, "tag", &event.tag.to_string());
    }
    let flow = flows.get(&event.flow_of_lane()).map_or_else(|| event.flow.to_string(), |name| text(name));
    add(args, "flow", &flow);
    if event.lane > 0 {
        add(args, "lane", &event.lane.to_string());
    }
    if matches!(event.kind, EventKind::Sent | EventKind::Matched) || event.bytes > 0 {
        add(args, "bytes", &event.bytes.to_string());
    }
}

/// Adds a value to the arguments of an event.
pub fn add(args: &mut String, name: &str, value: &str) {
    let before = if args.is_empty() { "" } else { "," };
    write!(args, "{before}\"{name}\":{value}").expect("a string grows");
}

/// Returns a text in quotes.
pub fn text(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

/// Formats nanoseconds as microseconds.
pub fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}
