//! The trace of a job: what its ranks have recorded, gathered from all hosts and written as one timeline.
//!
//! ```text
//!   ranks ─memfd─▶ host (here, or an agent) ─records, after the end─▶ Trace: a file without a name ─▶ chrome: FILE
//!                  clock questions at the start and at the end ─────▶ HostClock
//! ```
//! Owns what was gathered until it is written. What a rank recorded is not trusted: it may be anything, but no more than it may have.

mod chrome;
mod clock;
mod departures;
mod matching;
mod operations;
mod sites;
mod words;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use canele_control::JobInfo;
use canele_sys::clock as host_clock;
use canele_trace::{Event, RECORD_BYTES, RankEvents, SiteFrame};

use super::host_ranks::Order;
use super::job_hosts::JobHosts;
use super::launcher::Launcher;
use clock::HostClock;
use matching::MessageNumbers;

/// Questions to each host in a row.
const QUESTIONS: u32 = 8;

/// What the ranks of a job have recorded.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    file: File,
    /// Records as they came, in a file that has no name any more.
    gathered: File,
    end: u64,
    /// Bytes that a rank may have recorded.
    most: u64,
    ranks: Vec<RankRecords>,
    clocks: Vec<HostClock>,
    command: String,
    /// What went wrong first.
    error: Option<String>,
}

/// Where the records of a rank lie.
#[derive(Debug, Default)]
struct RankRecords {
    parts: Vec<(u64, u64)>,
    bytes: u64,
    missing: u64,
    /// It has recorded, and its host has told all of it.
    is_whole: bool,
}

/// What is written of a rank.
struct RankTrace {
    rank: u32,
    host: String,
    events: Vec<Event>,
    names: HashMap<u16, String>,
    sites: HashMap<u16, Vec<SiteFrame>>,
    missing: u64,
}

impl Trace {
    /// A trace that will be written to a file, which is made now.
    ///
    /// # Errors
    /// The file cannot be written, in words.
    pub fn create(path: &Path, info: &JobInfo, command: String, most: usize) -> Result<Trace, String> {
        let cannot = |error: io::Error| format!("--trace {}: {error}", path.display());
        let file = File::create(path).map_err(cannot)?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let gathered =
            File::options().read(true).write(true).create_new(true).open(&beside).map_err(cannot)?;
        fs::remove_file(&beside).map_err(cannot)?;
        Ok(Trace {
            path: path.to_owned(),
            file,
            gathered,
            end: 0,
            most: most as u64,
            ranks: Vec::new(),
            clocks: info.hosts.iter().map(|_| HostClock::default()).collect(),
            command,
            error: None,
        })
    }

    fn rank_mut(&mut self, rank: u32) -> &mut RankRecords {
        let at = rank as usize;
        if at >= self.ranks.len() {
            self.ranks.resize_with(at + 1, RankRecords::default);
        }
        &mut self.ranks[at]
    }

    /// Records of a rank have come.
    pub fn add(&mut self, rank: u32, records: &[u8]) {
        let (end, most) = (self.end, self.most);
        let part = self.rank_mut(rank);
        part.bytes += records.len() as u64;
        if part.bytes > most || !records.len().is_multiple_of(RECORD_BYTES) {
            let text = format!("rank {rank} has recorded more than it may, or no whole events");
            self.error.get_or_insert(text);
            return;
        }
        part.parts.push((end, records.len() as u64));
        self.end += records.len() as u64;
        if let Err(error) = self.gathered.write_all_at(records, end) {
            self.error.get_or_insert(format!("{}: {error}", self.path.display()));
        }
    }

    /// All of a rank has come, but for so many events that found no room.
    pub fn add_missing(&mut self, rank: u32, missing: u64) {
        let part = self.rank_mut(rank);
        (part.missing, part.is_whole) = (missing, true);
    }

    /// The events of a rank, in the launcher's time.
    fn read(&self, rank: u32, info: &JobInfo) -> io::Result<RankTrace> {
        let records = &self.ranks[rank as usize];
        let host = info.host_of(rank);
        let mut bytes = Vec::new();
        for (start, len) in &records.parts {
            let from = bytes.len();
            bytes.resize(from + *len as usize, 0);
            self.gathered.read_exact_at(&mut bytes[from..], *start)?;
        }
        let RankEvents { mut events, names, sites } = RankEvents::decode(&bytes);
        if let Some(clock) = self.clocks.get(host) {
            events.iter_mut().for_each(|event| event.at_ns = clock.to_launcher(event.at_ns));
        }
        // Threads record beside each other.
        events.sort_by_key(|event| event.at_ns);
        let name = info.hosts.get(host).map_or(String::new(), |host| host.name.clone());
        Ok(RankTrace { rank, host: name, events, names, sites, missing: records.missing })
    }

    /// Writes the file. Says what is to be said about it.
    fn write(mut self, info: &JobInfo) -> String {
        let path = self.path.display().to_string();
        if let Some(error) = self.error.take() {
            return format!("the trace is not complete: {error}");
        }
        match self.try_write(info) {
            Ok((events, missing)) => {
                let lost = match missing {
                    0 => String::new(),
                    lost => format!("; {lost} more found no room: raise CANELE_TRACE_BYTES"),
                };
                format!("trace of {events} events written to {path}{lost}; `canele trace {path}` sums it up")
            }
            Err(error) => format!("the trace cannot be written to {path}: {error}"),
        }
    }

    fn try_write(&self, info: &JobInfo) -> io::Result<(usize, u64)> {
        let ranks: Vec<u32> =
            (0..).zip(&self.ranks).filter(|(_, rank)| rank.is_whole).map(|(n, _)| n).collect();
        let mut numbers = MessageNumbers::default();
        let (mut start_ns, mut end_ns, mut count) = (u64::MAX, 0, 0);
        for &rank in &ranks {
            let trace = self.read(rank, info)?;
            start_ns = start_ns.min(trace.events.first().map_or(u64::MAX, |event| event.at_ns));
            end_ns = end_ns.max(trace.events.last().map_or(0, |event| event.at_ns));
            count += trace.events.len();
            numbers.count(rank, &trace.events);
        }
        numbers.assign();
        let mut out = chrome::Writer::begin(BufWriter::new(&self.file), &self.command, (start_ns, end_ns))?;
        for &rank in &ranks {
            out.write_rank(self.read(rank, info)?, &mut numbers)?;
        }
        out.end(self.clocks.iter().map(HostClock::uncertainty_ns).max().unwrap_or(0))?.flush()?;
        Ok((count, ranks.iter().map(|rank| self.ranks[*rank as usize].missing).sum()))
    }
}

impl Launcher {
    /// The first rank of a host runs: compares its clock with the launcher's.
    pub(super) fn compare_clock(&mut self, host: usize) {
        if !matches!(self.hosts, JobHosts::There(_)) {
            return;
        }
        let clock = self.trace.as_mut().and_then(|trace| trace.clocks.get_mut(host));
        if clock.is_some_and(HostClock::begin) {
            self.ask_clock(host);
        }
    }

    /// The job is ending: compares all clocks once more.
    pub(super) fn compare_clocks_again(&mut self) {
        if !matches!(self.hosts, JobHosts::There(_)) {
            return;
        }
        for host in 0..self.trace.as_ref().map_or(0, |trace| trace.clocks.len()) {
            let clock = self.trace.as_mut().and_then(|trace| trace.clocks.get_mut(host));
            if self.open[host] && clock.is_some_and(HostClock::begin_again) {
                self.ask_clock(host);
            }
        }
    }

    fn ask_clock(&mut self, host: usize) {
        let order = Order::TellClock { asked_ns: host_clock::monotonic_ns() };
        self.hosts.tell(host, order, &self.events);
    }

    /// A host has told what time it is.
    pub(super) fn note_clock(&mut self, host: usize, asked_ns: u64, at_ns: u64) {
        let now_ns = host_clock::monotonic_ns();
        let Some(clock) = self.trace.as_mut().and_then(|trace| trace.clocks.get_mut(host)) else { return };
        if clock.note(asked_ns, at_ns, now_ns) < QUESTIONS {
            self.ask_clock(host);
        }
    }

    /// Writes the trace, if the ranks were traced.
    pub(super) fn write_trace(&mut self) {
        if let Some(trace) = self.trace.take() {
            let text = trace.write(self.job.info());
            self.output.say(&text);
        }
    }
}
