//! `canele info`: the machine and the running jobs, the settings, the protocol of a message, the algorithm of
//! a collective, or one running job.
//!
//! Owns the output of these. Other crates estimate the costs and choose the protocol.

pub mod collective;
mod counters;
mod job;
mod links;
mod machine;
mod profile;
pub mod protocol;
mod tunables;

pub use machine::processor_model;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::print;

/// Arguments of `canele info`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, group(clap::ArgGroup::new("planned").args(["peer", "collective"])))]
pub struct InfoArguments {
    /// The rank a message would go to
    #[arg(long, value_name = "R", requires = "bytes")]
    peer: Option<u32>,
    /// The collective that all ranks of a job on this host would call: barrier, broadcast, allreduce …
    #[arg(long, value_name = "OP")]
    collective: Option<String>,
    /// With --collective: the number of those ranks [default: as many as processors]
    #[arg(long, value_name = "P", requires = "collective")]
    ranks: Option<u32>,
    /// With --collective: on so many hosts, in blocks [default: this one]
    #[arg(long, value_name = "H", requires = "collective")]
    hosts: Option<u32>,
    /// The size of that message, or of a block of that collective, in bytes
    #[arg(long, value_name = "N", requires = "planned")]
    bytes: Option<usize>,
    /// With --peer: that rank runs on another host
    #[arg(long, requires = "peer")]
    remote: bool,
    /// Show every setting: its name, value, default, unit, range and meaning
    #[arg(long)]
    tunables: bool,
    /// Show the profile by which jobs choose protocols and algorithms: what this machine costs, and where the figures come from
    #[arg(long, conflicts_with_all = ["peer", "tunables", "job"])]
    profile: bool,
    /// With --profile: also draw the time of a copy through a ring, by one end and by both ends
    #[arg(long, value_name = "FILE.svg", requires = "profile", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Show the running job whose launcher (`canele run`) is this process
    #[arg(long, value_name = "PID", conflicts_with_all = ["planned", "tunables"])]
    job: Option<u32>,
    /// With --job: the counters of each rank; of now, unless its row says that it did not come by
    #[arg(long, requires = "job")]
    counters: bool,
    /// With --counters: also those that are zero for every rank
    #[arg(long, requires = "counters")]
    zeros: bool,
    /// With --job: which rail leads to which peer; of links to other hosts also what they carry and how fast they are measured to be
    #[arg(long, requires = "job")]
    rails: bool,
    /// With --job: this rank only, with all its links
    #[arg(long, value_name = "R", requires = "job")]
    rank: Option<u32>,
    /// As one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele info                             machine, rails, and your running jobs
  canele info --peer 1 --bytes 100000     which rail and protocol such a message takes, and why
  canele info --peer 9 --bytes 8 --remote the same, of a message to a rank of another host
  canele info --collective allreduce --bytes 8 --ranks 8
                                          which algorithm such a collective takes, and why
  canele info --collective allreduce --bytes 65536 --ranks 16 --hosts 2
                                          the same between two hosts with eight ranks each
  canele info --tunables                  every setting
  canele info --profile                   what copies, lines and networks cost, as far as jobs know
  canele info --json                      the machine as data, as every answer is with --json
  canele info --job 4711 --counters       what the ranks of a running job have moved
  canele info --job 4711 --rails          which rail leads to which peer, what it carries, and how fast it is
  canele info --job 4711 --rails --rank 3 the same of one rank, however many peers it has";

/// Prints the requested information.
pub fn main(arguments: &InfoArguments) -> ExitCode {
    if let Some(pid) = arguments.job {
        let InfoArguments { counters, zeros, rails, rank, json, .. } = *arguments;
        return job::main(pid, &job::Show { counters, zeros, rails, rank, json });
    }
    if let (Some(peer), Some(bytes)) = (arguments.peer, arguments.bytes) {
        return protocol::main(
            &protocol::PlannedMessage { peer, bytes, remote: arguments.remote },
            arguments.json,
        );
    }
    if let Some(operation) = &arguments.collective {
        let (bytes, hosts) = (arguments.bytes.unwrap_or(0), arguments.hosts.unwrap_or(1));
        let planned = collective::PlannedCollective { operation, bytes, ranks: arguments.ranks, hosts };
        return collective::main(&planned, arguments.json);
    }
    if arguments.tunables {
        return tunables::main(arguments.json);
    }
    if arguments.profile {
        return profile::main(arguments.svg.as_deref(), arguments.json);
    }
    let machine = machine::Machine::look();
    print(&if arguments.json { machine.json() } else { machine.text() });
    ExitCode::SUCCESS
}
