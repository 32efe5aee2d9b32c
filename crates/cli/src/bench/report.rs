//! The rows that are computed from the figures: the report of a job, and the JSON object that other programs
//! read.
//!
//! [`Report`] is the whole (it also travels from rank 0 to the command); [`Report::json`] prints the
//! published part of it, in which fields that do not apply are absent.

use super::arguments::Bench;
use super::case::{Buffers, Case, Figure, Limit, Task};
use super::sample::{Measured, Sample};
use super::statistics::{median, quantile, spread};
use canele_engine::choice::timely_bytes;
use canele_rail::Speed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The largest packet between hosts, in bytes.
const MOST_PIECE: usize = 1 << 20;

/// One row as published.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<usize>,
    pub ranks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffers: Option<Buffers>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// The median over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// The best round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<f64>,
    /// The 99th percentile over the batches of all rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<f64>,
    /// 10⁹ bytes per second, at the median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gbytes_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages_per_s: Option<f64>,
    /// Share of a processor that a blocked rank used, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processor_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The networks between the hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rails: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u32>,
    /// Packs per message, or pages requested at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packs: Option<u32>,
    /// Time in multiples of that of the strategy `fifo`, median over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_to_fifo: Option<f64>,
    /// The slowest operation, if each was timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<f64>,
    /// The data rate of the streams beside it, in 10⁹ bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams_gbytes_per_s: Option<f64>,
    /// The longest time of one piece of the streams on the wire, at their rate: no urgent message overtakes
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub piece_ns: Option<f64>,
    /// Rate as a share of the sum of plain sockets' rates on each rail alone, median over the rounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio_to_sockets: Option<f64>,
    /// The bytes that the kernel counted on each network of rank 0's host, including headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rail_bytes: BTreeMap<String, u64>,
}

/// A limit beside a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    pub limit: Limit,
    /// The median over the rounds, per operation of the limit.
    pub median_ns: f64,
    /// The median over the rounds of the ratio of each round: time in multiples of the limit, or rate as a
    /// share of the limit's.
    pub ratio: f64,
}

/// One row, with figures that only the table and the plot show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    pub row: Row,
    pub figure: Figure,
    /// Distance of the rounds' quartiles, relative to their median.
    pub spread: f64,
    pub beside: Vec<Beside>,
}

/// All measurements of one or several jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub bench: Bench,
    pub lines: Vec<Line>,
    /// The medians in nanoseconds (of `cells`: per cell).
    pub limits: Vec<(Limit, f64)>,
}

#[derive(Serialize)]
struct Published<'a> {
    bench: Bench,
    rows: Vec<&'a Row>,
    limits: PublishedLimits,
}

#[derive(Default, Serialize)]
struct PublishedLimits {
    #[serde(skip_serializing_if = "Option::is_none")]
    line_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cells_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags_ns: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copy1: Vec<Copied>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    copy2: Vec<Copied>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stream: Vec<Copied>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    socket: Vec<Carried>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    socket_stream: Vec<Carried>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    socket_window: Vec<Carried>,
    /// Results of plain sockets on one network each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rails: Vec<Carried>,
}

/// The result of a plain socket for a message.
#[derive(Serialize)]
struct Carried {
    #[serde(skip_serializing_if = "Option::is_none")]
    rail: Option<String>,
    bytes: usize,
    median_ns: f64,
    gbytes_per_s: f64,
}

#[derive(Serialize)]
struct Copied {
    bytes: usize,
    gbytes_per_s: f64,
}

impl Report {
    /// Makes the report of one job. `protocol` names the protocol of a case.
    pub fn new(task: &Task, sample: &Sample, protocol: impl Fn(&Case) -> Option<String>) -> Report {
        let line = |(case, measured): &(Case, Measured)| {
            let is_fifo = |other: &Case| other.strategy.as_deref() == Some("fifo") && case.is_like(other);
            let fifo = sample.cases.iter().find(|(other, _)| is_fifo(other)).map(|(_, fifo)| fifo);
            let mut line = line(task.ranks, case, measured, protocol(case));
            line.row.piece_ns = line.row.streams_gbytes_per_s.filter(|_| task.between_hosts).map(piece_ns);
            line.row.ratio_to_fifo = fifo.map(|fifo| digits(paired(&measured.rounds, &fifo.rounds)));
            line
        };
        let limits = sample.limits.iter().map(|(limit, figures)| (*limit, median(figures)));
        Report { bench: task.bench, lines: sample.cases.iter().map(line).collect(), limits: limits.collect() }
    }

    /// Stores the networks on which the rows were measured, if any.
    pub fn set_rails(&mut self, rails: &[String]) {
        let rails = (!rails.is_empty()).then(|| rails.to_vec());
        self.lines.iter_mut().for_each(|line| line.row.rails.clone_from(&rails));
    }

    /// Adds the rows of another job of the same benchmark. If both jobs measured a limit, the later job's
    /// value is kept: jobs are ordered by their numbers of ranks, and the value of `flags` for the most ranks
    /// is wanted.
    pub fn join(&mut self, other: Report) {
        self.lines.extend(other.lines);
        let mut limits: BTreeMap<Limit, f64> = self.limits.drain(..).collect();
        limits.extend(other.limits);
        self.limits = limits.into_iter().collect();
    }

    /// Returns one JSON object and a newline.
    pub fn json(&self) -> String {
        let rows = self.lines.iter().map(|line| &line.row).collect();
        let published = Published { bench: self.bench, rows, limits: self.published_limits() };
        serde_json::to_string(&published).expect("plain data always has a JSON form") + "\n"
    }

    /// Returns the name of the network with this number.
    pub fn rail(&self, number: usize) -> Option<String> {
        self.lines.first()?.row.rails.as_ref()?.get(number).cloned()
    }

    fn published_limits(&self) -> PublishedLimits {
        let mut published = PublishedLimits::default();
        for (limit, ns) in &self.limits {
            let copied = |bytes: usize| Copied { bytes, gbytes_per_s: digits(bytes as f64 / ns) };
            let carried = |bytes: usize| Carried {
                rail: None,
                bytes,
                median_ns: digits(*ns),
                gbytes_per_s: digits(bytes as f64 / ns),
            };
            match *limit {
                Limit::Line => published.line_ns = Some(digits(*ns)),
                Limit::Cells => published.cells_per_s = Some(digits(1e9 / ns)),
                Limit::Flags => published.flags_ns = Some(digits(*ns)),
                Limit::Copy1(bytes) => published.copy1.push(copied(bytes)),
                Limit::Copy2(bytes) => published.copy2.push(copied(bytes)),
                Limit::Stream(bytes) => published.stream.push(copied(bytes)),
                Limit::Socket(bytes) => published.socket.push(carried(bytes)),
                Limit::SocketStream(bytes) => published.socket_stream.push(carried(bytes)),
                Limit::SocketWindow(bytes) => published.socket_window.push(carried(bytes)),
                Limit::Rail(rail, bytes) => {
                    published.rails.push(Carried { rail: self.rail(rail), ..carried(bytes) });
                }
            }
        }
        published
    }
}

fn line(ranks: u32, case: &Case, measured: &Measured, protocol: Option<String>) -> Line {
    let ns = median(&measured.rounds);
    let (is, bytes) = (case.figure, case.bytes.filter(|bytes| *bytes > 0));
    let timed = is != Figure::Processor;
    let row = Row {
        bytes: case.bytes,
        ranks,
        threads: case.threads,
        buffers: case.buffers,
        protocol,
        median_ns: timed.then_some(digits(ns)),
        min_ns: timed.then(|| digits(quantile(&measured.rounds, 0.0))),
        p99_ns: timed.then(|| digits(quantile(&measured.batches, 0.99))),
        gbytes_per_s: bytes
            .filter(|_| timed && case.buffers.is_some())
            .map(|bytes| digits(bytes as f64 / ns)),
        messages_per_s: (is == Figure::Rate).then(|| digits(1e9 / ns)),
        processor_share: (is == Figure::Processor).then(|| digits(ns / 1e9)),
        operation: case.operation.clone(),
        strategy: case.strategy.clone(),
        flows: case.flows,
        packs: case.packs,
        longest_ns: measured.one_by_one.then(|| digits(quantile(&measured.batches, 1.0))),
        streams_gbytes_per_s: (!measured.streams.is_empty()).then(|| digits(median(&measured.streams))),
        ratio_to_sockets: of_sockets(case, measured).map(digits),
        rail_bytes: measured.rail_bytes.clone(),
        ..Row::default()
    };
    let beside = case.limits.iter().zip(&measured.beside).map(|(limit, figures)| {
        let ratio = |(ours, bare): (&f64, &f64)| if is == Figure::Time { ours / bare } else { bare / ours };
        let ratios: Vec<f64> = measured.rounds.iter().zip(figures).map(ratio).collect();
        Beside { limit: *limit, median_ns: median(figures), ratio: median(&ratios) }
    });
    Line { row, figure: is, spread: spread(&measured.rounds), beside: beside.collect() }
}

/// Returns the time of the largest piece between hosts, on a link of this rate.
fn piece_ns(gbytes_per_s: f64) -> f64 {
    let speed = Speed { bytes_per_us: (gbytes_per_s * 1e3) as u32, ..Speed::default() };
    digits(timely_bytes(speed, MOST_PIECE, false) as f64 / gbytes_per_s)
}

/// Returns the median over the rounds of one figure in units of the other.
fn paired(ours: &[f64], theirs: &[f64]) -> f64 {
    let ratios: Vec<f64> = ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

/// Returns the rate as a share of the rate of plain sockets on all rails together.
fn of_sockets(case: &Case, measured: &Measured) -> Option<f64> {
    let on_rail = |(limit, _): &(&Limit, &Vec<f64>)| matches!(limit, Limit::Rail(..));
    let rails: Vec<&Vec<f64>> =
        case.limits.iter().zip(&measured.beside).filter(on_rail).map(|(_, figures)| figures).collect();
    // In each round the sum of the rates is the inverse of the combined time.
    let together = |round| 1.0 / rails.iter().map(|figures| 1.0 / figures[round]).sum::<f64>();
    let sums: Vec<f64> = (0..measured.rounds.len()).map(together).collect();
    (!rails.is_empty()).then(|| paired(&sums, &measured.rounds))
}

/// Rounds to six significant digits: more would be noise.
fn digits(figure: f64) -> f64 {
    format!("{figure:.5e}").parse().unwrap_or(figure)
}

#[cfg(test)]
#[path = "report_tests.rs"]
pub(super) mod tests;
