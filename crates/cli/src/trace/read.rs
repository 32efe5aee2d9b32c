//! Reads a trace, an event at a time, into what is needed of it.

use canele_sys::bounded_read::Bounded;
use canele_sys::printable;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Bytes that a trace may have.
const MOST_TRACE: u64 = 4 << 30;
/// Ranks that a trace may have.
const MOST_RANKS: u32 = 1 << 20;

/// A trace.
#[derive(Debug, Default)]
pub struct Trace {
    /// The programs of the job.
    pub command: String,
    pub ranks: BTreeMap<u32, RankTrace>,
    /// Messages both ends of which are known, by their numbers.
    pub messages: BTreeMap<u64, TracedMessage>,
}

/// What a rank has recorded.
#[derive(Debug, Default)]
pub struct RankTrace {
    pub host: String,
    /// Events that found no room.
    pub missing: u64,
    pub slices: Vec<Slice>,
    pub sends: Vec<Transfer>,
    pub receives: Vec<Transfer>,
    /// Bytes that left in pieces, by the number of the rail.
    pub pieces: BTreeMap<u8, u64>,
}

/// A call, a collective or a wait. Times are in µs.
#[derive(Debug)]
pub struct Slice {
    pub kind: SliceKind,
    pub name: String,
    pub thread: u32,
    pub start: f64,
    pub end: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SliceKind {
    Call,
    Collective,
    Wait,
}

/// One end of a message.
#[derive(Debug)]
pub struct Transfer {
    pub at: f64,
    pub thread: u32,
    pub peer: u32,
    pub bytes: u64,
    pub message: Option<u64>,
    pub protocol: String,
    pub rail: Option<u8>,
}

/// A message.
#[derive(Clone, Copy, Default, Debug)]
pub struct TracedMessage {
    pub from: u32,
    pub to: u32,
    pub sent_at: f64,
    pub received_at: f64,
    pub bytes: u64,
}

#[derive(Deserialize)]
struct Header {
    version: u32,
    command: String,
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
    #[serde(default)]
    args: LineArguments,
}

#[derive(Deserialize, Default)]
struct LineArguments {
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

/// Reads a file.
///
/// # Errors
/// It cannot be read, is no trace of `canele run`, or ends in the middle: in words that follow its name.
pub fn read(path: &Path) -> Result<Trace, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut trace = Trace::default();
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(Bounded::new(file, MOST_TRACE)));
    let is_headed = Whole(&mut trace).deserialize(&mut reader).map_err(|error| match error.classify() {
        serde_json::error::Category::Eof => {
            "the trace is cut off: the launcher was killed before it had written all".to_owned()
        }
        serde_json::error::Category::Io => error.to_string(),
        _ => format!("it is no trace of `canele run --trace` ({error})"),
    })?;
    reader.end().map_err(|error| format!("something follows the trace ({error})"))?;
    if !is_headed {
        return Err("it is no trace of `canele run --trace`: it does not say which job it is of".into());
    }
    // Messages of which only one end was understood.
    trace.messages.retain(|_, message| message.sent_at >= 0.0 && message.received_at >= 0.0);
    Ok(trace)
}

/// A text of the file, as a terminal may show it.
fn shown(text: &str) -> String {
    printable::line(text).into_owned()
}

impl Trace {
    fn add(&mut self, line: TraceLine<'_>) -> Result<(), String> {
        let TraceLine { ph, pid, tid, ts, dur, cat, name, args } = line;
        if pid >= MOST_RANKS || !ts.is_finite() || !dur.is_finite() || dur < 0.0 {
            return Err(format!("an event of rank {pid} at {ts} µs that takes {dur} µs"));
        }
        let rank = self.ranks.entry(pid).or_default();
        match (&*ph, &*cat, &*name) {
            ("M", _, "process_name") => {
                (rank.host, rank.missing) = (shown(&args.host.unwrap_or_default()), args.missing);
            }
            ("X", "call" | "collective" | "wait", _) => {
                let kind = match &*cat {
                    "call" => SliceKind::Call,
                    "collective" => SliceKind::Collective,
                    _ => SliceKind::Wait,
                };
                let name = shown(&name);
                rank.slices.push(Slice { kind, name, thread: tid, start: ts, end: ts + dur });
            }
            ("X", "send" | "receive", _) => {
                let peer = args.peer.filter(|peer| *peer < MOST_RANKS).ok_or("a message without a peer")?;
                let is_sent = cat == "send";
                if let Some(number) = args.message {
                    let unknown =
                        TracedMessage { sent_at: -1.0, received_at: -1.0, ..TracedMessage::default() };
                    let message = self.messages.entry(number).or_insert(unknown);
                    message.bytes = args.bytes;
                    match is_sent {
                        true => (message.from, message.to, message.sent_at) = (pid, peer, ts),
                        false => (message.from, message.to, message.received_at) = (peer, pid, ts),
                    }
                }
                let transfer = Transfer {
                    at: ts,
                    thread: tid,
                    peer,
                    bytes: args.bytes,
                    message: args.message,
                    protocol: shown(args.protocol.as_deref().unwrap_or("announced")),
                    rail: args.rail,
                };
                if is_sent { rank.sends.push(transfer) } else { rank.receives.push(transfer) }
            }
            // Of other messages the send says so.
            ("i", "rail", _) if args.protocol.as_deref() == Some("streamed") => {
                *rank.pieces.entry(args.rail.unwrap_or(0)).or_default() += args.bytes
            }
            _ => {}
        }
        Ok(())
    }
}

/// Reads the whole object; says whether it has a header.
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
                    if !(1..=2).contains(&header.version) {
                        let text = format!("it is of version {}, and this command reads 1 and 2", header.version);
                        return Err(A::Error::custom(text));
                    }
                    (self.0.command, is_headed) = (shown(&header.command), true);
                }
                "traceEvents" => map.next_value_seed(Events(&mut *self.0))?,
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
