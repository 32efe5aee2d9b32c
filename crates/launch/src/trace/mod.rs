//! The trace of a job: the records of its ranks, collected from all hosts and written as one timeline.
//!
//! ```text
//!   ranks ─memfd─▶ host (here, or an agent) ─records, after the end─▶ Trace: unnamed file ─▶ chrome: FILE
//!                  clock requests at the start and at the end ──────▶ HostClock
//! ```
//! Owns the records until they are written. A rank's records are not trusted: they may be any bytes, but no
//! more than the limit.

mod chrome;
mod clock;
mod departures;
mod matching;
mod operations;
mod portions;
mod sites;
mod words;

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use canele_control::JobInfo;
use canele_sys::clock as host_clock;
use canele_trace::{Event, RECORD_BYTES, RankEvents, SiteFrame};

use super::host_ranks::Order;
use super::job_hosts::JobHosts;
use super::launcher::Launcher;
use clock::HostClock;
use matching::MessageNumbers;

/// The number of consecutive requests to each host.
const QUESTIONS: u32 = 8;

/// The records of a job's ranks.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    file: File,
    /// Records in the order of arrival, in an unnamed file.
    gathered: File,
    end: u64,
    /// The most bytes that a rank may have recorded.
    most: u64,
    ranks: Vec<RankRecords>,
    clocks: Vec<HostClock>,
    command: String,
    /// The first error.
    error: Option<String>,
}

/// The position of a rank's records.
#[derive(Debug, Default)]
struct RankRecords {
    parts: Vec<(u64, u64)>,
    bytes: u64,
    missing: u64,
    /// True if the rank has recorded events, and its host has sent all of them.
    is_whole: bool,
}

/// The data of a rank in the timeline.
struct RankTrace {
    rank: u32,
    host: String,
    events: Vec<Event>,
    names: HashMap<u16, String>,
    sites: HashMap<u16, Vec<SiteFrame>>,
    missing: u64,
}

impl Trace {
    /// Creates the file and returns a trace that will be written to it.
    ///
    /// # Errors
    /// Fails with a text if the file cannot be written.
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

    /// Adds records of a rank.
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

    /// Notes that all records of a rank have come, and the number of events that found no room.
    pub fn add_missing(&mut self, rank: u32, missing: u64) {
        let part = self.rank_mut(rank);
        (part.missing, part.is_whole) = (missing, true);
    }

    /// Returns the events of a rank, in the launcher's time.
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
        // Threads record independently.
        events.sort_by_key(|event| event.at_ns);
        let name = info.hosts.get(host).map_or(String::new(), |host| host.name.clone());
        Ok(RankTrace { rank, host: name, events, names, sites, missing: records.missing })
    }

    /// Writes the file. Returns the remark for the user.
    fn write(mut self, info: &JobInfo) -> String {
        let path = self.path.display().to_string();
        if let Some(error) = self.error.take() {
            return format!("the trace is not complete: {error}");
        }
        match self.try_write(info) {
            Ok((0, 0)) if self.ranks.iter().all(|rank| rank.parts.is_empty()) && self.remove() => {
                format!("no trace is written to {path}: no rank has used the library")
            }
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

    /// Removes the file, which has no events and would only mislead. A device, a pipe or a link that the user
    /// named stays.
    fn remove(&self) -> bool {
        let own = self.file.metadata().map(|of| (of.dev(), of.ino()));
        let is_own = |named: &fs::Metadata| own.is_ok_and(|own| own == (named.dev(), named.ino()));
        let named = fs::symlink_metadata(&self.path);
        named.is_ok_and(|named| named.is_file() && is_own(&named)) && fs::remove_file(&self.path).is_ok()
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
        Ok((count, missing(&self.ranks)))
    }
}

/// Returns the number of events of all whole ranks that found no room. A rank may have reported any number.
fn missing(ranks: &[RankRecords]) -> u64 {
    let whole = ranks.iter().filter(|rank| rank.is_whole);
    whole.map(|rank| rank.missing).fold(0, u64::saturating_add)
}

impl Launcher {
    /// Compares a host's clock with the launcher's, when the first rank of the host runs.
    pub(super) fn compare_clock(&mut self, host: usize) {
        if !matches!(self.hosts, JobHosts::There(_)) {
            return;
        }
        let clock = self.trace.as_mut().and_then(|trace| trace.clocks.get_mut(host));
        if clock.is_some_and(HostClock::begin) {
            self.ask_clock(host);
        }
    }

    /// Compares all clocks once more, when the job is ending.
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

    /// Notes the time that a host has sent.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_events_of_whole_ranks_are_summed_up_to_the_largest_number() {
        let rank = |missing, is_whole| RankRecords { missing, is_whole, ..RankRecords::default() };
        assert_eq!(missing(&[rank(3, true), rank(100, false), rank(4, true)]), 7);
        assert_eq!(missing(&[rank(3, true), rank(u64::MAX, true)]), u64::MAX);
    }
}
