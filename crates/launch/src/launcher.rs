//! The launcher's loop: waits for the next event of the job and reacts to it.
//!
//! Owns the effect of a failure (`reports` handles the reports of hosts; `ending` has signals, the time limit
//! and the end). Never waits for a rank or a host, nor for the reader of its output. Hosts handle the
//! processes.

use std::io;
use std::time::{Duration, Instant};

use canele_control::{JobInfo, OnFailure, ToLauncher};

use super::connected::ConnectedJobs;
use super::end_with::EndWith;
use super::ending::Extent;
use super::events::{Events, Ready, Source};
use super::failure::{Exit, RankFailure, SignalName, exit_list};
use super::finalize_watch::FinalizeWatch;
use super::host_ranks::Order;
use super::input::Input;
use super::job::{Cut, Job};
use super::job_hosts::JobHosts;
use super::output::Output;
use super::plan::Plan;
use super::query::Queries;
use super::signals::Signals;
use super::spawning::Spawns;
use super::trace::Trace;

/// The time that processes have to react to SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(500);

/// Ranks that finish within this time of each other are reported to the others in one message.
const FINISHED_INTERVAL: Duration = Duration::from_millis(20);

/// The command line's settings for the launcher itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct LauncherSettings {
    /// The time after which the job ends.
    pub timeout: Option<Duration>,
    /// The process of this host whose end ends the job.
    pub end_with: Option<u32>,
    /// True if hosts were named, so messages name them too.
    pub name_hosts: bool,
    /// True if the launcher reports at the end how each rank ended.
    pub report_exits: bool,
}

/// The launcher of one job.
pub struct Launcher {
    pub(super) plan: Plan,
    name_hosts: bool,
    report_exits: bool,
    pub(super) started: Instant,
    pub(super) timeout_at: Option<Instant>,
    pub(super) end_with: Option<EndWith>,
    pub(super) events: Events,
    pub(super) signals: Signals,
    pub(super) queries: Option<Queries>,
    pub(super) output: Output,
    pub(super) input: Option<Input>,
    pub(super) job: Job,
    pub(super) hosts: JobHosts,
    /// The connections with other jobs, and the ports of this one.
    pub(super) connected: ConnectedJobs,
    /// True for each host that has not sent its last report.
    pub(super) open: Vec<bool>,
    /// The exit status; the first failure sets it.
    pub(super) status: Option<u8>,
    /// True once the time limit was reached: the job ends after the ranks' state is printed.
    pub(super) is_timed_out: bool,
    /// True if the answer to the launcher's own request must be printed for the user.
    pub(super) is_answer_wanted: bool,
    /// Detects ranks that finalise while others wait for them.
    pub(super) finalize_watch: FinalizeWatch,
    /// The last signal that was passed on and that usually ends a program.
    pub(super) passed_on: Option<u8>,
    /// True once the launcher has answered SIGQUIT with the ranks' state.
    pub(super) has_quit: bool,
    pub(super) ending: bool,
    /// The number of ranks of the start whose programs do not run yet.
    pub(super) unstarted: u32,
    /// Worlds whose ranks are being started.
    pub(super) spawns: Spawns,
    /// The time of the last report of finished ranks to the other ranks.
    pub(super) finished_told: Option<Instant>,
    /// The trace of the ranks, if they are traced.
    pub(super) trace: Option<Trace>,
    /// True once a host has reported why its ranks do not join.
    pub(super) has_told_unjoined: bool,
}

/// Describes the effect of a failure, or says that the other ranks go on.
pub(super) fn then(extent: Option<&Extent>) -> String {
    extent.map_or_else(|| "the others go on".to_owned(), Extent::to_string)
}

impl Launcher {
    /// Returns a launcher for the hosts that `start` starts.
    ///
    /// # Errors
    /// Fails with any error of the system, most likely for lack of descriptors.
    pub fn new(
        plan: Plan,
        info: JobInfo,
        settings: LauncherSettings,
        events: Events,
        mut output: Output,
        input: Option<Input>,
        start: impl FnOnce(&Events) -> io::Result<JobHosts>,
    ) -> io::Result<Launcher> {
        let signals = Signals::new(&events)?;
        let end_with = EndWith::watch_if_possible(settings.end_with, &events, &mut output)?;
        let hosts = start(&events)?;
        let queries = Queries::listen(&events);
        if let Err(error) = &queries {
            output.say(&format!("this job cannot be asked about with `canele info --job`: {error}"));
        }
        let started = Instant::now();
        Ok(Launcher {
            job: Job::new(info.clone()),
            plan,
            name_hosts: settings.name_hosts,
            report_exits: settings.report_exits,
            timeout_at: settings.timeout.and_then(|after| started.checked_add(after)),
            queries: queries.ok(),
            end_with,
            started,
            open: info.hosts.iter().map(|host| host.ranks > 0).collect(),
            unstarted: info.size,
            spawns: Spawns::default(),
            connected: ConnectedJobs::listen(info.id, &events),
            events,
            signals,
            output,
            input,
            hosts,
            status: None,
            is_timed_out: false,
            is_answer_wanted: false,
            finalize_watch: FinalizeWatch::default(),
            has_quit: false,
            passed_on: None,
            ending: false,
            finished_told: None,
            trace: None,
            has_told_unjoined: false,
        })
    }

    /// Returns this launcher with a trace of the ranks, if there is one.
    pub fn tracing(mut self, trace: Option<Trace>) -> Launcher {
        self.trace = trace;
        self
    }

    /// Returns the job's description.
    pub(super) fn info(&self) -> &JobInfo {
        self.job.info()
    }

    /// Runs the job to its end. Returns the exit status.
    pub fn run(mut self) -> u8 {
        // These reports come from the start of the hosts, about ranks that could not be started.
        self.deliver();
        while !self.hosts.is_over() {
            for (source, ready) in self.events.wait(self.deadline()) {
                self.handle(source, ready);
                self.handle_reports();
            }
            self.check_deadlines();
            self.deliver();
        }
        self.write_trace();
        self.tell_unjoined();
        if let Some(text) = self.job.given_up.text() {
            self.output.say(&text);
        }
        if self.report_exits {
            self.output.say(&exit_list(self.job.members().iter().map(|member| member.exit)));
        }
        self.write_rest();
        self.status.unwrap_or(0)
    }

    fn handle(&mut self, source: Source, ready: Ready) {
        match source {
            Source::Signals => self.handle_signals(),
            Source::EndWith => self.handle_end_with(),
            // Output is written after all events anyway.
            Source::Sink(_) => {}
            Source::Input => {
                let bytes = self.input.as_mut().and_then(|input| input.read(&self.events));
                self.feed(bytes);
            }
            Source::Listener => {
                self.ask(Queries::accept);
            }
            Source::Answer(index) => {
                if let Some(queries) = &mut self.queries {
                    queries.write(index, &self.events);
                }
            }
            Source::JobListener | Source::JobLink(_) | Source::Announced(_) | Source::Search(_) => {
                self.handle_connected(source);
            }
            _ => self.hosts.handle(source, ready, &self.events),
        }
    }

    /// Gives all hosts the order that `ask` returns, to report the state of their ranks.
    pub(super) fn ask(&mut self, ask: impl FnOnce(&mut Queries, usize, u32) -> Option<Order>) {
        let hosts = self.open.iter().filter(|open| **open).count();
        let ranks = self.info().ranks();
        if let Some(order) = self.queries.as_mut().and_then(|queries| ask(queries, hosts, ranks)) {
            self.tell_all(&order);
        }
    }

    // ---- hosts ----------------------------------------------------------------------------------------

    pub(super) fn tell_all(&mut self, order: &Order) {
        for host in 0..self.info().hosts.len() {
            self.hosts.tell(host, order.clone(), &self.events);
        }
    }

    pub(super) fn tell_host_of(&mut self, rank: u32, order: Order) {
        self.hosts.tell(self.job.info().host_of(rank), order, &self.events);
    }

    /// Passes on standard input; no bytes mean its end.
    pub(super) fn feed(&mut self, bytes: Option<Vec<u8>>) {
        let Some(bytes) = bytes else { return };
        let hosts = self.input.as_ref().map(Input::hosts).unwrap_or_default();
        if bytes.is_empty() {
            self.close_input();
        }
        for host in hosts {
            self.hosts.tell(host, Order::Feed { bytes: bytes.clone() }, &self.events);
        }
    }

    /// Closes standard input for a host whose ranks take no more.
    pub(super) fn close_input_of(&mut self, host: usize) {
        if self.input.as_mut().is_some_and(|input| !input.remove_host(host)) {
            self.close_input();
        }
    }

    pub(super) fn close_input(&mut self) {
        if let Some(input) = self.input.take() {
            input.close(&self.events);
        }
    }

    // ---- ranks ----------------------------------------------------------------------------------------

    /// Returns ` on h1`, if hosts were named.
    pub(super) fn on_host(&self, host: usize) -> String {
        if self.name_hosts { format!(" on {}", self.info().hosts[host].name) } else { String::new() }
    }

    /// Returns `rank 3`, with its host if hosts were named.
    pub(super) fn name(&self, rank: u32) -> String {
        let process = self.info().process(rank);
        match self.info().is_own(rank) {
            true => format!("rank {rank}{}", self.on_host(self.info().host_of(rank))),
            false => format!("rank {} of another job", process.rank),
        }
    }

    pub(super) fn handle_message(&mut self, rank: u32, message: ToLauncher) {
        if let ToLauncher::Spawn { ticket, programs, parents } = message {
            return self.spawn((rank, ticket), programs, parents);
        }
        let handled = match message {
            ToLauncher::OpenPort { .. }
            | ToLauncher::ClosePort { .. }
            | ToLauncher::Accept { .. }
            | ToLauncher::ConnectPort { .. }
            | ToLauncher::Abandon { .. }
            | ToLauncher::Announce { .. }
            | ToLauncher::FindElsewhere { .. } => self.handle_connecting(rank, message),
            ToLauncher::Unreachable { peer, what } => self.handle_unreachable(rank, peer, what),
            ToLauncher::Abort { ranks, status } => self.handle_abort(rank, &ranks, status),
            _ => {
                match &message {
                    ToLauncher::Withdraw { name } => self.withdraw_elsewhere(name),
                    ToLauncher::Finalizing if self.info().on_failure == OnFailure::Stop => {
                        self.finalize_watch.begin(Instant::now());
                    }
                    _ => {}
                }
                self.job.handle(rank, message)
            }
        };
        self.blame_if_failed(rank, handled);
        while let Some(cut) = self.job.take_cut() {
            self.tell_cut_off(cut.by, cut.of, &cut.what);
            if !self.ending {
                self.handle_cut(&cut);
            }
        }
    }

    /// Notes the violation of a rank that broke the rules and is killed; the report of its exit gives the
    /// reason.
    pub(super) fn blame_if_failed(&mut self, rank: u32, handled: Result<(), String>) {
        if let Err(how) = handled {
            self.job.member_mut(rank).broken.get_or_insert(how);
            self.tell_host_of(rank, Order::Kill { rank });
        }
    }

    pub(super) fn handle_exit(&mut self, rank: u32, exit: Exit) {
        self.close_ports_of(rank);
        let failure = self.job.handle_exit(rank, exit);
        if let Some(failure) = failure
            && !self.ending
        {
            self.handle_failure(rank, &failure);
        }
        if !self.ending && self.job.running().is_empty() {
            self.end(0, GRACE);
        }
    }

    /// Handles a cut. The memory or program of a rank is corrupted, so the job has failed although no rank
    /// has died.
    fn handle_cut(&mut self, cut: &Cut) {
        let stop = self.info().on_failure == OnFailure::Stop;
        let Cut { by, of, what } = cut;
        let extent = stop.then(|| self.extent_of_failure(&[*by, *of]));
        let (by, of) = (self.name(*by), self.name(*of));
        self.output.say(&format!("{by} accepts nothing more from {of}: {what}; {}", then(extent.as_ref())));
        self.status.get_or_insert(1);
        if let Some(extent) = extent {
            self.end_extent(extent, 1);
        }
    }

    fn handle_failure(&mut self, rank: u32, failure: &RankFailure) {
        let stop = self.info().on_failure == OnFailure::Stop;
        let (extent, text) = match failure {
            // Every rank got the signal; one message is enough.
            RankFailure::Killed(signal) if self.passed_on == Some(*signal) => {
                (stop.then_some(Extent::Job), stop.then(|| format!("ended by {}", SignalName(*signal))))
            }
            // A program in a pipe ends so when its reader has gone.
            RankFailure::Killed(13) if self.output.is_broken() => (stop.then_some(Extent::Job), None),
            _ => {
                let extent = stop.then(|| self.extent_of_failure(&[rank]));
                let text = format!("{} {failure}; {}", self.name(rank), then(extent.as_ref()));
                (extent, Some(text))
            }
        };
        if let Some(text) = text {
            self.output.say(&text);
        }
        self.status.get_or_insert(failure.status());
        if let Some(extent) = extent {
            self.end_extent(extent, failure.status());
        }
    }

    /// Sends ranks their messages, and writes their output.
    pub(super) fn deliver(&mut self) {
        self.deliver_once();
        // A host may turn out to be lost.
        while self.handle_reports() {
            self.deliver_once();
        }
    }

    /// Returns the time of the next report of finished ranks: the first is reported at once, later ones
    /// together.
    pub(super) fn finished_due(&self) -> Option<Instant> {
        let after = |told: Instant| told + FINISHED_INTERVAL;
        self.job.has_finished().then(|| self.finished_told.map_or(self.started, after))
    }

    fn deliver_once(&mut self) {
        self.deliver_to_jobs();
        if self.finished_due().is_some_and(|at| Instant::now() >= at) {
            self.finished_told = Some(Instant::now());
            self.job.tell_finished();
        }
        for (rank, message) in self.job.take_messages() {
            self.tell_host_of(rank, Order::Tell { rank, message });
        }
        for ((rank, number), message) in self.job.take_messages_to_lanes() {
            self.tell_host_of(rank, Order::TellLane { rank, number, message });
        }
        self.write_output();
        for (host, order) in self.output.take_orders() {
            self.hosts.tell(host, order, &self.events);
        }
        self.hosts.flush(&self.events);
    }
}
