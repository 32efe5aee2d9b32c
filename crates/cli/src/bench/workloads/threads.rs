//! Measures rate and latency with 1, 2 and 4 threads per rank, each pair of threads on its own flow.

use super::super::Failure;
use super::super::case::{Case, Figure, Task};
use super::super::sample::Workload;
use super::latency::PingPong;
use super::memory::Act;
use super::rate::{WINDOW, windows};
use canele::{Flow, Job};
use std::sync::Barrier;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

const BYTES: usize = 8;
const THREADS: [u32; 3] = [1, 2, 4];
const WINDOWS: u32 = 2_000;
const ROUND_TRIPS: u32 = 20_000;
/// Number of batches, which are fewer and longer than usual because threads are started for each.
const BATCHES: u32 = 4;

pub struct Threads {
    /// One flow per thread, so that their messages do not match.
    flows: Vec<Flow>,
    cases: Vec<Case>,
}

impl Threads {
    pub fn new(job: &Job, task: &Task) -> Result<Threads, Failure> {
        let per_batch = |usual: u32| (task.iterations.unwrap_or(usual) / BATCHES).max(1);
        let case = |name: &str, threads, figure, iterations, limits| Case {
            operation: Some(name.to_owned()),
            threads: Some(threads),
            batches: BATCHES,
            ..Case::of_bytes(BYTES, figure, iterations, limits)
        };
        let cases = THREADS.into_iter().flat_map(|threads| {
            [
                case("rate", threads, Figure::Rate, per_batch(WINDOWS), vec![task.window_limit(BYTES)]),
                case("latency", threads, Figure::Time, per_batch(ROUND_TRIPS), task.message_limits(BYTES)),
            ]
        });
        let most = THREADS.into_iter().max().unwrap_or(1);
        let flows =
            (0..most).map(|thread| job.world().duplicate_on_lane(thread)).collect::<Result<_, _>>()?;
        Ok(Threads { flows, cases: cases.collect() })
    }
}

impl Workload for Threads {
    fn cases(&self) -> Vec<Case> {
        self.cases.clone()
    }

    fn batch(&mut self, case: &Case) -> Result<f64, Failure> {
        let (rate, iterations) = (case.figure == Figure::Rate, case.iterations);
        let count = case.threads.unwrap_or(1) as usize;
        let start = Barrier::new(count);
        let of_thread = |flow: &Flow| -> Result<(Instant, Instant), Failure> {
            start.wait();
            let begin = Instant::now();
            if rate {
                windows(flow, &mut [0; BYTES], iterations)?;
            } else {
                PingPong { flow, round_trips: iterations }.on(&mut &mut [0; BYTES][..])?;
            }
            Ok((begin, Instant::now()))
        };
        let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
            let of_thread = &of_thread;
            let threads: Vec<_> =
                self.flows[..count].iter().map(|flow| scope.spawn(move || of_thread(flow))).collect();
            let join = |thread: ScopedJoinHandle<'_, Result<_, Failure>>| {
                thread.join().map_err(|_| "a thread panicked")?
            };
            threads.into_iter().map(join).collect::<Result<_, Failure>>()
        })?;
        // The time is from the first start to the last end: threads that take turns do not count as parallel.
        let begin = times.iter().map(|(begin, _)| *begin).min();
        let end = times.iter().map(|(_, end)| *end).max();
        let ns = end.zip(begin).map_or(0.0, |(end, begin)| (end - begin).as_nanos() as f64);
        let operations = if rate { WINDOW as usize * count } else { 2 };
        Ok(ns / f64::from(iterations) / operations as f64)
    }
}
