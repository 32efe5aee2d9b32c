//! Small messages per second: a window of 64 sends, then one answer, compared with bare cells.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::{largest, other};
use canele::{Endpoint, Flow, Job, Tag};
use std::time::Instant;

/// Messages before the answer.
pub const WINDOW: u32 = 64;
const WINDOWS: u32 = 4_000;

pub struct Rate {
    endpoint: Endpoint,
    flow: Flow,
    memory: Vec<u8>,
    cases: Vec<Case>,
}

impl Rate {
    pub fn new(job: &Job, task: &Task) -> Result<Rate, Failure> {
        let case = |bytes: usize| {
            let windows = task.iterations(WINDOWS, bytes * WINDOW as usize);
            Case::of_bytes(bytes, Figure::Rate, windows, vec![task.window_limit(bytes)])
        };
        let cases: Vec<Case> = task.sizes(&[8]).into_iter().map(case).collect();
        let memory = vec![1; largest(&cases)];
        Ok(Rate { endpoint: job.endpoint().clone(), flow: job.world(), memory, cases })
    }
}

/// Nanoseconds per message.
pub fn windows(flow: &Flow, memory: &mut [u8], windows: u32) -> Result<f64, Failure> {
    let (peer, tag, answer) = (other(flow), Tag(1), Tag(2));
    let begin = Instant::now();
    if peer.0 == 1 {
        for _ in 0..windows {
            for _ in 0..WINDOW {
                flow.send(peer, tag, memory)?;
            }
            flow.recv::<u8>(peer, answer, &mut [])?;
        }
    } else {
        for _ in 0..windows {
            for _ in 0..WINDOW {
                flow.recv(peer, tag, memory)?;
            }
            flow.send::<u8>(peer, answer, &[])?;
        }
    }
    Ok(begin.elapsed().as_nanos() as f64 / f64::from(windows) / f64::from(WINDOW))
}

impl Workload for Rate {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        windows(&self.flow, &mut self.memory[..case.bytes.unwrap_or(0)], case.iterations)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
