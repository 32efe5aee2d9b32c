//! Events that end a job early (signals to the launcher, the time limit), and the end itself.
//!
//! Owns these reactions of the launcher. Never ends a process itself: the supervisors do.

use std::collections::BTreeSet;
use std::fmt;
use std::mem;
use std::time::{Duration, Instant};

use canele_control::OnFailure;
use canele_sys::debugger;
use rustix::process::Signal;

use super::failure::SignalName;
use super::finalize_watch::FINALIZE_GRACE;
use super::host_ranks::Order;
use super::input::Input;
use super::job_report::JobReport;
use super::launcher::{GRACE, Launcher};
use super::member::Member;
use super::query::Queries;
use super::why;
use super::wording::rank_list;

/// The exit status after `--timeout`.
pub(super) const TIMED_OUT: u8 = 124;

/// The ranks that a failure ends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All ranks.
    Job,
    /// These ranks, which ascend, and no others.
    Connected(Vec<u32>),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Job => write!(f, "ending the job"),
            Extent::Connected(ranks) if ranks.is_empty() => {
                write!(f, "the others are not connected with it and go on")
            }
            Extent::Connected(ranks) => {
                let (are, list) = (if ranks.len() == 1 { "is" } else { "are" }, rank_list(ranks));
                write!(f, "ending {list}, which {are} connected with it; the others go on")
            }
        }
    }
}

impl Launcher {
    pub(super) fn handle_signals(&mut self) {
        for signal in self.signals.pending() {
            match signal {
                Signal::TSTP => {
                    self.tell_all(&Order::Signal { signal: signal.as_raw() });
                    self.deliver();
                    // The launcher stops like any program; the supervisors do not, and watch.
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                }
                Signal::QUIT if mem::replace(&mut self.has_quit, true) => self.pass_on(signal),
                Signal::QUIT => self.ask_for_a_person(),
                Signal::INT | Signal::TERM | Signal::HUP => self.pass_on(signal),
                _ => self.tell_all(&Order::Signal { signal: signal.as_raw() }),
            }
        }
    }

    /// Passes on a signal that usually ends a program. The second one ends the job by force.
    pub(super) fn pass_on(&mut self, signal: Signal) {
        let number = signal.as_raw() as u8;
        let status = 128 + number;
        let started = |member: &Member| member.pid.is_some() || member.is_elsewhere;
        let all_started = self.job.members().iter().all(started);
        let again = self.passed_on.replace(number).is_some();
        if again || self.ending {
            if !self.ending {
                self.output.say(&format!("{} again; killing the job", SignalName(number)));
            }
            self.end(status, Duration::ZERO);
        } else if all_started {
            self.tell_all(&Order::Signal { signal: signal.as_raw() });
            // A stopped process receives nothing else.
            self.tell_all(&Order::Signal { signal: Signal::CONT.as_raw() });
        } else {
            self.output.say(&format!("ended by {}", SignalName(number)));
            self.end(status, GRACE);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let running = self.timeout_at.filter(|_| !self.ending);
        let input = self.input.as_ref().and_then(Input::deadline);
        let queries = self.queries.as_ref().and_then(Queries::deadline);
        let hosts = [self.hosts.deadline(), self.connected.deadline()];
        let watch = self.finalize_watch.deadline().filter(|_| !self.ending);
        let all = [running, input, queries, watch, self.finished_due(), self.output.deadline()];
        all.into_iter().chain(hosts).flatten().min()
    }

    pub(super) fn check_deadlines(&mut self) {
        let now = Instant::now();
        let bytes = self.input.as_mut().and_then(|input| input.look(now, &self.events));
        self.feed(bytes);
        self.hosts.check(now, &self.events);
        self.check_connected(now);
        self.handle_reports();
        if let Some(queries) = &mut self.queries {
            let (plan, job, parts) = (&self.plan, &self.job, self.hosts.parts());
            let info = job.info();
            let report = |counts: &[_]| JobReport::new(plan, info, job, self.started, counts, parts);
            queries.look(now, report, &self.events);
            if let Some(report) = queries.take_own(now, report) {
                self.handle_own_answer(&report, now);
            }
        }
        if !self.ending && self.finalize_watch.is_due(now) {
            self.ask(|queries, hosts, ranks| queries.ask_own(false, hosts, ranks));
        }
        if !self.ending && self.timeout_at.is_some_and(|at| now >= at) {
            self.time_out(now);
        }
    }

    /// Asks ranks for their state, and has the answer printed for the user.
    fn ask_for_a_person(&mut self) {
        self.is_answer_wanted = true;
        self.ask(|queries, hosts, ranks| queries.ask_own(true, hosts, ranks));
    }

    fn handle_own_answer(&mut self, report: &JobReport, now: Instant) {
        // Without a rank that has initialised there is nothing to explain after a time limit.
        let is_parallel = report.ranks.iter().any(|rank| rank.state == "initialised");
        if mem::take(&mut self.is_answer_wanted) && (is_parallel || !self.is_timed_out) {
            self.output.say(&why::explain(report).text());
        }
        if self.is_timed_out {
            self.timeout_at = Some(now);
        }
        // Ranks of another job may send at any time.
        let is_connected = self.job.members().iter().any(|member| member.is_elsewhere);
        let why = self.finalize_watch.judge(report, now);
        let Some(why) = why.filter(|_| !self.ending && !self.is_timed_out && !is_connected) else { return };
        let seconds = FINALIZE_GRACE.as_secs();
        self.output.say(&format!(
            "{why}; all ranks have waited for {seconds} s and none can go on: ending the job (`--on-failure continue` lets it wait)"
        ));
        self.end(1, GRACE);
    }

    /// Asks ranks once for their state, and ends the job after the answer.
    pub(super) fn time_out(&mut self, now: Instant) {
        if !mem::replace(&mut self.is_timed_out, true) {
            self.ask_for_a_person();
        }
        let answer_at = self.queries.as_ref().and_then(Queries::own_deadline);
        if let Some(at) = answer_at.filter(|at| now < *at) {
            self.timeout_at = Some(at);
            return;
        }
        let running = self.job.running();
        let seconds = self.started.elapsed().as_secs_f64();
        let text = format!(
            "the time limit was reached after {seconds:.1} s with {} still running; ending the job",
            rank_list(&running)
        );
        self.output.say(&text);
        self.status = Some(TIMED_OUT);
        self.end(TIMED_OUT, GRACE);
    }

    /// Returns the ranks that a failure of these ranks ends, if failures end ranks. These are the ranks
    /// connected with them (MPI 5.0, §11.10.4), or the whole job if no other rank runs.
    pub(super) fn extent_of_failure(&self, failed: &[u32]) -> Extent {
        let connected = self.job.running_connected_with(failed);
        let is_left = |rank: &u32| !self.job.member(*rank).unwanted && connected.binary_search(rank).is_err();
        match self.job.running().iter().any(is_left) {
            true => Extent::Connected(connected),
            false => Extent::Job,
        }
    }

    /// Ends the ranks of `extent`. The first status that was set stays.
    pub(super) fn end_extent(&mut self, extent: Extent, status: u8) {
        self.status.get_or_insert(status);
        match extent {
            Extent::Job => self.end(status, GRACE),
            Extent::Connected(ranks) => ranks.into_iter().for_each(|rank| self.end_rank(rank)),
        }
    }

    /// Ends a rank because of the failure of another one.
    pub(super) fn end_rank(&mut self, rank: u32) {
        self.job.member_mut(rank).unwanted = true;
        self.tell_host_of(rank, Order::Kill { rank });
    }

    /// Handles a rank that is about to end and has aborted the ranks `series`. Ends those, or the job if no
    /// other rank is left or failures end it.
    ///
    /// # Errors
    /// Fails with a text that says, after `rank N `, which rule the rank broke.
    pub(super) fn handle_abort(&mut self, by: u32, series: &[(u32, u32)], status: u8) -> Result<(), String> {
        let ranks = self.info().ranks();
        if let Some((first, last)) = series.iter().find(|(first, last)| first > last || *last >= ranks) {
            return Err(format!("aborted the ranks {first} to {last} of {ranks}"));
        }
        self.status.get_or_insert(status);
        if self.ending {
            return Ok(());
        }
        let mut left: BTreeSet<u32> = self.job.running().into_iter().collect();
        left.retain(|rank| !self.job.member(*rank).finished);
        // An error that ends all ranks ends those that are connected.
        let connected = self.job.running_connected_with(&[by]);
        let aborted = series
            .iter()
            .flat_map(|&(first, last)| first..=last)
            .filter(|rank| connected.binary_search(rank).is_ok() && left.remove(rank));
        let aborted: Vec<u32> = aborted.filter(|rank| *rank != by).collect();
        let by_name = self.name(by);
        if left.is_empty() || self.info().on_failure == OnFailure::Stop {
            self.output.say(&format!("{by_name} has aborted all ranks; ending the job"));
            self.end(status, GRACE);
            return Ok(());
        }
        if !aborted.is_empty() {
            self.output.say(&format!("{by_name} has aborted {} too; the others go on", rank_list(&aborted)));
            self.job.member_mut(by).unwanted = true;
        }
        aborted.into_iter().for_each(|rank| self.end_rank(rank));
        Ok(())
    }

    /// Ends the job together with the process that `--end-with` names.
    pub(super) fn handle_end_with(&mut self) {
        let Some(end_with) = self.end_with.take() else { return };
        if !self.ending {
            let pid = end_with.pid;
            self.output.say(&format!("process {pid} of --end-with has ended; ending the job"));
            self.end(128 + Signal::TERM.as_raw() as u8, GRACE);
        }
        end_with.close(&self.events);
    }

    /// Ends every process that still runs. The first status that was set stays.
    pub(super) fn end(&mut self, status: u8, grace: Duration) {
        self.status.get_or_insert(status);
        if !self.ending {
            self.compare_clocks_again();
            if status != 0 {
                debugger::report_abort(self.output.last_message());
            }
        }
        self.ending = true;
        self.tell_all(&Order::End { grace_ms: grace.as_millis() as u32 });
    }
}
