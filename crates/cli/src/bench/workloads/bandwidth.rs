//! Bytes per second: half a round trip, and a stream of messages one way with one answer per batch.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::latency::{case, ping_pong};
use super::memory::Memory;
use super::{largest, other};
use canele::{Flow, Job, Tag};
use std::time::Instant;

const SIZES: [usize; 9] =
    [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const PING_PONG: &str = "ping-pong";
const STREAMING: &str = "streaming";

pub struct Bandwidth {
    flow: Flow,
    memory: Memory,
    cases: Vec<Case>,
}

impl Bandwidth {
    pub fn new(job: &Job, task: &Task) -> Result<Bandwidth, Failure> {
        let of = |operation: &str, bytes| Case {
            operation: Some(operation.to_owned()),
            ..case(task, bytes, Figure::Bandwidth)
        };
        let sizes = task.sizes(&SIZES);
        let all = [PING_PONG, STREAMING].into_iter().flat_map(|name| sizes.iter().map(move |bytes| of(name, *bytes)));
        let cases: Vec<Case> = all.collect();
        let memory = Memory::new(job.endpoint(), task.buffers, largest(&cases))?;
        Ok(Bandwidth { flow: job.world().clone(), memory, cases })
    }

    fn stream(&mut self, bytes: usize, messages: u32) -> Result<f64, Failure> {
        let (flow, peer, tag, answer) = (&self.flow, other(&self.flow), Tag(1), Tag(2));
        let begin = Instant::now();
        if flow.rank().0 == 0 {
            for _ in 0..messages {
                self.memory.send(flow, peer, tag, bytes)?;
            }
            flow.recv::<u8>(peer, answer, &mut [])?;
        } else {
            for _ in 0..messages {
                self.memory.receive(flow, peer, tag, bytes)?;
            }
            flow.send::<u8>(peer, answer, &[])?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(messages))
    }
}

impl Workload for Bandwidth {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let bytes = case.bytes.unwrap_or(0);
        if case.operation.as_deref() == Some(STREAMING) {
            return self.stream(bytes, case.iterations);
        }
        ping_pong(&self.flow, &mut self.memory, bytes, case.iterations)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.flow, case)
    }
}
