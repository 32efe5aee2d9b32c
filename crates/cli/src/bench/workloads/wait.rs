//! Compares the wait policies, one job each: the ping-pong of 8 bytes, and the processor time of a rank that
//! is blocked in a receive (MPI-MPC's comparison of interrupts and polling).

use super::super::Failure;
use super::super::case::{Buffers, Case, Figure, Task};
use super::super::sample::Workload;
use super::latency::PingPong;
use super::memory::Memory;
use super::other;
use canele::{Flow, Job, Tag};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

const BYTES: usize = 8;
const ROUND_TRIPS: u32 = 20_000;
const BLOCKED: Duration = Duration::from_millis(250);

pub struct Waiting {
    flow: Flow,
    memory: Memory,
    cases: Vec<Case>,
}

impl Waiting {
    pub fn new(job: &Job, task: &Task) -> Result<Waiting, Failure> {
        let case = |what: &str, figure, iterations, limits| Case {
            operation: Some(format!("{} {what}", task.wait.value())),
            ..Case::of_bytes(BYTES, figure, iterations, limits)
        };
        let ping_pong =
            case("ping-pong", Figure::Time, task.iterations(ROUND_TRIPS, BYTES), task.message_limits(BYTES));
        let blocked = Case { batches: 1, ..case("blocked", Figure::Processor, 1, vec![]) };
        let memory = Memory::new(job.endpoint(), Buffers::Private, BYTES)?;
        Ok(Waiting { flow: job.world(), memory, cases: vec![ping_pong, blocked] })
    }

    /// Returns the processor nanoseconds per second that rank 1 used while it waited for rank 0's message.
    fn blocked(&mut self) -> Result<f64, Failure> {
        let (peer, tag, answer) = (other(&self.flow), Tag(1), Tag(2));
        let mut used_ns = [0u64];
        if self.flow.rank().0 == 0 {
            std::thread::sleep(BLOCKED);
            self.flow.send(peer, tag, &[0u8])?;
            self.flow.recv(peer, answer, &mut used_ns)?;
        } else {
            let before = processor_ns();
            self.flow.recv(peer, tag, &mut [0u8])?;
            used_ns[0] = processor_ns() - before;
            self.flow.send(peer, answer, &used_ns)?;
        }
        Ok(used_ns[0] as f64 / BLOCKED.as_secs_f64())
    }
}

fn processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Workload for Waiting {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        match case.figure {
            Figure::Processor => self.blocked(),
            _ => self.memory.act(BYTES, PingPong { flow: &self.flow, round_trips: case.iterations }),
        }
    }
}
