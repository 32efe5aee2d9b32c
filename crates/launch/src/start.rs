//! Makes a launcher with its hosts from the description of a job, after checks of the description and of
//! limits.
//!
//! Owns everything that happens before the first rank is started.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use canele_control::{
    Host, JobInfo, JobNetwork, MAX_MESSAGE, MOST_LANES, OnFailure, RankMap, RankSet, Socket, draw_job_id,
};
use canele_profile::Profile;
use canele_rail::shm::layout::MOST_LOCAL_RANKS;
use canele_sys::ids::LinkId;
use canele_sys::topology::Topology;
use canele_sys::tunables::{LAUNCHER_VARIABLES, Tunables};
use canele_sys::{debugger, signals, topology};
use rustix::process::{Resource, getrlimit};

use super::binding::{BindPolicy, Binding, ChosenBinding, CoreClaims};
use super::events::Events;
use super::host_ranks::{HostRanks, Own};
use super::hosts;
use super::input::{self, Input};
use super::job_hosts::JobHosts;
use super::launcher::{Launcher, LauncherSettings};
use super::output::Output;
use super::output_files::{OutputFiles, OutputSpec};
use super::plan::{Plan, Program};
use super::remote::{Agents, RemoteShell, Task};
use super::spec::{JobSpec, StartError};
use super::trace::Trace;

/// The variable with the bytes of memory that each rank has for events.
const TRACE_BYTES: &str = "CANELE_TRACE_BYTES";
/// The bytes of memory for events by default.
const DEFAULT_TRACE_BYTES: usize = 64 << 20;

/// The number of descriptors that a host needs per rank: the control socket, two outputs, and inbox and event
/// each twice, once in a message and once in use.
const PER_RANK: u64 = 7;
/// The number of descriptors that the launcher needs per host: two streams and the standard error of the
/// shell.
const PER_HOST: u64 = 3;
/// The number of descriptors for everything else.
const BESIDES: u64 = 64;

/// Runs the job that `spec` describes to its end and returns its exit status. The status is 0, that of the
/// first rank that failed (128 + n if signal n killed it), or 124 after the timeout.
///
/// # Errors
/// Fails with a [`StartError`]; then no rank was started.
pub fn run(mut spec: JobSpec) -> Result<u8, StartError> {
    signals::set_aside_inherited();
    let job = described(&spec).map_err(StartError::Description)?;
    let output = spec.output.take();
    Ok(launcher(job, &spec, output)?.run())
}

/// Runs the job of a program that was started alone, the process `pid`. That process has started this one
/// with a socket to itself as standard input. It is rank 0, and the processes that it starts are the other
/// ranks. Returns when all of them have ended.
///
/// # Errors
/// Fails with [`StartError::Description`] if a variable or the profile is invalid. Fails with
/// [`StartError::System`] if no such program has started this process, or the system refuses.
pub fn adopt(pid: u32) -> Result<u8, StartError> {
    signals::set_aside_inherited();
    let settings = environment_settings().map_err(|error| StartError::Description(error.to_string()))?;
    Ok(adopted(pid, settings)?.run())
}

/// Returns the launcher of a program that was started alone.
fn adopted(pid: u32, (on_failure, profile): (OnFailure, Profile)) -> io::Result<Launcher> {
    let socket = Socket::new(rustix::stdio::stdin().try_clone_to_owned()?);
    rustix::net::sockopt::socket_type(&socket)?;
    // No child may keep the socket open, or read from it.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let name = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_else(|_| "program".into());
    let plan = Plan {
        programs: vec![Program { ranks: 1, command: vec![name.into()] }],
        here: RankSet::from(0..1),
        environment: Vec::new(),
        directory: None,
        binding: Binding::default(),
        report_bindings: false,
        input: Default::default(),
        is_held: false,
        spawned: None,
    };
    let host = Host::this(1);
    let output = Output::new(OutputSpec::default(), OutputFiles::default(), vec![host.name.clone()], None);
    let info = JobInfo {
        id: draw_job_id()?,
        launcher: std::process::id(),
        universe: topology::usable(),
        on_failure,
        profile,
        ..JobInfo::new(vec![host])
    };
    let (its_plan, its_info) = (plan.clone(), info.clone());
    let start = |events: &Events| {
        Ok(JobHosts::Here(Box::new(HostRanks::adopt(its_plan, its_info, (pid, socket), events)?)))
    };
    let settings = LauncherSettings::default();
    Launcher::new(plan, info, settings, Events::new()?, output, None, start)
}

/// Returns the environment's settings for a job that has no command line: the effect of a failure on the
/// others, and the profile.
///
/// # Errors
/// Fails if a variable is invalid, or the profile cannot be used.
pub fn environment_settings() -> io::Result<(OnFailure, Profile)> {
    Ok((on_failure()?, canele_profile::load().map_err(io::Error::other)?.profile))
}

fn on_failure() -> io::Result<OnFailure> {
    match std::env::var("CANELE_ON_FAILURE").as_deref() {
        Err(_) | Ok("stop") => Ok(OnFailure::Stop),
        Ok("continue") => Ok(OnFailure::Continue),
        Ok(other) => Err(io::Error::other(format!("CANELE_ON_FAILURE is {other:?}: it is stop or continue"))),
    }
}

/// A job whose description is valid.
struct Described {
    plan: Plan,
    /// The cores of the ranks of this host, held until the job has ended.
    claims: CoreClaims,
    /// A remark about the binding for the user.
    remark: Option<String>,
    info: JobInfo,
    tunables: Tunables,
    /// The remote shell that starts the agents, if hosts were named.
    shell: Option<RemoteShell>,
    files: OutputFiles,
    trace: Option<Trace>,
}

fn described(spec: &JobSpec) -> Result<Described, String> {
    let programs = spec.programs.clone();
    check_programs(&programs)?;
    let (environment, tunables) = environment(spec)?;
    let mut plan = Plan {
        programs,
        here: RankSet::default(),
        environment,
        directory: None,
        binding: Binding::default(),
        report_bindings: spec.report_bindings,
        input: spec.input.clone(),
        is_held: debugger::is_debugged(),
        spawned: None,
    };
    let (mut claims, mut remark) = (CoreClaims::default(), None);
    let (hosts, map) = match &spec.placement {
        Some(placement) => hosts::place(&placement.hosts, plan.size(), &placement.order)?,
        None => (vec![Host::this(plan.size())], RankMap::in_blocks([plan.size()])),
    };
    check_local_ranks(&hosts)?;
    spec.input.check(plan.size())?;
    let shell = match &spec.placement {
        Some(placement) => {
            plan.directory = Some(directory_there(spec)?);
            let own = || std::env::current_exe().map_err(|error| format!("this executable: {error}"));
            let canele = placement.executable.clone().map_or_else(own, Ok)?;
            check_hosts(&hosts)?;
            Some(RemoteShell::new(placement.remote_shell.as_ref(), canele)?)
        }
        None => {
            plan.here = RankSet::from(0..plan.size());
            plan.directory = directory_here(spec)?;
            let chosen = Binding::choose(&spec.bind.of_ranks(&plan.here), plan.size())?;
            ChosenBinding { binding: plan.binding, claims, remark } = chosen;
            check_limits(plan.size())?;
            None
        }
    };
    let info = JobInfo {
        id: draw_job_id().map_err(|error| error.to_string())?,
        launcher: std::process::id(),
        network: (hosts.len() > 1).then(JobNetwork::draw).transpose().map_err(|error| error.to_string())?,
        universe: universe(spec, &hosts),
        lanes: most_lanes(&hosts, &spec.bind, &plan.binding),
        map,
        on_failure: spec.on_failure,
        profile: canele_profile::load().map_err(|error| error.to_string())?.profile,
        ..JobInfo::new(hosts)
    };
    let files = OutputFiles::create(spec.print.files.clone(), &info)?;
    let trace =
        spec.trace.as_deref().map(|file| Trace::create(file, &info, plan.to_string(), tunables.trace_bytes));
    Ok(Described { plan, claims, remark, info, tunables, shell, files, trace: trace.transpose()? })
}

/// Returns the number of lanes that a rank may have. It assumes that each host has as many processors as this
/// one and binds its ranks in the same way. `binding` is that of this host's ranks. Other hosts choose theirs
/// later.
fn most_lanes(hosts: &[Host], bind: &BindPolicy, binding: &Binding) -> u8 {
    let most_ranks = hosts.iter().map(|host| host.ranks).max().unwrap_or(0);
    let of_policy = || bind.fewest_processors(&Topology::discover().ok()?, most_ranks);
    let bound = binding.fewest_processors().or_else(of_policy).unwrap_or(u32::MAX);
    lanes_for(bound.min(topology::usable() / most_ranks.max(1)))
}

/// Returns the number of lanes of a rank that has `processors` processors: one for each, within the limits.
pub fn lanes_for(processors: u32) -> u8 {
    u8::try_from(processors).unwrap_or(MOST_LANES).clamp(1, MOST_LANES)
}

/// Returns the number of processes that the job may have: the given one, or the slots of its hosts, or the
/// processors of this one.
fn universe(spec: &JobSpec, hosts: &[Host]) -> u32 {
    let ranks = hosts.iter().map(|host| host.ranks).sum();
    let slots = match &spec.placement {
        Some(placement) => {
            placement.hosts.iter().fold(0, |sum: u32, host| sum.saturating_add(host.ranks.unwrap_or(0)))
        }
        None => topology::usable(),
    };
    spec.universe.unwrap_or(slots).max(ranks)
}

/// Returns the environment of the ranks, and the settings that follow from it.
fn environment(spec: &JobSpec) -> Result<(Vec<(OsString, OsString)>, Tunables), String> {
    let mut environment = spec.environment.clone();
    if spec.trace.is_some() && std::env::var_os(TRACE_BYTES).is_none() {
        // Variables of `--env` come after this one and replace it.
        environment.insert(0, (TRACE_BYTES.into(), DEFAULT_TRACE_BYTES.to_string().into()));
    }
    // The error is reported once here rather than by each rank.
    let set = environment.iter().map(|(name, value)| (name.clone(), value.clone()));
    let tunables = Tunables::from_pairs(std::env::vars_os().chain(set)).map_err(|error| error.to_string())?;
    if spec.placement.is_some() {
        let ours = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("CANELE_") && !LAUNCHER_VARIABLES.contains(&&*name)
        };
        environment.splice(0..0, std::env::vars_os().filter(|(name, _)| ours(name)));
    }
    Ok((environment, tunables))
}

fn directory_here(spec: &JobSpec) -> Result<Option<PathBuf>, String> {
    match &spec.directory {
        Some(directory) if !directory.is_dir() => {
            Err(format!("--wd {}: no such directory", directory.display()))
        }
        directory => Ok(directory.clone()),
    }
}

/// Returns the directory in which ranks on other hosts start: the one with the same name as here.
fn directory_there(spec: &JobSpec) -> Result<PathBuf, String> {
    let here = std::env::current_dir().map_err(|error| format!("this directory: {error}"))?;
    Ok(spec.directory.as_ref().map_or(here.clone(), |directory| here.join(directory)))
}

/// Refuses programs that cannot be started, and more ranks than can be named.
fn check_programs(programs: &[Program]) -> Result<(), String> {
    if programs.is_empty() || programs.iter().any(|program| program.ranks == 0) {
        return Err("a job needs at least one rank of each program".into());
    }
    if programs.iter().any(|program| program.command.first().is_none_or(|name| name.is_empty())) {
        return Err("a program has no name".into());
    }
    let ranks: u64 = programs.iter().map(|program| u64::from(program.ranks)).sum();
    if ranks > u64::from(LinkId::MOST_RANKS) {
        return Err(format!("{ranks} ranks: a job has at most {}", LinkId::MOST_RANKS));
    }
    Ok(())
}

/// Refuses more ranks on a host than their shared memory has places for.
fn check_local_ranks(hosts: &[Host]) -> Result<(), String> {
    match hosts.iter().find(|host| host.ranks as usize > MOST_LOCAL_RANKS) {
        Some(Host { name, ranks }) => {
            Err(format!("{ranks} ranks on {name}: a host has at most {MOST_LOCAL_RANKS}"))
        }
        None => Ok(()),
    }
}

/// Refuses more ranks than the limit of descriptors of a host allows.
pub fn check_limits(ranks: u32) -> Result<(), String> {
    check_descriptors(ranks, PER_RANK, "ranks")
}

/// Refuses more hosts than the launcher's limit of descriptors, or its messages, allow.
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

/// Returns the number of open files that the launcher, or a host's agent, needs for `ranks` ranks of its
/// host.
pub fn descriptors_for(ranks: u32) -> u64 {
    u64::from(ranks) * PER_RANK + BESIDES
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

fn launcher(job: Described, spec: &JobSpec, out: Option<OwnedFd>) -> io::Result<Launcher> {
    let Described { plan, claims, remark, info, tunables, shell, files, trace } = job;
    let names = info.hosts.iter().map(|host| host.name.clone()).collect();
    let mut output = Output::new(spec.print.clone(), files, names, out);
    if let Some(remark) = remark {
        output.say(&remark);
    }
    let settings = LauncherSettings {
        timeout: spec.timeout,
        end_with: spec.end_with,
        name_hosts: shell.is_some(),
        report_exits: spec.report_exits,
    };
    let mut events = Events::new()?;
    events.close_arrivals(claims.sockets);
    let Some(shell) = shell else {
        let own = Own { input: input::inherited(&spec.input)?, output: output.terminals()? };
        let input = own.input.is_none().then(|| Input::new(&spec.input, &info));
        let (its_plan, its_info) = (plan.clone(), info.clone());
        let start = |events: &Events| {
            Ok(JobHosts::Here(Box::new(HostRanks::start(its_plan, its_info, own, events)?)))
        };
        return Ok(Launcher::new(plan, info, settings, events, output, input, start)?.tracing(trace));
    };
    let task = |(host, here)| {
        let bind = spec.bind.of_ranks(&here);
        let silence_ms = tunables.host_lost_ms as u32;
        Task { host, plan: Plan { here, ..plan.clone() }, info: info.clone(), bind, silence_ms }
    };
    let tasks = (0..).zip(info.map.by_host(info.hosts.len())).map(task).collect();
    let start_timeout = Duration::from_millis(tunables.remote_start_ms);
    let start = |events: &Events| {
        Agents::start(&shell, tasks, start_timeout, tunables.rails.clone(), events)
            .map(|agents| JobHosts::There(Box::new(agents)))
    };
    let input = Some(Input::new(&spec.input, &info));
    Ok(Launcher::new(plan, info, settings, events, output, input, start)?.tracing(trace))
}
