//! Measures bytes per second: half a round trip, and a stream of messages one way with one answer per batch.

use super::super::Failure;
use super::super::case::{Case, Figure, Limit, Task};
use super::super::sample::Workload;
use super::latency::{PingPong, case};
use super::memory::{Act, BenchMessage, Memory};
use super::{largest, other};
use canele::{Endpoint, Flow, Job, Tag};
use std::time::Instant;

const SIZES: [usize; 9] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
const PING_PONG: &str = "ping-pong";
const STREAMING: &str = "streaming";

pub struct Bandwidth {
    endpoint: Endpoint,
    flow: Flow,
    memory: Memory,
    cases: Vec<Case>,
}

impl Bandwidth {
    pub fn new(job: &Job, task: &Task) -> Result<Bandwidth, Failure> {
        let of = |operation: &str, bytes| {
            let mut case =
                Case { operation: Some(operation.to_owned()), ..case(task, bytes, Figure::Bandwidth) };
            if task.between_hosts && operation == STREAMING {
                case.limits = vec![Limit::SocketStream(bytes)];
            }
            case
        };
        let sizes = task.sizes(&SIZES);
        let all = [PING_PONG, STREAMING].into_iter();
        let cases: Vec<Case> = all.flat_map(|name| sizes.iter().map(move |bytes| of(name, *bytes))).collect();
        let memory = Memory::new(job.endpoint(), task.buffers, largest(&cases))?;
        Ok(Bandwidth { endpoint: job.endpoint().clone(), flow: job.world(), memory, cases })
    }
}

/// Measures nanoseconds per message from rank 0 to rank 1, including the answer to the last.
struct BandwidthStream<'a> {
    flow: &'a Flow,
    messages: u32,
}

impl Act for BandwidthStream<'_> {
    fn on(self, message: &mut impl BenchMessage) -> Result<f64, Failure> {
        let (flow, peer, tag, answer) = (self.flow, other(self.flow), Tag(1), Tag(2));
        let begin = Instant::now();
        if peer.0 == 1 {
            for _ in 0..self.messages {
                message.send(flow, peer, tag)?;
            }
            flow.recv::<u8>(peer, answer, &mut [])?;
        } else {
            for _ in 0..self.messages {
                message.receive(flow, peer, tag)?;
            }
            flow.send::<u8>(peer, answer, &[])?;
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(self.messages))
    }
}

impl Workload for Bandwidth {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (flow, bytes) = (&self.flow, case.bytes.unwrap_or(0));
        if case.operation.as_deref() == Some(STREAMING) {
            self.memory.act(bytes, BandwidthStream { flow, messages: case.iterations })
        } else {
            self.memory.act(bytes, PingPong { flow, round_trips: case.iterations })
        }
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
