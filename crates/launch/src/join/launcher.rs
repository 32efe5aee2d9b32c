//! The launcher of a job whose ranks another launcher has started. Owns the description of that job.

use std::ffi::OsString;
use std::io;

use canele_control::join::{JoinAnswer, JoinTask};
use canele_control::{Host, JobInfo, JobNetwork, OnFailure, RankMap, RankSet, Socket, draw_job_id};
use canele_profile::Profile;
use canele_sys::tunables::Tunables;

use super::gathering::{GatheredAgent, Gathering};
use super::say;
use crate::binding::{BindPolicy, Binding};
use crate::events::Events;
use crate::job_hosts::JobHosts;
use crate::launcher::{Launcher, LauncherSettings};
use crate::output::Output;
use crate::output_files::{OutputFiles, OutputSpec};
use crate::plan::{Plan, Program};
use crate::remote::{Agents, Task};
use crate::start::{environment_settings, lanes_for};

/// Waits for the ranks of the job, and supervises them until they have ended.
///
/// # Errors
/// Fails with any error of the system.
pub fn serve(begin: &JoinTask, starter: &Socket) -> io::Result<()> {
    rustix::thread::set_name(c"canele-launcher")?;
    let prepared = prepare(begin, starter);
    let (events, gathering, settings) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            let _ = starter.try_send(&JoinAnswer::Refused { why: error.to_string() }, &[]);
            return Ok(());
        }
    };
    let addresses = gathering.addresses();
    starter.try_send(&JoinAnswer::Listening { addresses }, &[]).map_err(io::Error::other)?;
    match gathering.run(&events) {
        // The ranks report the reason.
        Err(_) => Ok(()),
        Ok(agents) => launch(begin, agents, settings, events),
    }
}

/// The settings of the job, which come from the environment of the ranks.
struct JobSettings {
    tunables: Tunables,
    on_failure: OnFailure,
    profile: Profile,
}

fn prepare<'a>(begin: &'a JoinTask, starter: &'a Socket) -> io::Result<(Events, Gathering<'a>, JobSettings)> {
    let tunables = Tunables::from_env().map_err(io::Error::other)?;
    let (on_failure, profile) = environment_settings()?;
    let events = Events::new()?;
    let gathering = Gathering::listen(begin, starter, &tunables, &events)?;
    Ok((events, gathering, JobSettings { tunables, on_failure, profile }))
}

fn launch(
    begin: &JoinTask,
    agents: Vec<GatheredAgent>,
    settings: JobSettings,
    events: Events,
) -> io::Result<()> {
    let JobSettings { tunables, on_failure, profile } = settings;
    let plan = Plan {
        programs: vec![Program { ranks: begin.ranks, command: vec![OsString::from(&begin.program)] }],
        here: RankSet::default(),
        environment: Vec::new(),
        directory: None,
        binding: Binding::default(),
        report_bindings: false,
        input: Default::default(),
        is_held: false,
        spawned: None,
    };
    let host = |agent: &GatheredAgent| Host { name: agent.name.clone(), ranks: agent.ranks().len() };
    let hosts: Vec<Host> = agents.iter().map(host).collect();
    let mut of_ranks = vec![0; begin.ranks as usize];
    for (host, agent) in (0..).zip(&agents) {
        agent.ranks().iter().for_each(|rank| of_ranks[rank as usize] = host);
    }
    let info = JobInfo {
        // This is not the ticket's number. Other processes could see that number before this process holds
        // the name that belongs to it.
        id: draw_job_id()?,
        launcher: std::process::id(),
        // Agents have the key, which is never sent.
        network: (hosts.len() > 1).then(|| JobNetwork {
            job: begin.job,
            key: Default::default(),
            rails: Vec::new(),
        }),
        map: RankMap::new(of_ranks),
        universe: begin.ranks,
        processors: 0,
        lanes: lanes_for(agents.iter().map(GatheredAgent::processors_of_each).min().unwrap_or(1)),
        on_failure,
        profile,
        joined: true,
        ..JobInfo::new(hosts)
    };
    let task = |(host, agent): (usize, &GatheredAgent)| Task {
        host: host as u32,
        plan: Plan { here: agent.ranks(), ..plan.clone() },
        info: info.clone(),
        bind: BindPolicy::none(),
        silence_ms: tunables.host_lost_ms as u32,
    };
    let tasks: Vec<Task> = agents.iter().enumerate().map(task).collect();
    let names = info.hosts.iter().map(|host| host.name.clone()).collect();
    let output = Output::new(OutputSpec::default(), OutputFiles::default(), names, None);
    let settings = LauncherSettings { name_hosts: info.hosts.len() > 1, ..LauncherSettings::default() };
    let start = |events: &Events| {
        let agents = Agents::of_joined(agents, tasks, tunables.rails.clone(), events)?;
        Ok(JobHosts::There(Box::new(agents)))
    };
    let launcher = Launcher::new(plan, info, settings, events, output, None, start);
    if let Err(error) = &launcher {
        say(&format!("the launcher of the job cannot be started: {error}"));
    }
    launcher?.run();
    Ok(())
}
