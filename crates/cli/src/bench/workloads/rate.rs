//! Measures small messages per second: a window of 64 sends, then one answer, compared with bare cells.
//! Between hosts the sends and receives of a window are non-blocking, because every blocking one would need
//! its own packet.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::{largest, other};
use canele::{Endpoint, Flow, Job, Tag};
use std::time::Instant;

/// Number of messages before the answer.
pub const WINDOW: u32 = 64;
const WINDOWS: u32 = 4_000;

pub struct Rate {
    endpoint: Endpoint,
    flow: Flow,
    memory: Vec<u8>,
    /// True if the sends of a window do not wait for each other.
    at_once: bool,
    cases: Vec<Case>,
}

impl Rate {
    pub fn new(job: &Job, task: &Task) -> Result<Rate, Failure> {
        let case = |bytes: usize| {
            let windows = task.iterations(WINDOWS, bytes * WINDOW as usize);
            Case::of_bytes(bytes, Figure::Rate, windows, vec![task.window_limit(bytes)])
        };
        let cases: Vec<Case> = task.sizes(&[8]).into_iter().map(case).collect();
        let memory = vec![1; largest(&cases) * WINDOW as usize];
        let at_once = task.between_hosts;
        Ok(Rate { endpoint: job.endpoint().clone(), flow: job.world(), memory, at_once, cases })
    }
}

/// Returns nanoseconds per message.
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

/// Returns nanoseconds per message, with all of a window under way at once; `memory` has room for that.
fn windows_at_once(flow: &Flow, memory: &mut [u8], bytes: usize, windows: u32) -> Result<f64, Failure> {
    let (peer, tag, answer) = (other(flow), Tag(1), Tag(2));
    let begin = Instant::now();
    for _ in 0..windows {
        if peer.0 == 1 {
            flow.scope(|scope| {
                for n in 0..WINDOW as usize {
                    scope.isend(peer, tag, &memory[n * bytes..(n + 1) * bytes])?;
                }
                Ok(())
            })?;
            flow.recv::<u8>(peer, answer, &mut [])?;
        } else {
            let (mut rest, mut parts) = (&mut *memory, Vec::with_capacity(WINDOW as usize));
            for _ in 0..WINDOW {
                let (part, others) = rest.split_at_mut(bytes);
                parts.push(part);
                rest = others;
            }
            flow.scope(|scope| {
                parts.into_iter().try_for_each(|part| scope.irecv(peer, tag, part).map(drop))
            })?;
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
        let bytes = case.bytes.unwrap_or(0);
        if self.at_once {
            return windows_at_once(&self.flow, &mut self.memory, bytes, case.iterations);
        }
        windows(&self.flow, &mut self.memory[..bytes], case.iterations)
    }

    fn protocol(&self, case: &Case) -> Option<String> {
        super::protocol(&self.endpoint, case)
    }
}
