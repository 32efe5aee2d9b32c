//! Measures the one-way time of a tagged message: half a round trip, with the same memory both ways.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::memory::{Act, BenchMessage, Memory};
use super::{largest, other};
use canele::{Endpoint, Flow, Job, Tag};
use std::time::Instant;

const SIZES: [usize; 13] =
    [0, 8, 48, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 2 << 20, 4 << 20];
const ROUND_TRIPS: u32 = 20_000;

pub struct Latency {
    endpoint: Endpoint,
    flow: Flow,
    memory: Memory,
    cases: Vec<Case>,
}

impl Latency {
    pub fn new(job: &Job, task: &Task) -> Result<Latency, Failure> {
        let sizes = task.sizes(&SIZES);
        let cases: Vec<Case> = sizes.into_iter().map(|bytes| case(task, bytes, Figure::Time)).collect();
        let memory = Memory::new(job.endpoint(), task.buffers, largest(&cases))?;
        Ok(Latency { endpoint: job.endpoint().clone(), flow: job.world(), memory, cases })
    }
}

/// Makes the case of a ping-pong of `bytes`.
pub fn case(task: &Task, bytes: usize, figure: Figure) -> Case {
    let limits = task.message_limits(bytes);
    let round_trips = task.iterations(ROUND_TRIPS, bytes);
    Case { buffers: Some(task.buffers), ..Case::of_bytes(bytes, figure, round_trips, limits) }
}

/// Measures half the time of a round trip, in nanoseconds.
pub struct PingPong<'a> {
    pub flow: &'a Flow,
    pub round_trips: u32,
}

impl Act for PingPong<'_> {
    fn on(self, message: &mut impl BenchMessage) -> Result<f64, Failure> {
        let (flow, peer, tag) = (self.flow, other(self.flow), Tag(1));
        let begin = Instant::now();
        if peer.0 == 1 {
            for _ in 0..self.round_trips {
                message.send(flow, peer, tag)?;
                message.receive(flow, peer, tag)?;
            }
        } else {
            for _ in 0..self.round_trips {
                message.receive(flow, peer, tag)?;
                message.send(flow, peer, tag)?;
            }
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(self.round_trips) / 2.0)
    }
}

impl Workload for Latency {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let ping_pong = PingPong { flow: &self.flow, round_trips: case.iterations };
        self.memory.act(case.bytes.unwrap_or(0), ping_pong)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
