//! A worker of `canele tune`: `canele tune-worker ORDER`, started by the command, never by a user.
//!
//! It binds itself to its processor, and ends with the command. Workers are not ranks: they wait for each
//! other only in the block of [`MachineLimits`].

use std::io::Write;
use std::os::fd::RawFd;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use canele_mem::limits::{MachineLimits, MeasuredSizes};
use canele_sys::affinity::ProcessorSet;
use rustix::process::{Signal, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use super::plan::{MachineCost, Measurement, MeasurementPlan};
use crate::bench::{Failure, inherited_segment};
use crate::say;

/// Bytes of a long message.
pub const LONG_BYTES: usize = 1 << 20;
/// Time that processors need to reach their speed.
const WARM_UP: Duration = Duration::from_millis(500);

/// `canele tune-worker …`
#[derive(Debug, clap::Args)]
pub struct WorkerArguments {
    /// Order for the worker, as JSON
    order: String,
}

/// The order for a worker on its command line, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct WorkerOrder {
    pub plan: MeasurementPlan,
    /// The number of the worker.
    pub number: u32,
    /// The inherited segment of the limits.
    pub limits_fd: RawFd,
}

/// A note of worker 0 on its standard output, one JSON value per line.
#[derive(Debug, Serialize, Deserialize)]
pub enum WorkerNote {
    /// The number of completed measurements.
    Made(u32),
    /// The figures of each measurement at the end, in nanoseconds, one per round. The figures of a
    /// measurement are empty if the kernel refuses it.
    Figures(Vec<Vec<f64>>),
}

impl WorkerOrder {
    /// Returns the sizes of the block that the workers share.
    pub fn shape(plan: &MeasurementPlan) -> MeasuredSizes {
        MeasuredSizes { ranks: plan.processors.len() as u32, largest_bytes: LONG_BYTES }
    }
}

/// Measures as one of the workers.
pub fn main(arguments: &WorkerArguments) -> ExitCode {
    match run(&arguments.order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(order: &str) -> Result<(), Failure> {
    let order: WorkerOrder = serde_json::from_str(order).map_err(|error| format!("tune-worker: {error}"))?;
    let segment = inherited_segment(order.limits_fd)?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let (me, plan) = (order.number, &order.plan);
    let own =
        *plan.processors.get(me as usize).ok_or("tune-worker: there are more workers than processors")?;
    let limits = MachineLimits::on(&segment, me, WorkerOrder::shape(plan))?;
    let mut worker = Worker { limits, me, own, effort: plan.effort };
    worker.move_to(own)?;
    let can_copy_singly = worker.limits.can_copy_singly();
    worker.warm_up();
    let mut figures = vec![Vec::new(); plan.measurements.len()];
    let mut made = 0;
    for _ in 0..plan.rounds {
        for (measurement, figures) in plan.measurements.iter().zip(&mut figures) {
            if can_copy_singly || !is_single(measurement.what) {
                figures.push(worker.measure(measurement)?);
            }
            made += 1;
            // A lost progress note is no reason to stop; lost figures are.
            drop(worker.note(&WorkerNote::Made(made)));
        }
    }
    worker.note(&WorkerNote::Figures(figures))
}

/// Returns true if a measurement needs the kernel's permission to copy between processes.
fn is_single(what: MachineCost) -> bool {
    matches!(what, MachineCost::SingleCall | MachineCost::SingleCopy { .. })
}

struct Worker<'a> {
    limits: MachineLimits<'a>,
    me: u32,
    own: u32,
    effort: u32,
}

impl Worker<'_> {
    /// Measures once and returns nanoseconds. All workers call it; only the result of worker 0 is valid.
    fn measure(&mut self, measurement: &Measurement) -> Result<f64, Failure> {
        if self.me == 1 {
            self.move_to(measurement.partner)?;
        }
        let copies = 20 * self.effort;
        // All workers wait here until worker 1 has moved to its processor.
        self.limits.agree(0);
        let is_of_pair = self.me < 2;
        let ns = match measurement.what {
            MachineCost::Line(_) if is_of_pair => self.limits.line_ns(5000 * self.effort),
            MachineCost::Copy(_) if is_of_pair => self.limits.copy1_ns(LONG_BYTES, copies),
            MachineCost::Ring(_, piece) if is_of_pair => {
                self.limits.ring_ns(LONG_BYTES, piece as usize, copies)
            }
            MachineCost::SingleCall => self.limits.single_call_ns(1000 * self.effort)?,
            MachineCost::SingleCopy { pairs, both_ends } => {
                self.limits.single_copy_ns(LONG_BYTES, pairs, both_ends, copies)?
            }
            MachineCost::WakeUp => self.limits.wake_up_ns(10 * self.effort),
            MachineCost::SystemCall if self.me == 0 => system_call_ns(10_000 * self.effort),
            _ => 0.0,
        };
        self.limits.agree(0);
        if self.me == 1 {
            self.move_to(self.own)?;
        }
        Ok(ns)
    }

    fn warm_up(&mut self) {
        let begin = Instant::now();
        // Worker 0 decides, so that all workers leave the loop together.
        while self.limits.agree(u64::from(begin.elapsed() < WARM_UP)) == 1 {
            if self.me < 2 {
                self.limits.line_ns(20_000);
            }
        }
    }

    fn move_to(&self, processor: u32) -> Result<(), Failure> {
        let moved = ProcessorSet::new(&[processor]).bind_thread();
        moved.map_err(|error| {
            format!("worker {} cannot run on processor {processor}: {error}", self.me).into()
        })
    }

    fn note(&self, note: &WorkerNote) -> Result<(), Failure> {
        if self.me == 0 {
            writeln!(std::io::stdout(), "{}", serde_json::to_string(note)?)?;
        }
        Ok(())
    }
}

/// Returns the time of a system call that only returns a number.
fn system_call_ns(calls: u32) -> f64 {
    let begin = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(rustix::process::getppid());
    }
    begin.elapsed().as_nanos() as f64 / f64::from(calls)
}
