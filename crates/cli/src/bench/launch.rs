//! How a benchmark starts its ranks: a job of this executable, each rank bound to a processor of its own.

use super::Failure;
use super::case::Task;
use crate::run;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the job to its end. The launcher says what went wrong with a rank.
///
/// # Errors
/// When a rank failed.
pub fn launch(task: &Task, arguments: &[OsString]) -> Result<(), Failure> {
    let mut command = vec![std::env::current_exe()?.into_os_string()];
    command.extend_from_slice(arguments);
    let mut job = run::Arguments::new(task.ranks, command);
    job.bind = run::Bind::Core;
    job.wait = Some(task.wait);
    if run::start(job) == ExitCode::SUCCESS { Ok(()) } else { Err("the job failed".into()) }
}
