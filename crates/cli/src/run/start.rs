//! From the command line to a launcher with its keeper: checks, limits, the second process.
//!
//! Owns everything that happens before the first rank is started.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use canele_engine::control::{Host, JobInfo, OnFailure, Socket};
use canele_rail::shm::layout::MOST_RANKS;
use canele_sys::topology::{self, Topology};
use canele_sys::tunables::Tunables;
use rustix::process::{Resource, Rlimit, getrlimit, set_child_subreaper, setrlimit};

use super::arguments::{self, Arguments, Bind};
use super::launcher::{Launcher, Settings};
use super::plan::Plan;
use crate::{say, wrong_usage};

/// Descriptors of the launcher per rank: control socket, two outputs, inbox twice (to send, and mapped).
const PER_RANK: u64 = 5;
/// Descriptors for everything else.
const BESIDES: u64 = 64;

/// `canele run`.
pub fn main(arguments: Arguments) -> ExitCode {
    start(arguments)
}

/// Runs the job that `arguments` describe, to its end.
pub fn start(arguments: Arguments) -> ExitCode {
    let plan = match plan(&arguments) {
        Ok(plan) => plan,
        Err(text) => return wrong_usage(&text),
    };
    if let Err(text) = check_limits(plan.size()) {
        return wrong_usage(&text);
    }
    match launcher(plan, &arguments) {
        Ok(launcher) => ExitCode::from(launcher.run()),
        Err(error) => {
            say(&format!("cannot start the job: {error}"));
            ExitCode::FAILURE
        }
    }
}

fn plan(arguments: &Arguments) -> Result<Plan, String> {
    let programs = arguments.programs()?;
    if let Some(directory) = &arguments.directory
        && !directory.is_dir()
    {
        return Err(format!("--wd {}: no such directory", directory.display()));
    }
    let mut environment = Vec::new();
    if let Some(wait) = arguments.wait {
        environment.push(("CANELE_WAIT".into(), wait.value().into()));
    }
    environment.extend(arguments.environment.iter().cloned());
    // Said once here rather than by each rank.
    let set = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    Tunables::from_pairs(std::env::vars_os().chain(set)).map_err(|error| error.to_string())?;
    let processors = match arguments.bind {
        Bind::Core => bind_order()?,
        Bind::None => Vec::new(),
    };
    Ok(Plan { programs, environment, directory: arguments.directory.clone(), processors })
}

/// The processors ranks are bound to, in turn.
fn bind_order() -> Result<Vec<u32>, String> {
    let topology = Topology::discover().map_err(|error| format!("--bind core: {error}"))?;
    Ok(topology.processors().iter().map(|processor| processor.id).collect())
}

/// Refuses more ranks than a host, or the launcher's limit of descriptors, can take.
fn check_limits(ranks: u32) -> Result<(), String> {
    if ranks as usize > MOST_RANKS {
        return Err(format!("{ranks} ranks: a host takes at most {MOST_RANKS}"));
    }
    let limit = getrlimit(Resource::Nofile);
    let needed = u64::from(ranks) * PER_RANK + BESIDES;
    let most = limit.maximum.unwrap_or(u64::MAX);
    if needed > most {
        return Err(format!(
            "{ranks} ranks need about {needed} open files in the launcher, and the hard limit is {most}: start \
             at most {} ranks, or raise it (`ulimit -Hn`, or LimitNOFILE where services are configured)",
            most.saturating_sub(BESIDES) / PER_RANK
        ));
    }
    Ok(())
}

fn launcher(plan: Plan, arguments: &Arguments) -> io::Result<Launcher> {
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let (socket, keeper) = keeper()?;
    // Only now: the ranks keep the limit the user chose.
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised)?;
    let on_failure = match arguments.on_failure {
        arguments::OnFailure::Stop => OnFailure::Stop,
        arguments::OnFailure::Continue => OnFailure::Continue,
    };
    let info = JobInfo {
        launcher: std::process::id(),
        size: plan.size(),
        hosts: vec![Host::this(plan.size())],
        processors: topology::allowed().map_or(1, |allowed| allowed.len() as u32),
        on_failure,
        network: None,
    };
    let settings = Settings { label: arguments.label, timeout: arguments.timeout };
    Launcher::new(plan, info, settings, socket, keeper)
}

/// Starts the keeper: this executable again, with our socket as its standard input.
fn keeper() -> io::Result<(Socket, Child)> {
    let (own, its) = Socket::pair()?;
    let child = Command::new("/proc/self/exe")
        // Not our own name: whoever kills all of that name shall leave somebody who tidies up.
        .arg0("rank-keeper")
        .arg("keep")
        .arg(std::process::id().to_string())
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(its)))
        .stdout(Stdio::null())
        // Out of reach of the terminal's signals: the launcher forwards them.
        .process_group(0)
        .spawn()?;
    Ok((own, child))
}
