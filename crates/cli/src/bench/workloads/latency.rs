//! One-way time of a tagged message: half a round trip, the same memory both ways.

use super::super::Failure;
use super::super::case::{Case, Figure, Limit, Task};
use super::super::sample::Workload;
use super::memory::Memory;
use super::{largest, other};
use canele::{Flow, Job, Tag};
use std::time::Instant;

const SIZES: [usize; 13] =
    [0, 8, 48, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20];
const ROUND_TRIPS: u32 = 20_000;

pub struct Latency {
    flow: Flow,
    memory: Memory,
    cases: Vec<Case>,
}

impl Latency {
    pub fn new(job: &Job, task: &Task) -> Result<Latency, Failure> {
        let cases: Vec<Case> = task.sizes(&SIZES).into_iter().map(|bytes| case(task, bytes, Figure::Time)).collect();
        let memory = Memory::new(job.endpoint(), task.buffers, largest(&cases))?;
        Ok(Latency { flow: job.world().clone(), memory, cases })
    }
}

/// A ping-pong of `bytes`.
pub fn case(task: &Task, bytes: usize, figure: Figure) -> Case {
    let limits = Limit::of_message(bytes, task.buffers);
    Case { buffers: Some(task.buffers), ..Case::of_bytes(bytes, figure, task.iterations(ROUND_TRIPS, bytes), limits) }
}

/// Half the time of a round trip, in nanoseconds.
pub fn ping_pong(flow: &Flow, memory: &mut Memory, bytes: usize, round_trips: u32) -> Result<f64, Failure> {
    let (peer, tag) = (other(flow), Tag(1));
    let begin = Instant::now();
    for _ in 0..round_trips {
        if flow.rank().0 == 0 {
            memory.send(flow, peer, tag, bytes)?;
            memory.receive(flow, peer, tag, bytes)?;
        } else {
            memory.receive(flow, peer, tag, bytes)?;
            memory.send(flow, peer, tag, bytes)?;
        }
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(round_trips) / 2.0)
}

impl Workload for Latency {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        ping_pong(&self.flow, &mut self.memory, case.bytes.unwrap_or(0), case.iterations)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.flow, case)
    }
}
