//! Launchers of other systems that `scripts/launchers` has: the ways to start ranks with them.

#![allow(dead_code, reason = "each test file uses its part")]

use std::process::Command;
use std::time::Duration;

use super::pmi::path;
use super::{Ended, Run, start_command, wait_until};

const LIMIT: Duration = Duration::from_secs(90);

/// Returns this variable, which `scripts/launchers` sets; without it, prints a line and returns `None`.
pub fn launcher(variable: &str) -> Option<String> {
    let found = std::env::var(variable).ok();
    if found.is_none() {
        eprintln!("SKIPPED: {variable} is not set");
    }
    found
}

/// A command that starts ranks: the name for messages and its words.
pub type StartCommand = (&'static str, Vec<String>);

/// Returns the commands that start so many ranks.
pub fn ways(ranks: u32) -> Vec<StartCommand> {
    let n = ranks.to_string();
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut ways = Vec::new();
    if let Some(mpiexec) = launcher("MPIEXEC_HYDRA") {
        ways.push(("hydra", words(&[&mpiexec, "-n", &n])));
    }
    if let Some(mpirun) = launcher("MPIRUN_PRRTE") {
        ways.push(("prrte", words(&[&mpirun, "--allow-run-as-root", "--oversubscribe", "-n", &n])));
    }
    if launcher("SLURM_CONF").is_some() {
        let nodes = if ranks > 1 { "-N2" } else { "-N1" };
        for (name, mpi) in [("srun pmi2", "--mpi=pmi2"), ("srun pmix", "--mpi=pmix")] {
            ways.push((name, words(&["srun", nodes, "-n", &n, mpi])));
        }
    }
    ways
}

/// Starts a command as ranks in one of these ways.
pub fn start_by(way: &[String], command: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut launcher = Command::new(&way[0]);
    launcher.args(&way[1..]).args(command).env("PATH", path());
    start_command(launcher.envs(variables.iter().copied()), b"")
}

/// Waits for the end of a run, with a time limit.
pub fn end(run: Run) -> Ended {
    run.end_within(LIMIT)
}

/// Waits until `count` ranks, processes of `program`, have joined their job, and have mapped memory of it.
/// With `srun --mpi=pmi2` the other ranks would wait for ever for a rank that was killed earlier. A process
/// that a rank has just forked has the program's name too, but no such memory.
pub fn wait_for_joined(run: &Run, count: usize, program: &str) -> Vec<u32> {
    let has_joined = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.contains("memfd:canele-"))
    };
    let mut ranks = Vec::new();
    wait_until(&format!("{count} processes {program} that have joined"), || {
        ranks = run.processes_named(program);
        ranks.retain(has_joined);
        ranks.len() == count
    });
    ranks
}

/// Waits until Slurm has no jobs.
pub fn wait_for_empty_queue() {
    wait_until("the queue to be empty", || {
        let queue = Command::new("squeue").arg("-h").output().unwrap();
        queue.stdout.is_empty()
    });
}
