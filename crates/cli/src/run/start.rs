//! From the command line to a launcher with its sites: checks and limits.
//!
//! Owns everything that happens before the first rank is started.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use canele_engine::control::{Host, JobInfo, MAX_MESSAGE, Network, OnFailure};
use canele_rail::shm::layout::MOST_RANKS;
use canele_sys::topology::{self, Topology};
use canele_sys::tunables::{LAUNCHER_VARIABLES, Tunables};
use rustix::process::{Resource, getrlimit};

use super::arguments::{self, Arguments, Bind};
use super::events::Events;
use super::hosts;
use super::input::{self, Input};
use super::launcher::{Launcher, Settings};
use super::output::Output;
use super::plan::{Plan, Program};
use super::remote::{Agents, RemoteShell, Task};
use super::site::{Own, Site};
use super::sites::Sites;
use crate::{say, wrong_usage};

/// Descriptors of a site per rank: control socket, two outputs, inbox and event twice (to send, and used).
const PER_RANK: u64 = 7;
/// Descriptors of the launcher per host: two streams and what its shell prints.
const PER_HOST: u64 = 3;
/// Descriptors for everything else.
const BESIDES: u64 = 64;

/// `canele run`.
pub fn main(arguments: Arguments) -> ExitCode {
    start(arguments, None)
}

/// Runs the job that `arguments` describe, to its end. With `out`, what its ranks print to standard output goes there.
pub fn start(arguments: Arguments, out: Option<OwnedFd>) -> ExitCode {
    let job = match described(&arguments) {
        Ok(job) => job,
        Err(text) => return wrong_usage(&text),
    };
    match launcher(job, &arguments, out) {
        Ok(launcher) => ExitCode::from(launcher.run()),
        Err(error) => {
            say(&format!("cannot start the job: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// A job that makes sense.
struct Described {
    plan: Plan,
    info: JobInfo,
    tunables: Tunables,
    /// Hosts were named: how agents are started there.
    shell: Option<RemoteShell>,
}

fn described(arguments: &Arguments) -> Result<Described, String> {
    let programs = arguments.programs()?;
    check_size(&programs)?;
    let named = arguments.place.named_hosts()?;
    let (environment, tunables) = environment(arguments, named.is_some())?;
    let mut plan = Plan { programs, first: 0, here: 0, environment, directory: None, processors: Vec::new() };
    let hosts = match &named {
        Some(named) => hosts::place(named, plan.size())?,
        None => vec![Host::this(plan.size())],
    };
    let shell = match &named {
        Some(_) => {
            plan.directory = Some(directory_there(arguments)?);
            let own = || std::env::current_exe().map_err(|error| format!("this executable: {error}"));
            let canele = arguments.place.canele.clone().map_or_else(own, Ok)?;
            check_hosts(&hosts)?;
            Some(RemoteShell::new(arguments.place.rsh.as_deref(), canele)?)
        }
        None => {
            plan.here = plan.size();
            plan.directory = directory_here(arguments)?;
            if arguments.bind == Bind::Core {
                plan.processors = bind_order()?;
            }
            check_limits(plan.here)?;
            None
        }
    };
    let info = JobInfo {
        launcher: std::process::id(),
        size: plan.size(),
        network: (hosts.len() > 1).then(Network::draw).transpose().map_err(|error| error.to_string())?,
        hosts,
        processors: topology::allowed().map_or(1, |allowed| allowed.len() as u32),
        on_failure: match arguments.on_failure {
            arguments::OnFailure::Stop => OnFailure::Stop,
            arguments::OnFailure::Continue => OnFailure::Continue,
        },
    };
    Ok(Described { plan, info, tunables, shell })
}

/// What is set for the ranks, and the settings that come of it.
fn environment(
    arguments: &Arguments,
    elsewhere: bool,
) -> Result<(Vec<(OsString, OsString)>, Tunables), String> {
    let mut environment: Vec<(OsString, OsString)> = Vec::new();
    if let Some(wait) = arguments.wait {
        environment.push(("CANELE_WAIT".into(), wait.value().into()));
    }
    environment.extend(arguments.environment.iter().cloned());
    // Said once here rather than by each rank.
    let set = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    let tunables = Tunables::from_pairs(std::env::vars_os().chain(set)).map_err(|error| error.to_string())?;
    if elsewhere {
        let ours = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("CANELE_") && !LAUNCHER_VARIABLES.contains(&&*name)
        };
        environment.splice(0..0, std::env::vars_os().filter(|(name, _)| ours(name)));
    }
    Ok((environment, tunables))
}

fn directory_here(arguments: &Arguments) -> Result<Option<PathBuf>, String> {
    match &arguments.directory {
        Some(directory) if !directory.is_dir() => {
            Err(format!("--wd {}: no such directory", directory.display()))
        }
        directory => Ok(directory.clone()),
    }
}

/// On other hosts the ranks start in the directory of the same name.
fn directory_there(arguments: &Arguments) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("this directory: {error}"))?;
    Ok(arguments.directory.as_ref().map_or(here.clone(), |directory| here.join(directory)))
}

/// The processors ranks are bound to, in turn.
pub fn bind_order() -> Result<Vec<u32>, String> {
    let topology = Topology::discover().map_err(|error| format!("--bind core: {error}"))?;
    Ok(topology.processors().iter().map(|processor| processor.id).collect())
}

/// Refuses more ranks than a job can have: each has a place for every other one, on whatever host.
fn check_size(programs: &[Program]) -> Result<(), String> {
    let ranks: u64 = programs.iter().map(|program| u64::from(program.ranks)).sum();
    if ranks > MOST_RANKS as u64 {
        return Err(format!("{ranks} ranks: a job has at most {MOST_RANKS}, on all its hosts together"));
    }
    Ok(())
}

/// Refuses more ranks than the limit of descriptors of a host can take.
pub fn check_limits(ranks: u32) -> Result<(), String> {
    check_descriptors(ranks, PER_RANK, "ranks")
}

/// Refuses more hosts than the launcher's limit of descriptors, or its messages, can take.
fn check_hosts(hosts: &[Host]) -> Result<(), String> {
    let bytes: usize = hosts.iter().map(|host| host.name.len() + 8).sum();
    if bytes > MAX_MESSAGE / 2 {
        return Err(format!(
            "{} hosts with names of {bytes} bytes: too many to tell every rank",
            hosts.len()
        ));
    }
    check_descriptors(hosts.len() as u32, PER_HOST, "hosts")
}

fn check_descriptors(count: u32, each: u64, what: &str) -> Result<(), String> {
    let needed = u64::from(count) * each + BESIDES;
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    if needed > most {
        return Err(format!(
            "{count} {what} need about {needed} open files in the launcher, and the hard limit is {most}: start \
             at most {}, or raise it (`ulimit -Hn`, or LimitNOFILE where services are configured)",
            most.saturating_sub(BESIDES) / each
        ));
    }
    Ok(())
}

fn launcher(job: Described, arguments: &Arguments, out: Option<OwnedFd>) -> io::Result<Launcher> {
    let Described { plan, info, tunables, shell } = job;
    let names = info.hosts.iter().map(|host| host.name.clone()).collect();
    let output = Output::new(arguments.label, names, out);
    let settings = Settings { timeout: arguments.timeout, name_hosts: shell.is_some() };
    let events = Events::new()?;
    let Some(shell) = shell else {
        let own = Own { input: input::inherited()?, output: output.terminals()? };
        let input = own.input.is_none().then(Input::new);
        let (its_plan, its_info) = (plan.clone(), info.clone());
        let start =
            |events: &Events| Ok(Sites::Here(Box::new(Site::start(its_plan, its_info, own, events)?)));
        return Launcher::new(plan, info, settings, events, output, input, start);
    };
    let task = |host: usize| {
        let ranks = info.ranks_of(host);
        let plan = Plan { first: ranks.start, here: ranks.end - ranks.start, ..plan.clone() };
        let bind = arguments.bind == Bind::Core;
        Task { plan, info: info.clone(), bind, silence_ms: tunables.host_lost_ms as u32 }
    };
    let tasks = (0..info.hosts.len()).map(task).collect();
    let patience = Duration::from_millis(tunables.remote_start_ms);
    let start = |events: &Events| {
        Agents::start(&shell, tasks, patience, tunables.rails.clone(), events)
            .map(|agents| Sites::There(Box::new(agents)))
    };
    Launcher::new(plan, info, settings, events, output, Some(Input::new()), start)
}
