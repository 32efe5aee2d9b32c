//! The command line of `canele sim`.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use canele_collective::{Algorithm, Operation, Root};
use canele_sim::campaign::{Faults, Programs, Setup};
use canele_sim::preset;
use canele_sim::world::Model;
use canele_sys::tunables::STRATEGIES;
use clap::builder::{PossibleValuesParser, TypedValueParser};

/// Arguments of `canele sim`.
#[derive(Debug, clap::Args)]
pub struct SimArguments {
    #[command(subcommand)]
    pub sort: Sort,
}

/// The kinds of simulation.
#[derive(Debug, clap::Subcommand)]
pub enum Sort {
    /// Run random programs of simulated ranks and check their results; stop at the first failure
    #[command(after_help = EXAMPLES)]
    Campaign(Campaign),
    /// Run collectives of many ranks with the real protocols on virtual time; print a table of their costs
    #[command(after_help = SCALE_EXAMPLES)]
    Scale(Scale),
}

const SCALE_EXAMPLES: &str = "Examples:
  canele sim scale --ranks 64,1000                              all operations on ethernet
  canele sim scale --ranks 10000 --operation barrier,allreduce
  canele sim scale --ranks 64000 --per-host 64 --operation barrier,allreduce,scan
  canele sim scale --ranks 2,16,128,1000 --net hsl --plot scale.svg";

const EXAMPLES: &str = "Examples:
  canele sim campaign --seeds 0..1000                     any networks, any strategy
  canele sim campaign --seeds 0..1000 --faults losses     links are lost and made again
  canele sim campaign --seeds 0..1000 --programs rma      remote memory access instead of messages
  canele sim campaign --seeds 7..8 --net hsl --ranks 5    one seed, on the routers of HSL
  canele sim campaign --seeds 0..99 --net ethernet --net mine.toml --strategy split";

/// Arguments of `canele sim campaign`.
#[derive(Debug, clap::Args)]
pub struct Campaign {
    /// Seeds from A up to, but not including, B, as 0..1000
    #[arg(long, value_name = "A..B", value_parser = seeds)]
    pub seeds: Range<u64>,
    /// Network: hsl, myrinet-bip, sci-deck, ethernet, or a file of parameters that ends in .toml; repeated
    /// for several rails [default: networks chosen by the seed]
    #[arg(long, value_name = "NAME", value_parser = network)]
    pub net: Vec<Network>,
    /// Number of ranks, 2 to 64 [default: chosen by the seed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=64))]
    pub ranks: Option<u64>,
    /// Strategy that makes packets of the operations that wait for a peer [default: chosen by the seed]
    #[arg(long, value_name = "S", value_parser = PossibleValuesParser::new(STRATEGIES))]
    pub strategy: Option<String>,
    /// Faults, separated by commas: deaths (a rank dies), losses (links are lost), packets (packets are lost,
    /// doubled, delayed or corrupted, and the rail recovers them; not with deaths) [default: none]
    #[arg(long, value_name = "F", value_delimiter = ',', value_parser = PossibleValuesParser::new(["deaths", "losses", "packets"]))]
    pub faults: Vec<String>,
    /// Programs of the ranks: messages (they send and receive), rma (they access and lock memory of each
    /// other)
    #[arg(long, value_name = "P", default_value = "messages", value_parser = PossibleValuesParser::new(["messages", "rma"]))]
    pub programs: String,
    /// Print one JSON object with the number of seeds that ran, the time in seconds, and the failure if there
    /// was one
    #[arg(long)]
    pub json: bool,
}

/// A network and its name on the command line.
#[derive(Clone, Debug)]
pub struct Network {
    pub name: String,
    pub model: Model,
}

fn network(name: &str) -> Result<Network, String> {
    let model = preset::find(name, &canele_papers::NETWORKS).map_err(|error| error.to_string())?;
    Ok(Network { name: name.into(), model })
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let wrong = || format!("{text} is no range of seeds: give it as 0..1000");
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let seeds = number(from)?..number(to)?;
    if seeds.is_empty() {
        Err(format!("{text} has no seed: the second number is the first one left out"))
    } else {
        Ok(seeds)
    }
}

impl Campaign {
    /// Returns the properties of the programs.
    pub fn setup(&self) -> Setup {
        let has = |fault: &str| self.faults.iter().any(|asked| asked == fault);
        Setup {
            networks: self.net.iter().map(|net| net.model).collect(),
            ranks: self.ranks.map(|ranks| ranks as usize),
            strategy: self.strategy.clone(),
            faults: Faults { deaths: has("deaths"), losses: has("losses"), packets: has("packets") },
            programs: if self.programs == "rma" { Programs::Rma } else { Programs::Messages },
        }
    }

    /// Returns the command that runs one seed of it.
    pub fn replay(&self, seed: u64) -> String {
        let mut words = vec![format!("canele sim campaign --seeds {seed}..{}", u128::from(seed) + 1)];
        words.extend(self.net.iter().map(|net| format!("--net {}", net.name)));
        words.extend(self.ranks.map(|ranks| format!("--ranks {ranks}")));
        words.extend(self.strategy.iter().map(|strategy| format!("--strategy {strategy}")));
        if !self.faults.is_empty() {
            words.push(format!("--faults {}", self.faults.join(",")));
        }
        if self.programs != "messages" {
            words.push(format!("--programs {}", self.programs));
        }
        words.join(" ")
    }
}

/// Arguments of `canele sim scale`.
#[derive(Debug, clap::Args)]
pub struct Scale {
    /// Numbers of ranks, 2 to 100000, separated by commas, as 64,1000
    #[arg(long, value_name = "N", value_delimiter = ',', required = true, value_parser = many)]
    pub ranks: Vec<usize>,
    /// Number of ranks on each host, 1 to 1024; they reach each other through shared memory and share a port
    /// of the network
    #[arg(long, value_name = "K", default_value = "1", value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=1024))]
    pub per_host: usize,
    /// Network between hosts, named as for `canele sim campaign`; repeated to simulate several, one after the
    /// other
    #[arg(long, value_name = "NAME", default_value = "ethernet", value_parser = network)]
    pub net: Vec<Network>,
    /// Operations of the ranks, separated by commas
    #[arg(long, value_name = "O", value_delimiter = ',', value_enum, default_values_t = [ScaleOperation::Connect, ScaleOperation::Barrier, ScaleOperation::Allreduce, ScaleOperation::Alltoall])]
    pub operation: Vec<ScaleOperation>,
    /// Size of a block in bytes, a multiple of 8, at most 1048576: the data of a rank for all ranks, or for
    /// each other rank
    #[arg(long, value_name = "B", default_value = "8", value_parser = block)]
    pub bytes: usize,
    /// Algorithm to use for each operation that it can carry out [default: the one with the smallest
    /// estimate]
    #[arg(long, value_name = "NAME", value_parser = algorithms())]
    pub algorithm: Option<Algorithm>,
    /// Draw virtual time over the number of ranks into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Print one JSON object for each case, on a line of its own
    #[arg(long)]
    pub json: bool,
}

/// An operation that many ranks do together.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum ScaleOperation {
    /// The first barrier, with no connections before
    Connect,
    /// A barrier
    Barrier,
    /// A broadcast from rank 0
    Broadcast,
    /// A reduction to rank 0
    Reduce,
    /// An allreduce
    Allreduce,
    /// A gather at rank 0
    Gather,
    /// A scatter from rank 0
    Scatter,
    /// An allgather
    Allgather,
    /// An alltoall
    Alltoall,
    /// A reduce-scatter
    ReduceScatter,
    /// An inclusive scan
    Scan,
    /// An exclusive scan
    Exscan,
}

impl ScaleOperation {
    /// Returns the operation of the members.
    pub fn of_members(self) -> Operation {
        let root = Root::At(0);
        match self {
            Self::Connect | Self::Barrier => Operation::Barrier,
            Self::Broadcast => Operation::Broadcast(root),
            Self::Reduce => Operation::Reduce(root),
            Self::Allreduce => Operation::Allreduce,
            Self::Gather => Operation::Gather(root),
            Self::Scatter => Operation::Scatter(root),
            Self::Allgather => Operation::Allgather,
            Self::Alltoall => Operation::Alltoall,
            Self::ReduceScatter => Operation::ReduceScatter,
            Self::Scan => Operation::Scan,
            Self::Exscan => Operation::Exscan,
        }
    }
}

impl fmt::Display for ScaleOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connect",
            Self::Barrier => "barrier",
            Self::Broadcast => "broadcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Scatter => "scatter",
            Self::Allgather => "allgather",
            Self::Alltoall => "alltoall",
            Self::ReduceScatter => "reduce-scatter",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
        })
    }
}

/// Returns the parser for names of algorithms.
fn algorithms() -> impl TypedValueParser<Value = Algorithm> {
    let names = Algorithm::ALL.map(Algorithm::name);
    PossibleValuesParser::new(names).map(|name| Algorithm::named(&name).expect("one of the names"))
}

fn many(text: &str) -> Result<usize, String> {
    let ranks = text.parse().ok().filter(|ranks| (2..=100_000).contains(ranks));
    ranks.ok_or_else(|| format!("{text} ranks: give 2 to 100000"))
}

fn block(text: &str) -> Result<usize, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &usize| *bytes > 0 && bytes.is_multiple_of(8) && *bytes <= 1 << 20);
    bytes.ok_or_else(|| format!("{text} bytes: give a multiple of 8, at most 1048576"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        campaign: Campaign,
    }

    fn parse(line: &str) -> Result<Campaign, String> {
        let words = std::iter::once("x").chain(line.split_whitespace());
        Command::try_parse_from(words).map(|command| command.campaign).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_that_replays_a_seed_says_the_same() {
        let line = "--seeds 3..90 --net hsl --net ethernet --ranks 5 --strategy split --faults deaths,losses";
        let asked = parse(line).unwrap();
        let replay = asked.replay(17);
        assert_eq!(replay, format!("canele sim campaign {}", line.replace("3..90", "17..18")));
        let again = parse(replay.strip_prefix("canele sim campaign ").unwrap()).unwrap();
        assert_eq!(again.seeds, 17..18);
        assert_eq!(format!("{:?}", again.setup()), format!("{:?}", asked.setup()));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        let refused = [
            ("", "--seeds"),
            ("--seeds 5", "0..1000"),
            ("--seeds 5..5", "has no seed"),
            ("--seeds 0..1 --net ring", "myrinet-bip"),
            ("--seeds 0..1 --ranks 1", "2..=64"),
            ("--seeds 0..1 --strategy best", "aggregate"),
            ("--seeds 0..1 --faults fire", "losses"),
        ];
        for (line, says) in refused {
            let error = parse(line).expect_err(line);
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
