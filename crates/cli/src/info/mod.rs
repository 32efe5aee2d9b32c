//! `canele info`: the machine and the running jobs, the settings, the protocol of a message, the algorithm of
//! a collective, or one running job.
//!
//! Owns the output of these queries. Other crates estimate the costs and choose the protocol.

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
    /// Rank that a message would go to; prints its rail and protocol
    #[arg(long, value_name = "R", requires = "bytes")]
    peer: Option<u32>,
    /// Collective that all ranks of a job on this host would call, as barrier, broadcast or allreduce; prints
    /// its algorithm
    #[arg(long, value_name = "OP")]
    collective: Option<String>,
    /// With --collective: number of ranks of the job [default: one for each processor]
    #[arg(long, value_name = "P", requires = "collective")]
    ranks: Option<u32>,
    /// With --collective: number of hosts, to which ranks are assigned in blocks [default: 1, this host]
    #[arg(long, value_name = "H", requires = "collective")]
    hosts: Option<u32>,
    /// Size in bytes of the message of --peer, or of a block of --collective, such as 64K
    #[arg(long, value_name = "N", requires = "planned", value_parser = crate::bench::parse_size)]
    bytes: Option<usize>,
    /// With --peer: the rank runs on another host
    #[arg(long, requires = "peer")]
    remote: bool,
    /// Show every setting with its name, value, default, unit, range and meaning
    #[arg(long)]
    tunables: bool,
    /// Show the profile by which jobs choose protocols and algorithms: the costs of this machine, and the
    /// source of the figures
    #[arg(long, conflicts_with_all = ["peer", "tunables", "job"])]
    profile: bool,
    /// With --profile: draw the time of a copy through a ring, by one end and by both ends, into this file
    #[arg(long, value_name = "FILE.svg", requires = "profile", value_hint = clap::ValueHint::FilePath)]
    svg: Option<PathBuf>,
    /// Show the running job whose launcher (`canele run`) has this process id
    #[arg(long, value_name = "PID", conflicts_with_all = ["planned", "tunables"])]
    job: Option<u32>,
    /// With --job: show the present counters of each rank; the row of a rank that did not answer says so
    #[arg(long, requires = "job")]
    counters: bool,
    /// With --counters: show counters that are zero for every rank, too
    #[arg(long, requires = "counters")]
    zeros: bool,
    /// With --job: show the rail to each peer, and for links to other hosts their traffic and measured speed
    #[arg(long, requires = "job")]
    rails: bool,
    /// With --job: show this rank only, with all its links
    #[arg(long, value_name = "R", requires = "job")]
    rank: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele info                             machine, rails, and your running jobs
  canele info --peer 1 --bytes 100000     rail and protocol of such a message, with the reasons
  canele info --peer 9 --bytes 8 --remote rail and protocol of a message to a rank of another host
  canele info --collective allreduce --bytes 8 --ranks 8
                                          algorithm of such a collective, with the reasons
  canele info --collective allreduce --bytes 64K --ranks 16 --hosts 2
                                          algorithm between two hosts with eight ranks each
  canele info --tunables                  every setting
  canele info --profile                   costs of copies, cache lines and networks, as jobs know them
  canele info --json                      the machine as data; every answer has this form with --json
  canele info --job 4711 --counters       counters of the ranks of a running job
  canele info --job 4711 --rails          rail to each peer, its traffic and its speed
  canele info --job 4711 --rails --rank 3 links of one rank, to all of its peers";

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
