//! Starts the ranks of a benchmark: a job of this executable, on one host with each rank bound to its own
//! processor.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::ExitCode;
use std::time::Duration;

use canele_launch::{BindTo, Unit};

use super::Failure;
use super::case::Task;
use crate::run;
use crate::run::HostOptions;

/// The signals by which a user ends a program: SIGHUP, SIGINT, SIGQUIT, SIGTERM.
const ENDING: [u8; 4] = [1, 2, 3, 15];

/// The error that a signal has ended the job, so that no other job must be started.
#[derive(Debug, thiserror::Error)]
#[error("the job was ended by signal {0}")]
pub struct EndedBySignal(u8);

/// Runs the job to its end; its standard output goes to `out`. The launcher reports the failure of a rank.
///
/// # Errors
/// Fails if a rank failed.
pub fn launch(task: &Task, place: &HostOptions, arguments: &[OsString], out: OwnedFd) -> Result<(), Failure> {
    let here = std::env::current_exe()?;
    let mut command = vec![place.canele.clone().unwrap_or(here).into_os_string()];
    command.extend_from_slice(arguments);
    let mut job = run::RunArguments::new(task.ranks, command);
    job.place = place.clone();
    // Hosts that are one machine, such as network namespaces, would bind their ranks to the same processor.
    job.bind = Some(if task.between_hosts { BindTo::None } else { BindTo::Units(Unit::Hwthread, 1) });
    job.wait = Some(task.wait);
    job.environment.extend(
        task.settings.iter().map(|(variable, value)| (variable.clone().into(), value.clone().into())),
    );
    job.timeout = task.most_seconds.map(Duration::from_secs);
    let ended = run::main(&job, Some(out));
    if ended == ExitCode::SUCCESS {
        return Ok(());
    }
    let signal = ENDING.into_iter().find(|signal| ended == ExitCode::from(128 + signal));
    Err(signal.map_or_else(|| "the job failed".into(), |signal| EndedBySignal(signal).into()))
}
