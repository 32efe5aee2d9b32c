//! What ends a job early: signals to the launcher, the time limit, ranks that hang up; and the end itself.
//!
//! Owns these reactions of the launcher. Never ends a process itself: the keeper does.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::failure::{SignalName, rank_list};
use super::input::Input;
use super::keeper::ToKeeper;
use super::launcher::{GRACE, KEEPER_PATIENCE, Launcher};
use super::query::{JobReport, Queries};

/// Exit status after `--timeout`.
const TIMED_OUT: u8 = 124;

impl Launcher {
    pub(super) fn handle_signals(&mut self) {
        for signal in self.signals.pending() {
            match signal {
                Signal::TSTP => {
                    self.tell_keeper(&ToKeeper::Signal { signal: signal.as_raw() }, &[]);
                    // The launcher stops like any program; the keeper does not, and watches.
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                }
                Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT => self.pass_on(signal),
                _ => self.tell_keeper(&ToKeeper::Signal { signal: signal.as_raw() }, &[]),
            }
        }
    }

    /// Passes on a signal that usually ends a program. The second one ends the job by force.
    pub(super) fn pass_on(&mut self, signal: Signal) {
        let number = signal.as_raw() as u8;
        let status = 128 + number;
        let all_started = self.job.members().iter().all(|member| member.pid.is_some());
        if self.passed_on.is_some() || self.ending_until.is_some() {
            if self.ending_until.is_none() {
                self.output.say(&format!("{} again; killing the job", SignalName(number)));
            }
            self.end(status, Duration::ZERO);
        } else if all_started {
            self.passed_on = Some(number);
            self.tell_keeper(&ToKeeper::Signal { signal: signal.as_raw() }, &[]);
        } else {
            self.output.say(&format!("ended by {}", SignalName(number)));
            self.end(status, GRACE);
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let running = self.timeout_at.filter(|_| self.ending_until.is_none());
        let input = self.input.as_ref().and_then(Input::deadline);
        let closed = self.closed.iter().map(|&(_, at)| at).min();
        let queries = self.queries.as_ref().and_then(Queries::deadline);
        let all = [running, self.ending_until, self.output.deadline(), input, closed, queries];
        all.into_iter().flatten().min()
    }

    pub(super) fn check_deadlines(&mut self) {
        let now = Instant::now();
        if let Some(input) = &mut self.input {
            input.look(now, &self.events);
        }
        if let Some(queries) = &mut self.queries {
            let report = |counting: &_| JobReport::new(&self.plan, &self.job, self.started, counting);
            queries.look(now, &self.job, report, &self.events);
        }
        while let Some(index) = self.closed.iter().position(|&(_, at)| now >= at) {
            let (rank, _) = self.closed.swap_remove(index);
            self.broke_rules(rank, "closed its socket to the launcher without finalising".into());
        }
        match self.ending_until {
            None if self.timeout_at.is_some_and(|at| now >= at) => self.time_out(),
            Some(until) if now >= until && !self.over => self.keeper_died(),
            _ => {}
        }
    }

    pub(super) fn time_out(&mut self) {
        let running = self.job.running();
        let doing = running.iter().map(|&rank| (rank, &self.job.member(rank).doing));
        let doing = doing.filter(|(_, what)| !what.is_empty()).take(8);
        let doing: String = doing.map(|(rank, what)| format!("\n  rank {rank} while {what}")).collect();
        let seconds = self.started.elapsed().as_secs_f64();
        let text = format!(
            "the time limit was reached after {seconds:.1} s with {} still running; ending the job{doing}",
            rank_list(&running)
        );
        self.output.say(&text);
        self.status = Some(TIMED_OUT);
        self.end(TIMED_OUT, GRACE);
    }

    /// Ends whatever still runs. The first status that was set stays.
    pub(super) fn end(&mut self, status: u8, grace: Duration) {
        self.status.get_or_insert(status);
        self.ending_until = Some(Instant::now() + grace + KEEPER_PATIENCE);
        self.tell_keeper(&ToKeeper::End { grace_ms: grace.as_millis() as u32 }, &[]);
    }
}
