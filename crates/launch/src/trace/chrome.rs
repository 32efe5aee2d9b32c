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

use canele_trace::{AccessRoute, Event, EventKind, MessageVariant};

use super::RankTrace;
use super::departures::departures;
use super::matching::MessageNumbers;
use super::operations::Operations;
use super::portions::separators;
use super::sites::{SiteNames, SiteText};
use super::words::{NamesOfFlows, add, add_message, micros, text, wait_name};

/// The longest time for which a send or receive is drawn, since it takes no time of its own.
const MARK_NS: u64 = 500;
/// The most unfinished receptions that are searched for the one that has ended.
const MOST_UNDER_WAY: usize = 1024;

/// The value that stands for the rail of a message whose pieces record their own rails.
const IN_PIECES: u8 = u8::MAX;

/// The file while it is written.
pub struct Writer<W> {
    out: W,
    start_ns: u64,
    end_ns: u64,
    is_first: bool,
    site_names: SiteNames,
}

/// A slice that has begun and not ended.
struct Open {
    begin: Event,
    begin_kind: EventKind,
    /// The number of its call site.
    site: Option<u16>,
}

/// The texts that events of a rank refer to by numbers.
struct Texts<'a> {
    names: &'a HashMap<u16, String>,
    sites: HashMap<u16, SiteText>,
    flows: NamesOfFlows<'a>,
}

/// Slices and arrows of a rank, before they are sorted.
struct Lines {
    rank: u32,
    start_ns: u64,
    /// The end of the job, which also ends the slices that a rank left open.
    end_ns: u64,
    /// The start, the duration and the text of each line. At equal starts the longer slice comes first.
    lines: Vec<(u64, std::cmp::Reverse<u64>, String)>,
}

impl<W: Write> Writer<W> {
    /// Begins the file of a job with this command line.
    pub fn begin(mut out: W, command: &str, (start_ns, end_ns): (u64, u64)) -> io::Result<Self> {
        let command = text(command);
        write!(
            out,
            "{{\"displayTimeUnit\":\"ns\",\"canele\":{{\"version\":2,\"command\":{command}}},\"traceEvents\":["
        )?;
        Ok(Self { out, start_ns, end_ns, is_first: true, site_names: SiteNames::default() })
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let before = if std::mem::replace(&mut self.is_first, false) { "\n" } else { ",\n" };
        write!(self.out, "{before}{line}")
    }

    /// Writes the records of a rank.
    pub fn write_rank(&mut self, trace: RankTrace, numbers: &mut MessageNumbers) -> io::Result<()> {
        let RankTrace { rank, host, events, names, sites, missing } = trace;
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
        let sites = self.site_names.texts(sites);
        lines.add_all(&events, Texts { names: &names, sites, flows: NamesOfFlows::new() }, numbers);
        lines.lines.sort_by_key(|line| (line.0, line.1));
        lines.lines.iter().try_for_each(|(_, _, line)| self.line(line))
    }

    /// Ends the file. `uncertainty_ns` is the largest error of times of other hosts.
    pub fn end(mut self, uncertainty_ns: u64) -> io::Result<W> {
        write!(self.out, "\n],\"otherData\":{{\"clock_uncertainty_ns\":\"{uncertainty_ns}\"}}}}\n")?;
        Ok(self.out)
    }
}

impl Lines {
    fn add_all<'a>(&mut self, events: &'a [Event], mut texts: Texts<'a>, numbers: &mut MessageNumbers) {
        let mut open: HashMap<u16, Vec<Open>> = HashMap::new();
        let mut under_way: VecDeque<(Event, u64)> = VecDeque::new();
        let mut operations = Operations::default();
        let after = next_of_thread(events);
        let departures = departures(events);
        let separators = separators(events, &after);
        let mut receptions = 0;
        for (at, event) in events.iter().enumerate().filter(|(at, _)| !separators.contains(at)) {
            let stack = open.entry(event.thread).or_default();
            match event.kind {
                EventKind::Name | EventKind::SiteFrames => {}
                EventKind::FlowName => {
                    let name = texts.names.get(&event.name).map_or("", String::as_str);
                    texts.flows.insert(event.flow_of_lane(), name);
                }
                EventKind::CallBegin | EventKind::WaitBegin | EventKind::CollectiveBegin => {
                    stack.push(Open { begin: *event, begin_kind: event.kind, site: None });
                }
                // All slices of a thread lie in one call of the program.
                EventKind::CallSite => stack.iter_mut().for_each(|open| open.site = Some(event.name)),
                EventKind::CallEnd => self.close(stack, EventKind::CallBegin, event.at_ns, &texts),
                EventKind::WaitEnd => self.close(stack, EventKind::WaitBegin, event.at_ns, &texts),
                EventKind::CollectiveEnd => {
                    self.close(stack, EventKind::CollectiveBegin, event.at_ns, &texts)
                }
                EventKind::Sent | EventKind::Matched => {
                    let next = after[at].map(|next| &events[next]);
                    let end_ns = next.unwrap_or(event).at_ns.min(event.at_ns.saturating_add(MARK_NS));
                    // The next event after its receive gives the protocol of an announced message.
                    let chosen = next.filter(|next| {
                        (next.kind, next.peer, next.bytes) == (EventKind::Chosen, event.peer, event.bytes)
                    });
                    let number = numbers.next(self.rank, event);
                    let mut args = String::new();
                    let inside =
                        stack.iter().rev().find(|open| open.begin_kind == EventKind::CollectiveBegin);
                    if let Some(of) = operations.of_message(event, inside.map(|open| &open.begin)) {
                        add(&mut args, "collective", &text(texts.names.get(&of).map_or("", String::as_str)));
                    }
                    // Outside of any call the send itself is the call.
                    let own_site = next.filter(|next| next.kind == EventKind::CallSite && stack.is_empty());
                    add_site(&mut args, event, own_site.map(|site| site.name), &texts);
                    let decided = decided(event, departures.get(&at));
                    let chosen = chosen.map(|next| next.variant);
                    self.message(&decided, chosen, (end_ns, number), args, &texts.flows);
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
                EventKind::CollectiveStarted => {
                    let number = operations.start(event);
                    self.operation("b", event, number, &texts);
                }
                EventKind::CollectiveCompleted => {
                    if let Some(number) = operations.complete(event) {
                        self.operation("e", event, number, &texts);
                    }
                }
                EventKind::Accessed | EventKind::Noticed => {
                    let next = after[at].map_or(event, |next| &events[next]);
                    let end_ns = next.at_ns.min(event.at_ns.saturating_add(MARK_NS));
                    self.access(event, (end_ns, numbers.next(self.rank, event)), &texts);
                }
                EventKind::Chosen | EventKind::Withdrawn => {}
            }
        }
        // These slices were open when the rank ended, or when there was no more room.
        for stack in open.values_mut() {
            while let Some(open) = stack.pop() {
                self.slice(&open, self.end_ns, true, &texts);
            }
        }
    }

    /// Closes the innermost slice that began with an event of this kind, and the slices within it.
    fn close(&mut self, stack: &mut Vec<Open>, kind: EventKind, end_ns: u64, texts: &Texts<'_>) {
        let Some(at) = stack.iter().rposition(|open| open.begin_kind == kind) else { return };
        for open in stack.drain(at..).rev() {
            self.slice(&open, end_ns, false, texts);
        }
    }

    fn slice(&mut self, open: &Open, end_ns: u64, is_unfinished: bool, texts: &Texts<'_>) {
        let begin = &open.begin;
        let named = texts.names.get(&begin.name).map(String::as_str);
        let (category, name) = match begin.kind {
            EventKind::CallBegin => ("call", named.unwrap_or("a call").to_owned()),
            EventKind::CollectiveBegin => ("collective", named.unwrap_or("a collective").to_owned()),
            _ => ("wait", wait_name(begin, named)),
        };
        let mut args = String::new();
        if begin.kind != EventKind::CallBegin {
            add_message(&mut args, begin, &texts.flows);
        }
        add_site(&mut args, begin, open.site, texts);
        if is_unfinished {
            add(&mut args, "unfinished", "true");
        }
        self.push(begin, end_ns, category, &name, &args);
    }

    /// Returns the start of the line for an event in a thread of the rank.
    fn head(&self, phase: &str, thread: u16, at_ns: u64) -> String {
        let ts = micros(at_ns.saturating_sub(self.start_ns));
        format!("{{\"ph\":\"{phase}\",\"pid\":{},\"tid\":{thread},\"ts\":{ts}", self.rank)
    }

    fn push(&mut self, event: &Event, end_ns: u64, category: &str, name: &str, args: &str) {
        let dur = end_ns.saturating_sub(event.at_ns);
        let (head, took, name) = (self.head("X", event.thread, event.at_ns), micros(dur), text(name));
        let line =
            format!("{head},\"dur\":{took},\"cat\":\"{category}\",\"name\":{name},\"args\":{{{args}}}}}");
        self.lines.push((event.at_ns, std::cmp::Reverse(dur.saturating_add(1)), line));
    }

    fn message(
        &mut self,
        event: &Event,
        chosen: Option<u8>,
        (end_ns, number): (u64, Option<u64>),
        about: String,
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
        if !about.is_empty() {
            write!(args, ",{about}").expect("a string grows");
        }
        self.push(event, end_ns, category, &format!("{category} {word} {}", event.peer), &args);
        self.arrow(event, phase, number);
    }

    /// Draws one end of the arrow of a message, if both ends are known.
    fn arrow(&mut self, event: &Event, phase: &str, number: Option<u64>) {
        let Some(number) = number else { return };
        let bind = if phase == "s" { "" } else { ",\"bp\":\"e\"" };
        let head = self.head(phase, event.thread, event.at_ns);
        let line = format!("{head}{bind},\"cat\":\"message\",\"name\":\"message\",\"id\":{number}}}");
        self.lines.push((event.at_ns, std::cmp::Reverse(0), line));
    }

    /// Draws a one-sided access, or the notice of one.
    fn access(&mut self, event: &Event, (end_ns, number): (u64, Option<u64>), texts: &Texts<'_>) {
        let Event { peer, bytes, variant, .. } = *event;
        let mut args = format!("\"peer\":{peer}");
        if let Some(number) = number {
            add(&mut args, "message", &number.to_string());
        }
        if event.kind == EventKind::Noticed {
            self.push(event, end_ns, "notice", &format!("notice from {peer}"), &args);
            return self.arrow(event, "f", number);
        }
        add(&mut args, "bytes", &bytes.to_string());
        add(&mut args, "route", &text(AccessRoute::name_of(variant)));
        let name = texts.names.get(&event.name).map_or("an access", String::as_str);
        self.push(event, end_ns, "one-sided", name, &args);
        self.arrow(event, "s", number);
    }

    /// Draws the begin or the end of a non-blocking collective.
    fn operation(&mut self, phase: &str, event: &Event, number: u64, texts: &Texts<'_>) {
        let name = texts.names.get(&event.name).map_or("a collective", String::as_str);
        let mut args = String::new();
        add_message(&mut args, event, &texts.flows);
        let line = format!(
            "{},\"cat\":\"operation\",\"name\":{},\"id\":\"{}.c{number}\",\"args\":{{{args}}}}}",
            self.head(phase, event.thread, event.at_ns),
            text(name),
            self.rank,
        );
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

/// Returns the position of the next event in the same thread for each event.
fn next_of_thread(events: &[Event]) -> Vec<Option<usize>> {
    let mut next: HashMap<u16, usize> = HashMap::new();
    let mut all: Vec<_> =
        events.iter().enumerate().rev().map(|(at, event)| next.insert(event.thread, at)).collect();
    all.reverse();
    all
}

/// Returns the send with the protocol and rail of its departure, if it had to wait before.
fn decided(event: &Event, left: Option<&Event>) -> Event {
    let Some(left) = left else { return *event };
    let is_in_pieces = left.variant == MessageVariant::EagerMulti as u8;
    Event { variant: left.variant, rail: if is_in_pieces { IN_PIECES } else { left.rail }, ..*event }
}

/// Adds the place of the call in the program; for a program without MPI also the call.
fn add_site(args: &mut String, event: &Event, site: Option<u16>, texts: &Texts<'_>) {
    let Some(SiteText { call, place }) = site.and_then(|site| texts.sites.get(&site)) else { return };
    let site = match call {
        Some(call) if event.kind != EventKind::CallBegin => format!("{call} in {place}"),
        _ => place.clone(),
    };
    add(args, "site", &text(&site));
}

#[cfg(test)]
#[path = "chrome_tests.rs"]
mod tests;
