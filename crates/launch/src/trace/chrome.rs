//! The timeline as JSON: the trace-event format of Chrome, which Perfetto opens.
//!
//! ```text
//!   process = rank, thread = its thread       calls, collectives and waits are nested
//!     └─ slices: call ⊃ collective ⊃ wait ⊃ send, receive;  arrows from send to receive;  long receptions
//! ```
//! Written one rank at a time, one event a line. Times are microseconds since the first event.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt::Write as _;
use std::io::{self, Write};

use canele_trace::{Event, EventKind, MessageVariant, NO_RANK, NO_TAG, WaitKind};

use super::RankTrace;
use super::matching::MessageNumbers;

/// The longest time for which a send or receive is drawn, since it takes no time of its own.
const MARK_NS: u64 = 500;
/// The most receptions under way that are searched for the one that has come.
const MOST_UNDER_WAY: usize = 1024;

/// Replaces the rail of a message whose pieces give their own rails.
const IN_PIECES: u8 = u8::MAX;

/// The names of flows of lanes.
type NamesOfFlows<'a> = HashMap<(u8, u16), &'a str>;

/// The file while it is written.
pub struct Writer<W> {
    out: W,
    start_ns: u64,
    end_ns: u64,
    is_first: bool,
}

/// A slice that has begun.
struct Open {
    begin: Event,
    begin_kind: EventKind,
}

/// Slices and arrows of a rank, before they are sorted.
struct Lines {
    rank: u32,
    start_ns: u64,
    /// The end of the job, which ends the open slices of a rank, too.
    end_ns: u64,
    /// The start, the duration (the longer first), and the text.
    lines: Vec<(u64, std::cmp::Reverse<u64>, String)>,
}

impl<W: Write> Writer<W> {
    /// Begins the file of a job with this command line.
    pub fn begin(mut out: W, command: &str, (start_ns, end_ns): (u64, u64)) -> io::Result<Self> {
        let command = text(command);
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"canele\":{{\"version\":1,\"command\":{command}}},\"traceEvents\":["
        )?;
        Ok(Self { out, start_ns, end_ns, is_first: true })
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let before = if std::mem::replace(&mut self.is_first, false) { "\n" } else { ",\n" };
        write!(self.out, "{before}{line}")
    }

    /// Writes the records of a rank.
    pub fn write_rank(&mut self, trace: RankTrace, numbers: &mut MessageNumbers) -> io::Result<()> {
        let RankTrace { rank, host, events, names, missing } = trace;
        let name = text(&format!("rank {rank} on {host}"));
        self.line(&format!(
            "{{\"ph\":\"M\",\"pid\":{rank},\"name\":\"process_name\",\"args\":{{\"name\":{name},\"host\":{host},\"missing\":{missing}}}}}",
            host = text(&host),
        ))?;
        self.line(&format!(
            "{{\"ph\":\"M\",\"pid\":{rank},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{rank}}}}}"
        ))?;
        let threads: BTreeSet<u16> = events.iter().map(|event| event.thread).collect();
        for thread in threads {
            self.line(&format!(
                "{{\"ph\":\"M\",\"pid\":{rank},\"tid\":{thread},\"name\":\"thread_name\",\"args\":{{\"name\":\"thread {thread}\"}}}}"
            ))?;
        }
        let mut lines = Lines { rank, start_ns: self.start_ns, end_ns: self.end_ns, lines: Vec::new() };
        lines.add_all(&events, &names, numbers);
        lines.lines.sort_by_key(|line| (line.0, line.1));
        lines.lines.iter().try_for_each(|(_, _, line)| self.line(line))
    }

    /// Ends the file. Clocks of hosts may differ by this much.
    pub fn end(mut self, uncertainty_ns: u64) -> io::Result<W> {
        write!(self.out, "\n],\"otherData\":{{\"clock_uncertainty_ns\":\"{uncertainty_ns}\"}}}}\n")?;
        Ok(self.out)
    }
}

impl Lines {
    fn add_all(&mut self, events: &[Event], names: &HashMap<u16, String>, numbers: &mut MessageNumbers) {
        let mut flows = NamesOfFlows::new();
        let mut open: HashMap<u16, Vec<Open>> = HashMap::new();
        let mut under_way: VecDeque<(Event, u64)> = VecDeque::new();
        let after = next_of_thread(events);
        let departures = departures(events);
        let mut receptions = 0;
        for (at, event) in events.iter().enumerate() {
            let stack = open.entry(event.thread).or_default();
            let name = |number: u16| names.get(&number).map_or("", String::as_str);
            match event.kind {
                EventKind::Name => {}
                EventKind::FlowName => drop(flows.insert(event.flow_of_lane(), name(event.name))),
                EventKind::CallBegin | EventKind::WaitBegin | EventKind::CollectiveBegin => {
                    stack.push(Open { begin: *event, begin_kind: event.kind });
                }
                EventKind::CallEnd => self.close(stack, EventKind::CallBegin, event.at_ns, names, &flows),
                EventKind::WaitEnd => self.close(stack, EventKind::WaitBegin, event.at_ns, names, &flows),
                EventKind::CollectiveEnd => {
                    self.close(stack, EventKind::CollectiveBegin, event.at_ns, names, &flows);
                }
                EventKind::Sent | EventKind::Matched => {
                    let next = after[at].map(|next| &events[next]);
                    let end_ns = next.unwrap_or(event).at_ns.min(event.at_ns + MARK_NS);
                    // The next event after its receive gives the protocol of an announced message.
                    let chosen = next.filter(|next| {
                        (next.kind, next.peer, next.bytes) == (EventKind::Chosen, event.peer, event.bytes)
                    });
                    let number = numbers.next(self.rank, event);
                    let decided = match departures.get(&at) {
                        Some(left) => {
                            let rail = if left.variant == MessageVariant::EagerMulti as u8 {
                                IN_PIECES
                            } else {
                                left.rail
                            };
                            Event { variant: left.variant, rail, ..*event }
                        }
                        None => *event,
                    };
                    self.message(&decided, chosen.map(|next| next.variant), (end_ns, number), &flows);
                    if event.kind == EventKind::Matched {
                        under_way.push_back((*event, number.unwrap_or(0)));
                        under_way.drain(..under_way.len().saturating_sub(MOST_UNDER_WAY));
                    }
                }
                EventKind::Completed => {
                    let is_it = |(begun, _): &(Event, u64)| {
                        let of = |event: &Event| (event.lane, event.peer, event.tag, event.bytes);
                        of(begun) == of(event)
                    };
                    if let Some((begun, _)) =
                        under_way.iter().position(is_it).and_then(|n| under_way.remove(n))
                    {
                        receptions += 1;
                        self.reception(&begun, event, receptions);
                    }
                }
                EventKind::Departed => self.departure(event),
                EventKind::Chosen | EventKind::Withdrawn => {}
            }
        }
        // These slices were open when the rank ended, or when there was no more room.
        for stack in open.values_mut() {
            while let Some(open) = stack.pop() {
                self.slice(&open, self.end_ns, true, names, &flows);
            }
        }
    }

    /// Closes the innermost slice that began so, and the slices within it.
    fn close(
        &mut self,
        stack: &mut Vec<Open>,
        kind: EventKind,
        end_ns: u64,
        names: &HashMap<u16, String>,
        flows: &NamesOfFlows<'_>,
    ) {
        let Some(at) = stack.iter().rposition(|open| open.begin_kind == kind) else { return };
        for open in stack.drain(at..).rev() {
            self.slice(&open, end_ns, false, names, flows);
        }
    }

    fn slice(
        &mut self,
        open: &Open,
        end_ns: u64,
        is_unfinished: bool,
        names: &HashMap<u16, String>,
        flows: &NamesOfFlows<'_>,
    ) {
        let begin = &open.begin;
        let named = names.get(&begin.name).map(String::as_str);
        let (category, name) = match begin.kind {
            EventKind::CallBegin => ("call", named.unwrap_or("a call").to_owned()),
            EventKind::CollectiveBegin => ("collective", named.unwrap_or("a collective").to_owned()),
            _ => ("wait", wait_name(begin, named)),
        };
        let mut args = String::new();
        if begin.kind != EventKind::CallBegin {
            add_message(&mut args, begin, flows);
        }
        if is_unfinished {
            add(&mut args, "unfinished", "true");
        }
        self.push(begin, end_ns, category, &name, &args);
    }

    /// Returns the start of the line of an event in a thread of the rank.
    fn head(&self, phase: &str, thread: u16, at_ns: u64) -> String {
        let ts = micros(at_ns.saturating_sub(self.start_ns));
        format!("{{\"ph\":\"{phase}\",\"pid\":{},\"tid\":{thread},\"ts\":{ts}", self.rank)
    }

    fn push(&mut self, event: &Event, end_ns: u64, category: &str, name: &str, args: &str) {
        let dur = end_ns.saturating_sub(event.at_ns);
        let (head, took, name) = (self.head("X", event.thread, event.at_ns), micros(dur), text(name));
        let line =
            format!("{head},\"dur\":{took},\"cat\":\"{category}\",\"name\":{name},\"args\":{{{args}}}}}");
        self.lines.push((event.at_ns, std::cmp::Reverse(dur + 1), line));
    }

    fn message(
        &mut self,
        event: &Event,
        chosen: Option<u8>,
        (end_ns, number): (u64, Option<u64>),
        flows: &NamesOfFlows<'_>,
    ) {
        let is_sent = event.kind == EventKind::Sent;
        let (category, phase, word) = if is_sent { ("send", "s", "to") } else { ("receive", "f", "from") };
        let mut args = String::new();
        add_message(&mut args, event, flows);
        let protocol = MessageVariant::of(chosen.unwrap_or(event.variant));
        if protocol != MessageVariant::Undecided {
            add(&mut args, "protocol", &text(protocol.name()));
        }
        // A message that leaves in pieces has an event with a rail for each piece.
        if is_sent && event.variant != MessageVariant::Undecided as u8 && event.rail != IN_PIECES {
            add(&mut args, "rail", &event.rail.to_string());
        }
        if let Some(number) = number {
            add(&mut args, "message", &number.to_string());
        }
        self.push(event, end_ns, category, &format!("{category} {word} {}", event.peer), &args);
        let Some(number) = number else { return };
        let bind = if is_sent { "" } else { ",\"bp\":\"e\"" };
        let head = self.head(phase, event.thread, event.at_ns);
        let line = format!("{head}{bind},\"cat\":\"message\",\"name\":\"message\",\"id\":{number}}}");
        self.lines.push((event.at_ns, std::cmp::Reverse(0), line));
    }

    /// Draws a message that took longer to arrive than to meet its receive.
    fn reception(&mut self, begun: &Event, ended: &Event, number: u64) {
        let protocol = MessageVariant::of(ended.variant).name();
        for (phase, event) in [("b", begun), ("e", ended)] {
            let line = format!(
                "{},\"cat\":\"reception\",\"name\":\"from {}\",\"id\":\"{}.{number}\",\"args\":{{\"bytes\":{},\"protocol\":\"{protocol}\"}}}}",
                self.head(phase, begun.thread, event.at_ns),
                begun.peer,
                self.rank,
                begun.bytes,
            );
            self.lines.push((event.at_ns, std::cmp::Reverse(0), line));
        }
    }

    /// Draws the departure of a message, or of a piece of one, that had to wait.
    fn departure(&mut self, event: &Event) {
        let protocol = match MessageVariant::of(event.variant) {
            MessageVariant::Undecided => "announced",
            variant => variant.name(),
        };
        let Event { peer, bytes, rail, .. } = *event;
        let line = format!(
            "{},\"s\":\"t\",\"cat\":\"rail\",\"name\":\"leaves to {peer}\",\"args\":{{\"peer\":{peer},\"bytes\":{bytes},\"protocol\":\"{protocol}\",\"rail\":{rail}}}}}",
            self.head("i", event.thread, event.at_ns),
        );
        self.lines.push((event.at_ns, std::cmp::Reverse(0), line));
    }
}

/// A send whose message has not left yet.
struct Waiting {
    /// The number among the sends of its rank on its lane.
    number: u64,
    bytes: u64,
    /// The position of its event.
    at: usize,
}

/// Maps the position of each send that had to wait to the event of its departure.
fn departures(events: &[Event]) -> HashMap<usize, Event> {
    let mut waiting: HashMap<(u32, (u8, u16), u32), VecDeque<Waiting>> = HashMap::new();
    let mut left = HashMap::new();
    let mut numbers: HashMap<u8, u64> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        let envelope = (event.peer, event.flow_of_lane(), event.tag);
        match event.kind {
            EventKind::Sent => {
                let number = numbers.entry(event.lane).or_default();
                if event.variant == MessageVariant::Undecided as u8 {
                    let send = Waiting { number: *number, bytes: event.bytes, at };
                    waiting.entry(envelope).or_default().push_back(send);
                }
                *number += 1;
            }
            EventKind::Withdrawn => {
                let Some(others) = waiting.get_mut(&envelope) else { continue };
                // A send that was announced has left before.
                if let Ok(withdrawn) = others.binary_search_by_key(&event.bytes, |send| send.number) {
                    others.remove(withdrawn);
                }
            }
            EventKind::Departed if event.variant != MessageVariant::Streamed as u8 => {
                let Some(others) = waiting.get_mut(&envelope) else { continue };
                let first = others.iter().position(|send| send.bytes == event.bytes);
                if let Some(send) = first.and_then(|first| others.remove(first)) {
                    left.insert(send.at, *event);
                }
            }
            _ => {}
        }
    }
    left
}

/// Returns the position of the next event in the same thread for each event.
fn next_of_thread(events: &[Event]) -> Vec<Option<usize>> {
    let mut next: HashMap<u16, usize> = HashMap::new();
    let mut all: Vec<_> =
        events.iter().enumerate().rev().map(|(at, event)| next.insert(event.thread, at)).collect();
    all.reverse();
    all
}

fn wait_name(wait: &Event, named: Option<&str>) -> String {
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

/// Adds peer, tag, flow and bytes, as far as they are known.
fn add_message(args: &mut String, event: &Event, flows: &NamesOfFlows<'_>) {
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

fn add(args: &mut String, name: &str, value: &str) {
    let before = if args.is_empty() { "" } else { "," };
    write!(args, "{before}\"{name}\":{value}").expect("a string grows");
}

/// Returns a text in quotes.
fn text(text: &str) -> String {
    serde_json::to_string(text).expect("a text can be written")
}

/// Formats nanoseconds as microseconds.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

#[cfg(test)]
#[path = "chrome_tests.rs"]
mod tests;
