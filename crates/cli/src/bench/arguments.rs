//! The arguments of `canele bench`, and the jobs that they ask for. Reads nothing but the command line and
//! the number of processors.

use super::case::{Buffers, COUNT_NAMES, Task};
use crate::run::{HostOptions, Wait};
use canele_sys::tunables::STRATEGIES;
use clap::ValueEnum;
use std::fmt;
use std::path::PathBuf;

/// The largest message that a benchmark sends, in bytes.
const LARGEST_BYTES: usize = 256 << 20;
/// Numbers of ranks of `collectives` without an option.
const COLLECTIVE_RANKS: [u32; 3] = [2, 4, 8];

/// A measurement that `canele bench` can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bench {
    /// One-way time of a tagged message
    Latency,
    /// Bytes per second, streaming and ping-pong
    Bandwidth,
    /// Messages per second, sent in windows of 64 with one reply each
    Rate,
    /// One-way time of a put with remote notification
    Put,
    /// Time from post to retrieve of a mailbox message
    Mailbox,
    /// Ways of waiting compared, and the processor time of a blocked rank
    Wait,
    /// Rate and latency with several threads per rank
    Threads,
    /// Barrier, broadcast, allreduce, allgather, alltoall
    Collectives,
    /// Strategies compared: requests for pages of 65 KB, all outstanding at once
    Dsm,
    /// Strategies compared: parallel ping-pongs of several packs each
    Flows,
    /// Strategies compared: an urgent round trip beside four streams of large messages
    Priority,
    /// Strategies compared: large messages over all networks between two hosts
    Rails,
}

impl Bench {
    /// Returns true if the benchmark compares strategies.
    pub fn is_experiment(self) -> bool {
        matches!(self, Bench::Dsm | Bench::Flows | Bench::Priority | Bench::Rails)
    }

    /// Returns the strategies that are compared with `fifo` without an option.
    fn usual_strategies(self) -> &'static [&'static str] {
        match self {
            Bench::Dsm | Bench::Flows => &["aggregate"],
            Bench::Priority => &["aggregate", "priority", "split"],
            Bench::Rails => &["split"],
            _ => &[],
        }
    }
}

impl fmt::Display for Bench {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

/// `canele bench …`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  canele bench latency
  canele bench bandwidth --bytes 64K,1M,4M --buffers region --plot bandwidth.svg
  canele bench collectives --ranks 8 --json
  canele bench flows --flows 1,16 --packs 1,16 --bytes 8 --strategy aggregate
  canele bench latency --hosts h0:1,h1:1
  canele bench dsm --packs 3 --hosts h0:1,h1:1
  canele bench priority --strategy priority,split --hosts h0:1,h1:1
  canele bench rails --bytes 4M,64M --hosts h0:1,h1:1 --json
  canele bench flows --bytes 8,64K --flows 1,4,16 --hosts h0:1,h1:1 --plot flows.svg
  canele bench rails --bytes 4M --no-limits --rounds 1000 --hosts h0:1,h1:1   (and cut one of them meanwhile)
  canele bench bandwidth --bytes 4M --hosts h0:1,h1:1 --rsh 'ssh -p 2222'

The limits beside each figure (line, copy1, copy2, stream, cells, flags) are the results of bare loops on this
machine in the same rounds. Between hosts they are plain TCP sockets between the first and the last rank, over the
first of the rails, both ends polling: request and answer (socket), one way (socket stream), and windows of 64
messages in one write (socket window). put, and buffers in regions, need memory that the ranks share.

dsm, flows, priority and rails let strategies take turns within each round: `to fifo` is the time divided by that
of fifo, paired by rounds. For rails the limit is the sum of the rates of plain sockets on each network alone;
`longest` shows the pause when a network is cut meanwhile. A '!' marks a figure whose rounds spread by more than
10 %: judge it by its ratio.")]
pub struct BenchArguments {
    /// Measurement to run
    #[arg(value_enum)]
    pub bench: Bench,
    /// Message sizes in bytes, with K or M for 1024 and 1024², as 8,64K [default: chosen by each benchmark]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = parse_bytes)]
    pub bytes: Vec<usize>,
    /// Number of ranks of the job [default: 2; collectives: 2, 4 and 8]
    #[arg(short = 'n', long, value_name = "N")]
    pub ranks: Option<u32>,
    /// Memory that holds the messages [default: private]
    #[arg(long, value_enum)]
    pub buffers: Option<Buffers>,
    /// Way in which a rank waits [default: adaptive; wait: all three]
    #[arg(long, value_enum)]
    pub wait: Option<Wait>,
    /// Strategies to compare with fifo, in turns [default: those made for the benchmark]
    #[arg(long = "strategy", value_name = "S,…", value_delimiter = ',', value_parser = STRATEGIES.to_vec())]
    pub strategies: Vec<String>,
    /// Number of flows at once [default: 1, 2, 4 and 16]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub flows: Vec<u32>,
    /// Number of packs per message, or of pages requested at once
    /// [default: 1, 4, 16 and 32; pages: 1, 2, 3, 4, 8, 16, 32 and 64]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=256))]
    pub packs: Vec<u32>,
    /// Number of rounds, each of which measures everything once
    #[arg(long, value_name = "N", default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub rounds: u32,
    /// Number of operations per round and row; large messages take fewer [default: chosen by each benchmark]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    pub iterations: Option<u32>,
    #[command(flatten)]
    pub place: HostOptions,
    /// Measure no limits, as for a run during which a network is cut and only the pause of Canelé counts
    #[arg(long)]
    pub no_limits: bool,
    /// Print one JSON object instead of the table
    #[arg(long)]
    pub json: bool,
    /// Draw the figures and the limits into this file, too
    #[arg(long, value_name = "FILE.svg")]
    pub plot: Option<PathBuf>,
}

impl BenchArguments {
    /// Returns the jobs that the arguments ask for.
    ///
    /// # Errors
    /// Returns the text for the user if options contradict each other or this machine.
    pub fn tasks(&self) -> Result<Vec<Task>, String> {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        self.tasks_on(processors)
    }

    fn tasks_on(&self, processors: usize) -> Result<Vec<Task>, String> {
        let bench = self.bench;
        let elsewhere = self.place.is_elsewhere();
        let capacity = self.place.capacity()?;
        if !elsewhere && bench == Bench::Rails {
            return Err("bench rails measures the networks between two hosts: --hosts h0:1,h1:1".into());
        }
        if !bench.is_experiment() && !self.strategies.is_empty() {
            return Err(format!("bench {bench} takes no --strategy: only dsm, flows, priority and rails do"));
        }
        if bench != Bench::Flows && !self.flows.is_empty() {
            return Err(format!("bench {bench} takes no --flows: only flows does"));
        }
        if !matches!(bench, Bench::Flows | Bench::Dsm) && !self.packs.is_empty() {
            return Err(format!(
                "bench {bench} takes no --packs: only flows and dsm (where they are pages) do"
            ));
        }
        if bench == Bench::Priority && !self.bytes.is_empty() {
            return Err(
                "bench priority takes no --bytes: 64 bytes are urgent, and streams have messages of 1 MB"
                    .into(),
            );
        }
        if elsewhere && self.buffers == Some(Buffers::Region) {
            return Err(
                "--buffers region does not work between hosts: regions are memory that ranks share".into()
            );
        }
        if processors < 2 && !elsewhere {
            return Err(format!("bench {bench} needs two processors; this process may run on one only"));
        }
        if bench != Bench::Collectives && self.ranks.is_some_and(|ranks| ranks != 2) {
            return Err(format!(
                "bench {bench} measures a pair of ranks: leave out --ranks, or say 2; bench collectives takes more"
            ));
        }
        if self.ranks.is_some_and(|ranks| !(2..=1024).contains(&ranks)) {
            return Err("bench collectives: --ranks must be between 2 and 1024".into());
        }
        if self.buffers == Some(Buffers::Region) && !matches!(bench, Bench::Latency | Bench::Bandwidth) {
            return Err(format!("bench {bench} takes no --buffers region: only latency and bandwidth do"));
        }
        if !self.bytes.is_empty() && matches!(bench, Bench::Wait | Bench::Threads) {
            return Err(format!("bench {bench} takes no --bytes: its messages have 8 bytes"));
        }
        if matches!(bench, Bench::Bandwidth | Bench::Rails | Bench::Dsm) && self.bytes.contains(&0) {
            return Err(format!("bench {bench}: --bytes 0 has no bandwidth"));
        }
        if bench == Bench::Collectives && self.bytes.iter().any(|bytes| *bytes == 0 || bytes % 8 != 0) {
            return Err("bench collectives: --bytes must be multiples of 8, the size of a number".into());
        }
        if self.plot.as_ref().is_some_and(|path| path.extension().is_none_or(|end| end != "svg")) {
            return Err("--plot writes SVG: the file's name must end in .svg".into());
        }
        Ok(self.combinations(capacity))
    }

    fn combinations(&self, capacity: Option<u32>) -> Vec<Task> {
        let ranks = match (self.ranks, self.bench) {
            (Some(ranks), _) => vec![ranks],
            (None, Bench::Collectives) if self.place.is_elsewhere() => vec![capacity.unwrap_or(2)],
            (None, Bench::Collectives) => COLLECTIVE_RANKS.to_vec(),
            (None, _) => vec![2],
        };
        let waits = match (self.wait, self.bench) {
            (Some(wait), _) => vec![wait],
            (None, Bench::Wait) => vec![Wait::Adaptive, Wait::Poll, Wait::Sleep],
            (None, _) => vec![Wait::Adaptive],
        };
        let task = |ranks, wait| Task {
            bench: self.bench,
            bytes: self.bytes.clone(),
            ranks,
            buffers: self.buffers.unwrap_or(Buffers::Private),
            wait,
            rounds: self.rounds,
            iterations: self.iterations,
            strategies: self.compared(),
            flows: self.flows.clone(),
            packs: self.packs.clone(),
            limits: !self.no_limits,
            between_hosts: self.place.is_elsewhere(),
            settings: Vec::new(),
            calls: Vec::new(),
            most_seconds: None,
        };
        ranks.iter().flat_map(|ranks| waits.iter().map(move |wait| task(*ranks, *wait))).collect()
    }
}

impl BenchArguments {
    /// Returns the strategies that are compared, `fifo` first.
    fn compared(&self) -> Vec<String> {
        let usual = self.bench.usual_strategies();
        if usual.is_empty() {
            return Vec::new();
        }
        let asked = self.strategies.iter().map(String::as_str);
        let asked: Vec<&str> = if self.strategies.is_empty() { usual.to_vec() } else { asked.collect() };
        let mut all = vec!["fifo".to_owned()];
        for name in asked {
            if !all.iter().any(|known| known == name) {
                all.push(name.to_owned());
            }
        }
        all
    }
}

/// Parses a size that can be measured, such as `64`, `64K` or `4M`.
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let bytes = Some(parse_size(text)?).filter(|bytes| *bytes <= LARGEST_BYTES);
    bytes.ok_or_else(|| format!("at most {} MB can be measured", LARGEST_BYTES >> 20))
}

/// Parses any size such as `64`, `64K` or `4M`.
pub fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.trim_end_matches(|end: char| end.is_ascii_alphabetic());
    let wrong = || format!("a number of bytes, or with {COUNT_NAMES}, is needed");
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        _ => return Err(wrong()),
    };
    let count: usize = digits.parse().map_err(|_| wrong())?;
    count.checked_mul(1 << shift).ok_or_else(|| "so many bytes do not exist".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: BenchArguments,
    }

    fn line(text: &str) -> Result<Vec<Task>, String> {
        let line = Line::try_parse_from(["bench"].into_iter().chain(text.split(' ')));
        line.map_err(|error| error.to_string())?.arguments.tasks_on(2)
    }

    #[test]
    fn sizes_may_carry_suffixes() {
        let task = line("latency --bytes 0,8,4K,2m,1KiB").unwrap().remove(0);
        assert_eq!(task.bytes, [0, 8, 4096, 2 << 20, 1024]);
    }

    #[test]
    fn wrong_input_is_answered_with_what_is_wrong() {
        for (text, says) in [
            ("latncy", "latency"),
            ("latency --bytes", "--bytes"),
            ("latency --bytes 8x", "a number of bytes, or with K or M"),
            ("latency --bytes -8", "unexpected argument"),
            ("latency --bytes K", "a number of bytes"),
            ("latency --bytes 8,,64", "a number of bytes"),
            ("latency --bytes 99999999M", "at most 256 MB"),
            ("latency --bytes 99999999999999999999", "a number of bytes"),
            ("latency --ranks 3", "measures a pair of ranks"),
            ("latency -n 3", "measures a pair of ranks"),
            ("collectives --ranks 1", "between 2 and 1024"),
            ("collectives --ranks 0", "between 2 and 1024"),
            ("rate --buffers region", "only latency and bandwidth"),
            ("wait --bytes 64", "takes no --bytes"),
            ("bandwidth --bytes 0", "has no bandwidth"),
            ("collectives --bytes 8,12", "multiples of 8"),
            ("rate --plot picture.png", "must end in .svg"),
            ("rate --rounds 0", "--rounds"),
            ("rate --iterations 0", "--iterations"),
            ("latency --buffers region --hosts a:1,b:1", "does not work between hosts"),
            ("latency --rsh ssh", "--hosts"),
            ("latency --strategy split", "takes no --strategy"),
            ("dsm --strategy lifo", "aggregate"),
            ("dsm --flows 2", "takes no --flows"),
            ("priority --packs 2", "takes no --packs"),
            ("priority --bytes 2", "takes no --bytes"),
            ("rails", "between two hosts"),
            ("flows --packs 0", "--packs"),
            ("latency --hosts a:1,,b:1", "--hosts a:1,,b:1"),
        ] {
            let answer = line(text).expect_err(text);
            assert!(answer.contains(says), "{text}: {answer}");
        }
    }

    #[test]
    fn one_processor_is_too_few() {
        let arguments = Line::try_parse_from(["bench", "rate"]).unwrap().arguments;
        assert!(arguments.tasks_on(1).unwrap_err().contains("two processors"));
    }

    #[test]
    fn defaults_ask_for_what_the_benchmark_compares() {
        let ranks: Vec<u32> = line("collectives").unwrap().iter().map(|task| task.ranks).collect();
        assert_eq!(ranks, [2, 4, 8]);
        let waits: Vec<Wait> = line("wait").unwrap().iter().map(|task| task.wait).collect();
        assert_eq!(waits, [Wait::Adaptive, Wait::Poll, Wait::Sleep]);
        assert_eq!(line("wait --wait poll").unwrap().len(), 1);
        assert_eq!(line("latency").unwrap().len(), 1);
        assert_eq!(line("dsm").unwrap()[0].strategies, ["fifo", "aggregate"]);
        assert_eq!(line("flows --strategy split,fifo,split").unwrap()[0].strategies, ["fifo", "split"]);
        let between = line("collectives --hosts a:2,b:3").unwrap();
        assert_eq!((between.len(), between[0].ranks, between[0].between_hosts), (1, 5, true));
    }
}
