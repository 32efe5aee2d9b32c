//! How a benchmark starts its ranks: a job of this executable, each rank bound to its processor.

use super::Failure;
use super::case::Task;
use std::ffi::OsString;

/// Runs the job to its end.
pub fn launch(task: &Task, arguments: &[OsString]) -> Result<(), Failure> {
    let program = std::env::current_exe()?;
    let mut ranks = Vec::new();
    for rank in 0..task.ranks {
        let mut command = std::process::Command::new(&program);
        command
            .args(arguments)
            .env("CANELE_RANK", rank.to_string())
            .env("CANELE_SIZE", task.ranks.to_string());
        command.env("CANELE_WAIT", task.wait.name());
        ranks.push(command.spawn()?);
    }
    let mut failed = None;
    for (rank, child) in ranks.iter_mut().enumerate() {
        let status = child.wait()?;
        failed = failed.or((!status.success()).then(|| format!("rank {rank}: {status}")));
    }
    failed.map_or(Ok(()), |failed| Err(failed.into()))
}
