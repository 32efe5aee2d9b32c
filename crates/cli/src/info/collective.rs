//! `canele info --collective OP --bytes N --ranks P --hosts H`: the algorithm of a collective among ranks of
//! this host or of several. It also prints the estimated cost of each possible algorithm.
//!
//! Decides nothing: it calls the function that decides for a schedule, with the profile and the processors of
//! this machine.

use std::process::ExitCode;

use canele_collective::{CollectiveCosts, HostLevels, Hosts, Operation, Root, Seat, Shape};
use canele_profile::Profile;
use canele_sys::topology;
use serde::Serialize;

use crate::{print, wrong_usage};

/// The operations by name.
pub const OPERATIONS: [(&str, Operation); 11] = [
    ("barrier", Operation::Barrier),
    ("broadcast", Operation::Broadcast(Root::At(0))),
    ("reduce", Operation::Reduce(Root::At(0))),
    ("allreduce", Operation::Allreduce),
    ("gather", Operation::Gather(Root::At(0))),
    ("scatter", Operation::Scatter(Root::At(0))),
    ("allgather", Operation::Allgather),
    ("alltoall", Operation::Alltoall),
    ("reduce-scatter", Operation::ReduceScatter),
    ("scan", Operation::Scan),
    ("exscan", Operation::Exscan),
];

/// Bytes of an element, which is a double.
pub const ELEMENT_BYTES: usize = 8;

/// A collective of all ranks of a job.
pub struct PlannedCollective<'a> {
    /// The operation's name.
    pub operation: &'a str,
    /// Bytes of a block, which one rank gives to another.
    pub bytes: usize,
    /// The number of ranks; by default the number of processors.
    pub ranks: Option<u32>,
    /// The number of hosts on which the ranks lie, in blocks.
    pub hosts: u32,
}

/// The algorithm that a collective takes.
#[derive(Debug, Serialize)]
struct AlgorithmReport {
    collective: String,
    bytes: usize,
    ranks: usize,
    hosts: u32,
    processors: usize,
    algorithm: &'static str,
    doc: &'static str,
    estimates: Vec<AlgorithmEstimate>,
}

/// The estimated cost of an algorithm.
#[derive(Debug, Serialize)]
struct AlgorithmEstimate {
    algorithm: &'static str,
    ns: f64,
}

/// Prints the algorithm of a blocking collective call.
pub fn main(planned: &PlannedCollective<'_>, as_json: bool) -> ExitCode {
    let PlannedCollective { operation, bytes, ranks, hosts } = *planned;
    let Some((_, known)) = OPERATIONS.into_iter().find(|(name, _)| *name == operation) else {
        let names = OPERATIONS.map(|(name, _)| name).join(", ");
        return wrong_usage(&format!(
            "--collective {operation}: there is no such operation; there are {names}"
        ));
    };
    let processors = topology::usable() as usize;
    let ranks = ranks.map_or(processors, |ranks| ranks as usize);
    if ranks == 0 {
        return wrong_usage("--ranks 0: a collective has at least one rank");
    }
    if hosts == 0 || hosts as usize > ranks {
        return wrong_usage(&format!("--hosts {hosts}: {ranks} ranks are on 1 to {ranks} hosts"));
    }
    let profile = match canele_profile::load() {
        Ok(loaded) => loaded.profile,
        Err(error) => return wrong_usage(&error.to_string()),
    };
    let report = AlgorithmReport::of((operation, known), bytes, (ranks, hosts, processors), &profile);
    print(&if as_json {
        serde_json::to_string(&report).expect("it has no unencodable part")
    } else {
        report.text()
    });
    ExitCode::SUCCESS
}

impl AlgorithmReport {
    fn of(
        (name, operation): (&str, Operation),
        bytes: usize,
        (ranks, hosts, processors): (usize, u32, usize),
        profile: &Profile,
    ) -> Self {
        let seat = match hosts {
            1 => on_this_host(ranks, processors, profile),
            _ => on_hosts(ranks, hosts, profile),
        };
        let shape = Shape { element: ELEMENT_BYTES, ..Shape::new(operation, bytes) };
        let chosen = seat.choose(shape);
        let estimates = seat.candidates(shape).into_iter();
        let estimates =
            estimates.map(|one| AlgorithmEstimate { algorithm: one.algorithm.name(), ns: one.ns }).collect();
        let (algorithm, doc) = (chosen.name(), chosen.doc());
        Self { collective: name.into(), bytes, ranks, hosts, processors, algorithm, doc, estimates }
    }

    fn text(&self) -> String {
        let Self { collective, bytes, ranks, hosts, processors, algorithm, doc, estimates } = self;
        let place = match hosts {
            1 => format!("of this host, which has {processors} processors"),
            _ => format!("of {hosts} hosts"),
        };
        let mut lines = vec![
            format!("{collective} of {bytes} bytes: {ranks} ranks {place}"),
            format!("taken     {algorithm} ({doc})"),
        ];
        lines.extend(estimates.iter().map(|AlgorithmEstimate { algorithm: other, ns }| {
            let taken = if other == algorithm { "; taken" } else { "" };
            format!("    {other:<14} about {ns:.0} ns{taken}")
        }));
        lines.join("\n")
    }
}

/// Returns a rank's seat among all ranks of this host.
pub fn on_this_host(ranks: usize, processors: usize, profile: &Profile) -> Seat {
    let oversubscribed = ranks > processors;
    Seat {
        me: 0,
        ranks,
        local: ranks,
        oversubscribed,
        shared_buffers: true,
        costs: CollectiveCosts::of(&profile.host, processors),
        levels: None,
        forced: None,
    }
}

/// Returns a rank's seat on several hosts, which have the ranks in blocks and a processor for each.
fn on_hosts(ranks: usize, hosts: u32, profile: &Profile) -> Seat {
    let placed = Hosts::new((0..ranks).map(|rank| (rank * hosts as usize / ranks) as u32));
    let inside = CollectiveCosts::of(&profile.host, 1);
    Seat {
        oversubscribed: false,
        shared_buffers: false,
        costs: CollectiveCosts::between(profile.networks.first()),
        levels: placed.map(|placed| HostLevels::new(&placed, inside)),
        ..on_this_host(ranks, ranks, profile)
    }
}
