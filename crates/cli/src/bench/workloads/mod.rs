//! The programs that are measured: one file each, written against the public API as any user would.

use super::Failure;
use super::case::Task;
use super::sample::Workload;

/// Starts this rank, hands its number and its workload to `measure`, and ends the rank.
pub fn with(
    task: &Task,
    measure: impl FnOnce(u32, &mut dyn Workload) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let _ = measure;
    Err(format!("bench {} is not there yet", task.bench).into())
}
