//! The start of a host's ranks, and messages of their supervisor. Owns these reactions of a host.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::time::Instant;

use canele_control::{Socket, SpawnedWorld};
use rustix::process::Signal;

use super::control_channel::ControlChannel;
use super::feed::Feed;
use super::{HostRanks, Report};
use crate::events::{Events, Source, Stream};
use crate::installation;
use crate::plan::Plan;
use crate::supervisor::{FromSupervisor, ToSupervisor};
use crate::supervisor_handle;

impl HostRanks {
    /// Starts the next rank, if one is left. One rank starts at a time, which bounds the descriptors under
    /// way.
    pub(super) fn start_next(&mut self, events: &Events) {
        while !self.starting && self.ending_until.is_none() {
            let Some(rank) = self.local_ranks.ranks().rank(self.channels.len() as u32) else { return };
            match self.start_rank(rank, events) {
                Ok(()) => self.starting = true,
                Err(error) => {
                    let report = self.not_started(rank, error.to_string());
                    self.handle_not_started(rank, report, events);
                    // The job ends, unless it can run without the rank.
                    if self.plan.here.contains(rank) {
                        return;
                    }
                }
            }
        }
    }

    fn not_started(&self, rank: u32, why: String) -> Report {
        let name = self.plan_of(rank).program(rank).command[0].to_string_lossy().into_owned();
        Report::NotStarted { rank, status: 1, name, why }
    }

    /// Reports that the program of a rank at the start must not be started.
    pub(super) fn report_not_started(&mut self, rank: u32, why: String) {
        let report = self.not_started(rank, why);
        self.reports.push(report);
    }

    /// Returns the plan that contains `rank`.
    fn plan_of(&self, rank: u32) -> &Plan {
        self.spawned.iter().find(|plan| plan.here.contains(rank)).unwrap_or(&self.plan)
    }

    /// Gives a rank without a process a closed channel.
    fn handle_not_started(&mut self, rank: u32, report: Report, events: &Events) {
        let place = self.local_ranks.place(rank);
        if place == Some(self.channels.len()) {
            self.channels.push(ControlChannel::closed(rank));
        } else if let Some(channel) = self.channel_mut(rank) {
            channel.close(events);
        }
        self.pipes.drain(rank);
        self.handle_ended(rank, events);
        self.drop_plans();
        self.reports.push(report);
    }

    /// Drops the plans of spawned ranks that have all ended.
    pub(super) fn drop_plans(&mut self) {
        let local_ranks = &self.local_ranks;
        self.spawned.retain(|plan| plan.here.iter().any(|rank| !local_ranks.of(rank).ended));
    }

    /// Adds ranks to the job: tells those of this host, and starts its new ones.
    pub(super) fn spawn(&mut self, world: SpawnedWorld, mut plans: Vec<Plan>, events: &Events) {
        let ranks: Vec<u32> = plans.iter().flat_map(|plan| plan.here.iter()).collect();
        if let Err(error) = self.grow(&world, &ranks) {
            let text = format!("cannot add ranks to the job: {error}");
            return self.reports.push(Report::Failed { status: 1, text });
        }
        for plan in &mut plans {
            installation::add_library_path(&mut plan.environment);
            plan.find_program();
            self.refused.extend(plan.refusals(self.local_ranks.info.ranks()));
            match plan.write() {
                Ok(file) => self.supervisor.send(&ToSupervisor::Add, &[file.as_fd()]),
                // The supervisor then reports each rank of this plan as not started.
                Err(error) => self.reports.push(Report::Remarked { bytes: format!("{error}\n").into() }),
            }
        }
        self.spawned.extend(plans);
        self.post();
        self.start_next(events);
    }

    /// Ends the job if a rank that has not joined it uses another MPI.
    pub(super) fn look_for_foreign(&mut self, now: Instant) {
        let (local_ranks, ranks) = (&self.local_ranks, self.local_ranks.info.ranks());
        let has_joined = |rank| local_ranks.of(rank).initialised;
        if self.ending_until.is_none()
            && let Some(text) = self.watch.look(now, ranks, has_joined)
        {
            self.reports.push(Report::Failed { status: 1, text });
        }
    }

    fn start_rank(&mut self, rank: u32, events: &Events) -> io::Result<()> {
        if let Some((_, why)) = self.refused.iter().find(|(ranks, _)| ranks.contains(rank)) {
            return Err(io::Error::other(why.clone()));
        }
        let (own, its) = Socket::pair()?;
        let input = if self.plan.here.contains(rank) && self.plan.input.has(rank) {
            self.input_of_next(events)?
        } else {
            std::fs::File::open("/dev/null")?.into()
        };
        let mut print = |stream: Stream| match &self.own.output[stream as usize] {
            Some(output) => output.try_clone(),
            None => self.pipes.open(rank, stream, events),
        };
        let (output, error) = (print(Stream::Out)?, print(Stream::Error)?);
        let mut channel = ControlChannel::new(Source::Rank(rank), own, events)?;
        if self.plan_of(rank).is_held {
            channel.hold();
        }
        self.channels.push(channel);
        self.supervisor.send(
            &ToSupervisor::Start { number: rank },
            &[input.as_fd(), output.as_fd(), error.as_fd(), its.as_fd()],
        );
        Ok(())
    }

    /// Returns the standard input of the next rank that gets it. The rank inherits the launcher's own, or is
    /// fed through a pipe.
    fn input_of_next(&mut self, events: &Events) -> io::Result<OwnedFd> {
        if let Some(input) = self.own.input.take() {
            return Ok(input);
        }
        let plan = &self.plan;
        let ranks = || plan.here.iter().filter(|rank| plan.input.has(*rank)).count();
        self.feed.get_or_insert_with(|| Feed::new(ranks())).open(events)
    }

    /// Lets held ranks of this host join the job.
    pub(super) fn admit(&mut self, ranks: Range<u32>) {
        ranks.for_each(|rank| self.channel_mut(rank).into_iter().for_each(ControlChannel::admit));
    }

    /// Reports that the program of a rank runs.
    pub(super) fn report_started(&mut self, rank: u32, pid: u32) {
        self.local_ranks.of_mut(rank).pid = Some(pid);
        // A script's process runs its interpreter, to which a debugger attaches.
        let executable = std::fs::read_link(format!("/proc/{pid}/exe"));
        let executable =
            executable.map_or_else(|_| self.plan_of(rank).program(rank).command[0].clone(), Into::into);
        self.reports.push(Report::Started { rank, pid, executable: executable.into_vec() });
    }

    pub(super) fn handle_supervisor(&mut self, events: &Events) {
        while !self.over && self.telling.is_none() {
            match self.supervisor.try_receive() {
                Ok(None) => return,
                Ok(Some(FromSupervisor::Started { number: rank, pid })) => {
                    self.report_started(rank, pid);
                    if self.local_ranks.info.ranks() > 1 && !self.plan_of(rank).allows_foreign() {
                        self.watch.add(rank, pid, Instant::now());
                    }
                    self.starting = false;
                    self.start_next(events);
                }
                Ok(Some(FromSupervisor::NotStarted { number: rank, errno, reason })) => {
                    let report = self.plan_of(rank).not_started(rank, errno, &reason);
                    if self.plan.here.contains(rank) {
                        self.reports.push(report);
                    } else {
                        self.starting = false;
                        self.handle_not_started(rank, report, events);
                        self.start_next(events);
                    }
                }
                Ok(Some(FromSupervisor::Exited { number: rank, exit })) => {
                    self.handle_exit(rank, exit, events)
                }
                Ok(Some(FromSupervisor::Empty { left })) => {
                    self.supervisor.collect();
                    self.left = Some(left);
                    return self.finish_once_ended(Instant::now());
                }
                Err(supervisor_handle::Died) => self.take_over(),
            }
        }
    }

    /// Ends the processes below this one, because the supervisor that ends them is gone.
    pub(super) fn take_over(&mut self) {
        self.reports.push(Report::SupervisorDied { pid: self.supervisor.pid() });
        let left = self.supervisor.take_over();
        self.finish(left);
    }

    pub(super) fn finish(&mut self, left: Vec<u32>) {
        self.signal_adopted(Signal::KILL);
        self.pipes.finish();
        self.collect_prints();
        self.say_last_word(left);
    }
}
