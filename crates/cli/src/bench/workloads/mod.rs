//! The measured programs: one file each, written against the public API like any user's program.

mod bandwidth;
mod collectives;
mod dsm;
mod flows;
mod latency;
mod mailbox;
mod memory;
mod priority;
mod put;
mod rails;
mod rate;
mod threads;
mod wait;

use super::Failure;
use super::arguments::Bench;
use super::case::{Buffers, Case, Task};
use super::sample::Workload;
use canele::{Endpoint, Flow, Job, Rank};
pub use rate::WINDOW;

/// Starts this rank, passes its job and its workload to `measure`, and ends the rank.
pub fn with(
    task: &Task,
    measure: impl FnOnce(&Job, &mut dyn Workload) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let job = Job::start()?;
    let mut work = workload(&job, task)?;
    measure(&job, &mut *work)?;
    // The workload's memory is freed while there is still a launcher to inform.
    drop(work);
    Ok(job.finish()?)
}

fn workload(job: &Job, task: &Task) -> Result<Box<dyn Workload>, Failure> {
    Ok(match task.bench {
        Bench::Latency => Box::new(latency::Latency::new(job, task)?),
        Bench::Bandwidth => Box::new(bandwidth::Bandwidth::new(job, task)?),
        Bench::Rate => Box::new(rate::Rate::new(job, task)?),
        Bench::Put => Box::new(put::Put::new(job, task)?),
        Bench::Mailbox => Box::new(mailbox::Mailboxes::new(job, task)?),
        Bench::Wait => Box::new(wait::Waiting::new(job, task)?),
        Bench::Threads => Box::new(threads::Threads::new(job, task)?),
        Bench::Collectives => Box::new(collectives::Collectives::new(job, task)?),
        Bench::Dsm => Box::new(dsm::Dsm::new(job, task)?),
        Bench::Flows => Box::new(flows::Flows::new(job, task)?),
        Bench::Priority => Box::new(priority::Priority::new(job, task)?),
        Bench::Rails => Box::new(rails::Rails::new(job, task)?),
    })
}

/// Returns the other rank of a pair.
#[inline(always)]
fn other(flow: &Flow) -> Rank {
    Rank(1 - flow.rank().0)
}

/// Returns the largest message of all cases, in bytes.
fn largest(cases: &[Case]) -> usize {
    cases.iter().filter_map(|case| case.bytes).max().unwrap_or(0)
}

/// Returns the protocol for messages of the case's size; none if unknown.
fn protocol(endpoint: &Endpoint, case: &Case) -> Option<String> {
    let name = endpoint.protocol(case.bytes?).ok()?.variant.row().protocol?.name().to_owned();
    // The result is for private memory, so it does not apply to large messages from regions.
    (case.buffers != Some(Buffers::Region) || matches!(name.as_str(), "short" | "eager")).then_some(name)
}
