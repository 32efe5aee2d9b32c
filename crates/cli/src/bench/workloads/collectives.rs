//! Measures collectives beside the barrier of bare flags. Sizes are per rank and peer for allgather and
//! alltoall, and of the whole vector for broadcast and allreduce.

use super::super::Failure;
use super::super::case::{Case, Figure, Limit, PlannedCall, Task};
use super::super::sample::Workload;
use super::largest;
use canele::{Error, Flow, Job, Op, Rank};
use std::time::Instant;

const BARRIER: &str = "barrier";
const NAMES: [&str; 4] = ["broadcast", "allreduce", "allgather", "alltoall"];
const CALLS: u32 = 8_000;

pub struct Collectives {
    flow: Flow,
    input: Vec<f64>,
    output: Vec<f64>,
    cases: Vec<Case>,
}

impl Collectives {
    pub fn new(job: &Job, task: &Task) -> Result<Collectives, Failure> {
        let case = |name: &str, bytes: usize| Case {
            operation: Some(name.to_owned()),
            ..Case::of_bytes(
                bytes,
                Figure::Time,
                task.iterations(CALLS, bytes * task.ranks as usize),
                vec![Limit::Flags],
            )
        };
        let mut cases = Vec::new();
        if task.calls.is_empty() {
            cases.push(Case { bytes: None, ..case(BARRIER, 0) });
            for name in NAMES {
                cases.extend(task.sizes(&[8]).into_iter().map(|bytes| case(name, bytes)));
            }
        }
        let planned = task.calls.iter();
        cases.extend(planned.map(|PlannedCall { operation, bytes, batches, iterations }| Case {
            batches: *batches,
            iterations: *iterations,
            ..case(operation, *bytes)
        }));
        let room = vec![1.0; largest(&cases) / size_of::<f64>() * task.ranks as usize];
        Ok(Collectives { flow: job.world(), output: room.clone(), input: room, cases })
    }
}

/// Returns nanoseconds per call.
fn timed(calls: u32, mut call: impl FnMut() -> Result<(), Error>) -> Result<f64, Failure> {
    let begin = Instant::now();
    for _ in 0..calls {
        call()?;
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(calls))
}

impl Workload for Collectives {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (flow, calls) = (&self.flow, case.iterations);
        let numbers = case.bytes.unwrap_or(0) / size_of::<f64>();
        let all = numbers * flow.size() as usize;
        let (input, output) = (&mut self.input, &mut self.output);
        // The calls use each rank as the root in turn. With one root, consecutive calls would overlap: either
        // the root or all other ranks wait for no other rank.
        let mut roots = (0..flow.size()).cycle().map(Rank);
        let mut root = || roots.next().unwrap_or(Rank(0));
        match case.operation.as_deref() {
            Some("broadcast") => timed(calls, || flow.broadcast(root(), &mut input[..numbers])),
            Some("reduce") => {
                timed(calls, || flow.reduce(root(), &input[..numbers], &mut output[..numbers], Op::Max))
            }
            Some("gather") => timed(calls, || flow.gather(root(), &input[..numbers], &mut output[..all])),
            Some("scatter") => timed(calls, || flow.scatter(root(), &input[..all], &mut output[..numbers])),
            Some("allreduce") => {
                timed(calls, || flow.allreduce(&input[..numbers], &mut output[..numbers], Op::Max))
            }
            Some("allgather") => timed(calls, || flow.allgather(&input[..numbers], &mut output[..all])),
            Some("alltoall") => timed(calls, || flow.alltoall(&input[..all], &mut output[..all])),
            Some(BARRIER) | None => timed(calls, || flow.barrier()),
            Some(other) => Err(format!("there is no collective {other} to measure").into()),
        }
    }
}
