//! `canele info --collective OP --bytes N --ranks P`: the algorithm that a collective takes among ranks of this host, and what each of
//! those that can carry it out would cost.
//!
//! Decides nothing: asks the function that decides when a schedule is made, with the profile and the processors of this machine.

use std::process::ExitCode;

use canele_collective::{CollectiveCosts, Operation, Root, Seat, Shape};
use canele_engine::machine_profile;
use canele_sys::topology;
use serde::Serialize;

use crate::{print, wrong_usage};

/// The operations, by the names that are asked for.
const OPERATIONS: [(&str, Operation); 11] = [
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

/// Bytes of an element: those of a double.
const ELEMENT_BYTES: usize = 8;

/// A collective of all ranks of a job on this host.
pub struct PlannedCollective<'a> {
    /// The operation's name.
    pub operation: &'a str,
    /// Bytes of a block: what one rank gives to one rank.
    pub bytes: usize,
    /// The ranks; as many as processors if it is not said.
    pub ranks: Option<u32>,
}

/// The algorithm that a collective takes.
#[derive(Debug, Serialize)]
struct AlgorithmReport {
    collective: String,
    bytes: usize,
    ranks: usize,
    processors: usize,
    algorithm: &'static str,
    doc: &'static str,
    estimates: Vec<AlgorithmEstimate>,
}

/// What an algorithm would cost.
#[derive(Debug, Serialize)]
struct AlgorithmEstimate {
    algorithm: &'static str,
    ns: f64,
}

/// Prints what a collective takes whose call waits for its end.
pub fn main(planned: &PlannedCollective<'_>, as_json: bool) -> ExitCode {
    let PlannedCollective { operation, bytes, ranks } = *planned;
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
    let report = AlgorithmReport::of(operation, known, bytes, (ranks, processors));
    print(&if as_json {
        serde_json::to_string(&report).expect("it has no unencodable part")
    } else {
        report.text()
    });
    ExitCode::SUCCESS
}

impl AlgorithmReport {
    fn of(name: &str, operation: Operation, bytes: usize, (ranks, processors): (usize, usize)) -> Self {
        let oversubscribed = ranks > processors;
        let seat = Seat {
            me: 0,
            ranks,
            local: ranks,
            oversubscribed,
            shared_buffers: oversubscribed,
            costs: CollectiveCosts::of(&machine_profile(), processors),
            levels: None,
            forced: None,
        };
        let shape = Shape { element: ELEMENT_BYTES, ..Shape::new(operation, bytes) };
        let chosen = seat.choose(shape);
        let estimates = seat.candidates(shape).into_iter();
        let estimates =
            estimates.map(|one| AlgorithmEstimate { algorithm: one.algorithm.name(), ns: one.ns }).collect();
        let (algorithm, doc) = (chosen.name(), chosen.doc());
        Self { collective: name.into(), bytes, ranks, processors, algorithm, doc, estimates }
    }

    fn text(&self) -> String {
        let Self { collective, bytes, ranks, processors, algorithm, doc, estimates } = self;
        let mut lines = vec![
            format!(
                "{collective} of {bytes} bytes: {ranks} ranks of this host, which has {processors} processors"
            ),
            format!("taken     {algorithm} ({doc})"),
        ];
        lines.extend(estimates.iter().map(|AlgorithmEstimate { algorithm: other, ns }| {
            let taken = if other == algorithm { "; taken" } else { "" };
            format!("    {other:<14} about {ns:.0} ns{taken}")
        }));
        lines.join("\n")
    }
}
