//! The task of a job, its cases (later rows), and the limits for comparison with a case.

use super::arguments::Bench;
use crate::run::Wait;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The suffixes of message sizes, as error texts name them.
pub const COUNT_NAMES: &str = "K or M";

/// Bytes of the largest message that fits in one cell with its header; its limit is that of one cache line.
pub const CELL_BYTES: usize = 48;
/// The size from which on messages in private memory are compared with the stream of pieces, and those in
/// regions with one or two copies.
const LARGE_BYTES: usize = 64 << 10;
/// Bytes of the largest message of any workload without requested sizes, and so of the largest limit measured
/// for it.
pub const COPY_LIMIT_BYTES: usize = 4 << 20;
/// Batches per round; the percentiles show single slow batches.
pub const BATCHES: u32 = 20;
/// Bytes that one round of large messages moves in one direction.
const ROUND_BYTES: usize = 1 << 26;

/// The kind of memory that holds a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    /// In the program's own memory
    Private,
    /// In regions that Canelé allocated
    Region,
}

/// The measurements of one job, equal on all its ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub bench: Bench,
    /// Requested message sizes; empty: the workload's own.
    pub bytes: Vec<usize>,
    pub ranks: u32,
    pub buffers: Buffers,
    pub wait: Wait,
    pub rounds: u32,
    pub iterations: Option<u32>,
    /// The strategies that are compared, `fifo` first.
    pub strategies: Vec<String>,
    /// Number of flows at once, and packs per message; empty: the workload's own.
    pub flows: Vec<u32>,
    pub packs: Vec<u32>,
    /// True if the limits are measured, too.
    pub limits: bool,
    /// True if the ranks are on several hosts.
    pub between_hosts: bool,
    /// Settings of the ranks beside those of the environment: variables and values.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// The collectives that are measured; empty: the workload's own.
    #[serde(default)]
    pub calls: Vec<PlannedCall>,
    /// Seconds after which the job is ended.
    #[serde(default)]
    pub most_seconds: Option<u64>,
}

/// A collective to measure, and its repetitions in a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedCall {
    pub operation: String,
    pub bytes: usize,
    pub batches: u32,
    /// Number of calls per batch.
    pub iterations: u32,
}

impl Task {
    /// Returns the limits of a message of `bytes` that is sent and answered.
    pub fn message_limits(&self, bytes: usize) -> Vec<Limit> {
        if self.between_hosts { vec![Limit::Socket(bytes)] } else { Limit::of_message(bytes, self.buffers) }
    }

    /// Returns the limit of messages of `bytes` that are sent in windows.
    pub fn window_limit(&self, bytes: usize) -> Limit {
        if self.between_hosts { Limit::SocketWindow(bytes) } else { Limit::Cells }
    }

    /// Returns the requested sizes, or else `usual`.
    pub fn sizes(&self, usual: &[usize]) -> Vec<usize> {
        if self.bytes.is_empty() { usual.to_vec() } else { self.bytes.clone() }
    }

    /// Returns the operations per batch for messages of `bytes`; small ones take `usual` per round.
    pub fn iterations(&self, usual: u32, bytes: usize) -> u32 {
        let (bytes_per_round, usual) =
            if self.between_hosts { (ROUND_BYTES / 4, usual / 4) } else { (ROUND_BYTES, usual) };
        let most = (bytes_per_round / bytes.max(1)).max(BATCHES as usize);
        let round = (self.iterations.unwrap_or(usual) as usize).min(most);
        (round as u32 / BATCHES).max(1)
    }
}

/// The meaning of a case's figure, which decides its unit and its comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// The time of one operation.
    Time,
    /// Bytes per second.
    Bandwidth,
    /// Operations per second.
    Rate,
    /// Processor time of a blocked rank: nanoseconds per second.
    Processor,
}

/// A bare cost of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Limit {
    Line,
    Cells,
    Flags,
    Copy1(usize),
    Copy2(usize),
    Stream(usize),
    /// A plain socket with request and answer.
    Socket(usize),
    /// A plain socket with messages one way, then one answer.
    SocketStream(usize),
    /// A plain socket with 64 messages in one write, then one answer.
    SocketWindow(usize),
    /// A plain socket on the network of this number alone, from 0: messages one way, each answered.
    Rail(usize, usize),
}

impl Limit {
    /// Returns the limits of a message of `bytes`.
    pub fn of_message(bytes: usize, buffers: Buffers) -> Vec<Limit> {
        match (bytes, buffers) {
            (..=CELL_BYTES, _) => vec![Limit::Line],
            (..LARGE_BYTES, _) => vec![Limit::Copy1(bytes)],
            (_, Buffers::Private) => vec![Limit::Stream(bytes)],
            (_, Buffers::Region) => vec![Limit::Copy1(bytes), Limit::Copy2(bytes)],
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Limit::Line => "line",
            Limit::Cells => "cells",
            Limit::Flags => "flags",
            Limit::Copy1(_) => "copy1",
            Limit::Copy2(_) => "copy2",
            Limit::Stream(_) => "stream",
            Limit::Socket(_) => "socket",
            Limit::SocketStream(_) => "socket stream",
            Limit::SocketWindow(_) => "socket window",
            Limit::Rail(..) => "socket on one rail",
        })
    }
}

/// One row before it is measured; equal on all ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub operation: Option<String>,
    pub bytes: Option<usize>,
    pub buffers: Option<Buffers>,
    pub threads: Option<u32>,
    pub figure: Figure,
    pub batches: u32,
    /// Number of operations per batch.
    pub iterations: u32,
    /// The limits for comparison with the figure.
    pub limits: Vec<Limit>,
    /// The strategy; none if strategies are not compared.
    pub strategy: Option<String>,
    /// Number of flows at once.
    pub flows: Option<u32>,
    /// Packs per message, or pages requested at once.
    pub packs: Option<u32>,
}

impl Case {
    /// Makes a case of `bytes` without other properties; the workload fills in those that apply.
    pub fn of_bytes(bytes: usize, figure: Figure, iterations: u32, limits: Vec<Limit>) -> Case {
        Case {
            operation: None,
            bytes: Some(bytes),
            buffers: None,
            threads: None,
            figure,
            batches: BATCHES,
            iterations,
            limits,
            strategy: None,
            flows: None,
            packs: None,
        }
    }

    /// Returns this case with each of the compared strategies.
    pub fn under_each(self, task: &Task) -> Vec<Case> {
        task.strategies.iter().map(|name| Case { strategy: Some(name.clone()), ..self.clone() }).collect()
    }

    /// Returns true if `other` differs from this one in its strategy only.
    pub fn is_like(&self, other: &Case) -> bool {
        let key = |case: &Case| (case.operation.clone(), case.bytes, case.flows, case.packs);
        key(self) == key(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_follow_size_and_memory() {
        use Buffers::{Private, Region};
        assert_eq!(Limit::of_message(0, Private), [Limit::Line]);
        assert_eq!(Limit::of_message(48, Region), [Limit::Line]);
        assert_eq!(Limit::of_message(49, Private), [Limit::Copy1(49)]);
        assert_eq!(Limit::of_message(65535, Region), [Limit::Copy1(65535)]);
        assert_eq!(Limit::of_message(65536, Private), [Limit::Stream(65536)]);
        assert_eq!(Limit::of_message(65536, Region), [Limit::Copy1(65536), Limit::Copy2(65536)]);
    }

    #[test]
    fn large_messages_take_fewer_iterations_but_at_least_one_per_batch() {
        let task = Task {
            bench: Bench::Latency,
            bytes: vec![],
            ranks: 2,
            buffers: Buffers::Private,
            wait: Wait::Adaptive,
            rounds: 11,
            iterations: None,
            strategies: vec![],
            flows: vec![],
            packs: vec![],
            limits: true,
            between_hosts: false,
            settings: vec![],
            calls: vec![],
            most_seconds: None,
        };
        assert_eq!(task.iterations(20_000, 0), 1000);
        assert_eq!(task.iterations(20_000, 64 << 10), 1024 / BATCHES);
        assert_eq!(task.iterations(20_000, 1 << 30), 1);
        assert_eq!(Task { iterations: Some(7), ..task }.iterations(20_000, 0), 1);
    }
}
