//! Reads a trace event by event, and keeps only the data that the summary needs.

use canele_sys::bounded_read::Bounded;
use canele_sys::printable;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::rc::Rc;

use super::recorded::{Access, Operation, RankTrace, Slice, SliceKind, Trace, TracedMessage, Transfer};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The most bytes of a trace that are read.
const MOST_TRACE: u64 = 4 << 30;
/// The versions of traces that are read. Version 2 adds sites, non-blocking collectives and one-sided
/// accesses.
const VERSIONS: std::ops::RangeInclusive<u32> = 1..=2;
/// The most ranks of a trace.
const MOST_RANKS: u32 = 1 << 20;
/// The largest time, in µs: more than the largest that 64 bits of nanoseconds hold.
const MOST_TIME: f64 = 1e17;

#[derive(Deserialize)]
struct Header {
    version: u32,
    command: String,
}

#[derive(Deserialize, Default)]
struct ClockData {
    #[serde(default)]
    clock_uncertainty_ns: String,
}

#[derive(Deserialize)]
struct TraceLine<'a> {
    #[serde(borrow)]
    ph: Cow<'a, str>,
    pid: u32,
    #[serde(default)]
    tid: u32,
    #[serde(default)]
    ts: f64,
    #[serde(default)]
    dur: f64,
    #[serde(default, borrow)]
    cat: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    id: Option<NumberOrText>,
    #[serde(default)]
    args: LineArguments,
}

#[derive(Deserialize, Default)]
struct LineArguments {
    flow: Option<NumberOrText>,
    site: Option<String>,
    collective: Option<String>,
    peer: Option<u32>,
    #[serde(default)]
    bytes: u64,
    message: Option<u64>,
    protocol: Option<String>,
    rail: Option<u8>,
    host: Option<String>,
    #[serde(default)]
    missing: u64,
}

/// A number or a text. Another value is refused, so that no file fills the memory with nested lists.
enum NumberOrText {
    Number(u64),
    Text(String),
}

impl fmt::Display for NumberOrText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "\"{text}\""),
        }
    }
}

impl<'de> Deserialize<'de> for NumberOrText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrTextVisitor)
    }
}

struct NumberOrTextVisitor;

impl Visitor<'_> for NumberOrTextVisitor {
    type Value = NumberOrText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<NumberOrText, E> {
        Ok(NumberOrText::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<NumberOrText, E> {
        Ok(NumberOrText::Text(text.to_owned()))
    }
}

/// Reads a file.
///
/// # Errors
/// Fails with a text that follows the file's name: the file cannot be read, is no trace of `canele run`, or
/// is cut off.
pub fn read(path: &Path) -> Result<Trace, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    read_from(BufReader::new(Bounded::new(file, MOST_TRACE)))
}

fn read_from(bytes: impl io::Read) -> Result<Trace, String> {
    let mut trace = Trace::default();
    let mut reader = serde_json::Deserializer::from_reader(bytes);
    let is_headed = Whole(&mut trace).deserialize(&mut reader).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => {
            "the trace is cut off: the launcher was killed before it had written all".to_owned()
        }
        serde_json::error::Category::Io => error.to_string(),
        _ => format!("{} ({error})", no_trace()),
    })?;
    reader.end().map_err(|error| format!("something follows the trace ({error})"))?;
    if !is_headed {
        return Err(format!("{} (it does not say which job it is of)", no_trace()));
    }
    // Messages are dropped if only one end of them is in the trace.
    trace.messages.retain(|_, message| message.sent_at >= 0.0 && message.received_at >= 0.0);
    trace.under_way.clear();
    Ok(trace)
}

/// Returns the text that a file is no trace, with a remedy.
fn no_trace() -> String {
    "it is no trace of `canele run --trace`: record one with `canele run -n N --trace run.json PROGRAM`, and give that file"
        .into()
}

/// Returns a text of the file without characters that a terminal obeys.
fn shown(text: &str) -> String {
    printable::line(text).into_owned()
}

impl Trace {
    /// Returns a text in shared memory; equal texts share it.
    fn text(&mut self, text: &str) -> Rc<str> {
        let text = shown(text);
        if let Some(known) = self.texts.get(text.as_str()) {
            return known.clone();
        }
        let text: Rc<str> = text.into();
        self.texts.insert(text.clone());
        text
    }

    fn optional_text(&mut self, text: Option<String>) -> Option<Rc<str>> {
        text.map(|text| self.text(&text))
    }

    fn add(&mut self, line: TraceLine<'_>) -> Result<(), String> {
        let TraceLine { ph, pid, tid, ts, dur, cat, name, args, id } = line;
        let is_time = (-MOST_TIME..=MOST_TIME).contains(&ts) && (0.0..=MOST_TIME).contains(&dur);
        if pid >= MOST_RANKS || !is_time {
            return Err(format!("an event of rank {pid} at {ts} µs that takes {dur} µs"));
        }
        self.ranks.entry(pid).or_default();
        match (&*ph, &*cat, &*name) {
            ("M", _, "process_name") => {
                let rank = self.ranks.entry(pid).or_default();
                (rank.host, rank.missing) = (shown(&args.host.unwrap_or_default()), args.missing);
            }
            ("X", "call" | "collective" | "wait", _) => {
                let kind = match &*cat {
                    "call" => SliceKind::Call,
                    "collective" => SliceKind::Collective,
                    _ => SliceKind::Wait,
                };
                let flow = args.flow.filter(|_| kind == SliceKind::Collective).map(|flow| flow.to_string());
                let slice = Slice {
                    kind,
                    name: self.text(&name),
                    thread: tid,
                    start: ts,
                    end: ts + dur,
                    peer: args.peer.filter(|peer| *peer < MOST_RANKS),
                    flow: self.optional_text(flow),
                    site: self.optional_text(args.site),
                };
                self.rank(pid).slices.push(slice);
            }
            ("X", "send" | "receive", _) => self.add_message(pid, tid, ts, &cat, args)?,
            ("X", "one-sided", _) => {
                let peer = args.peer.filter(|peer| *peer < MOST_RANKS).ok_or("an access without a peer")?;
                let access = Access { at: ts, thread: tid, name: self.text(&name), peer, bytes: args.bytes };
                self.rank(pid).accesses.push(access);
            }
            ("b", "operation", _) => {
                let operation = Operation { name: self.text(&name), start: ts, end: ts, bytes: args.bytes };
                let operations = &mut self.rank(pid).operations;
                operations.push(operation);
                let place = operations.len() - 1;
                if let Some(id) = id {
                    self.under_way.insert((pid, id.to_string()), place);
                }
            }
            ("e", "operation", _) => {
                let begun = id.and_then(|id| self.under_way.remove(&(pid, id.to_string())));
                if let Some(place) = begun {
                    self.rank(pid).operations[place].end = ts;
                }
            }
            // For other protocols, the event of the send has the bytes.
            ("i", "rail", _) if args.protocol.as_deref() == Some("streamed") => {
                let bytes = self.rank(pid).pieces.entry(args.rail.unwrap_or(0)).or_default();
                *bytes = bytes.saturating_add(args.bytes);
            }
            _ => {}
        }
        Ok(())
    }

    fn rank(&mut self, rank: u32) -> &mut RankTrace {
        self.ranks.entry(rank).or_default()
    }

    /// Adds one end of a message.
    fn add_message(
        &mut self,
        pid: u32,
        thread: u32,
        at: f64,
        category: &str,
        args: LineArguments,
    ) -> Result<(), String> {
        let peer = args.peer.filter(|peer| *peer < MOST_RANKS).ok_or("a message without a peer")?;
        let is_sent = category == "send";
        if let Some(number) = args.message {
            let unknown = TracedMessage { sent_at: -1.0, received_at: -1.0, ..TracedMessage::default() };
            let message = self.messages.entry(number).or_insert(unknown);
            message.bytes = args.bytes;
            if is_sent {
                (message.from, message.to, message.sent_at, message.from_thread) = (pid, peer, at, thread);
            } else {
                (message.from, message.to, message.received_at, message.to_thread) = (peer, pid, at, thread);
            }
        }
        let transfer = Transfer {
            at,
            thread,
            peer,
            bytes: args.bytes,
            message: args.message,
            protocol: self.text(args.protocol.as_deref().unwrap_or("announced")),
            rail: args.rail,
            site: self.optional_text(args.site),
            collective: self.optional_text(args.collective),
        };
        let rank = self.rank(pid);
        if is_sent {
            rank.sends.push(transfer)
        } else {
            rank.receives.push(transfer)
        }
        Ok(())
    }
}

/// Reads the whole object; returns true if it has a header.
struct Whole<'t>(&'t mut Trace);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut is_headed = false;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "canele" => {
                    let header: Header = map.next_value()?;
                    if !VERSIONS.contains(&header.version) {
                        let text = format!(
                            "it is of version {}, and this command reads {} to {}: use the release that has recorded it",
                            header.version,
                            VERSIONS.start(),
                            VERSIONS.end()
                        );
                        return Err(A::Error::custom(text));
                    }
                    (self.0.command, is_headed) = (shown(&header.command), true);
                }
                "traceEvents" => map.next_value_seed(Events(&mut *self.0))?,
                "otherData" => {
                    let clocks: ClockData = map.next_value()?;
                    // Each clock may deviate by this much, and two clocks may deviate in opposite directions.
                    let each_ns = clocks.clock_uncertainty_ns.parse::<u64>().unwrap_or(0);
                    self.0.clock_uncertainty = 2.0 * each_ns as f64 / 1000.0;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(is_headed)
    }
}

/// Reads the list of events.
struct Events<'t>(&'t mut Trace);

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(line) = list.next_element::<TraceLine<'_>>()? {
            self.0.add(line).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
