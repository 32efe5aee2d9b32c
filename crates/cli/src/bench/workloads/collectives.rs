//! Collectives beside the barrier of bare flags. Sizes: per rank and peer for allgather and alltoall, the
//! whole vector for broadcast and allreduce.

use super::super::Failure;
use super::super::case::{Case, Figure, Limit, Task};
use super::super::sample::Workload;
use super::largest;
use canele::{Flow, Job, Op, Rank};
use std::time::Instant;

const BARRIER: &str = "barrier";
const NAMES: [&str; 4] = ["broadcast", "allreduce", "allgather", "alltoall"];
const CALLS: u32 = 2_000;

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
            ..Case::of_bytes(bytes, Figure::Time, task.iterations(CALLS, bytes * task.ranks as usize), vec![Limit::Flags])
        };
        let mut cases = vec![Case { bytes: None, ..case(BARRIER, 0) }];
        for name in NAMES {
            cases.extend(task.sizes(&[8]).into_iter().map(|bytes| case(name, bytes)));
        }
        let room = vec![1.0; largest(&cases) / size_of::<f64>() * task.ranks as usize];
        Ok(Collectives { flow: job.world().clone(), output: room.clone(), input: room, cases })
    }

    fn call(&mut self, name: &str, numbers: usize) -> Result<(), Failure> {
        let (flow, all) = (&self.flow, numbers * self.flow.size() as usize);
        match name {
            "broadcast" => flow.broadcast(Rank(0), &mut self.input[..numbers])?,
            "allreduce" => flow.allreduce(&self.input[..numbers], &mut self.output[..numbers], Op::Max)?,
            "allgather" => flow.allgather(&self.input[..numbers], &mut self.output[..all])?,
            "alltoall" => flow.alltoall(&self.input[..all], &mut self.output[..all])?,
            _ => flow.barrier()?,
        }
        Ok(())
    }
}

impl Workload for Collectives {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let name = case.operation.as_deref().unwrap_or(BARRIER);
        let (numbers, broadcast) = (case.bytes.unwrap_or(0) / size_of::<f64>(), name == NAMES[0]);
        let mut timed = |what: &str, barriers: bool| -> Result<f64, Failure> {
            let begin = Instant::now();
            for _ in 0..case.iterations {
                self.call(what, numbers)?;
                if barriers {
                    self.flow.barrier()?;
                }
            }
            Ok(begin.elapsed().as_nanos() as f64 / f64::from(case.iterations))
        };
        let figure = timed(name, broadcast)?;
        // Broadcasts alone would overlap: the root does not wait. A barrier parts them, its own time taken off.
        if broadcast { Ok((figure - timed(BARRIER, false)?).max(1.0)) } else { Ok(figure) }
    }
}
