//! Handling of the hosts' reports by the launcher: ranks that start, send, print and exit, and hosts that are
//! lost.
//!
//! Owns the effect of each report; waits for none.

use canele_control::{OnFailure, ToLauncher};
use rustix::process::Signal;

use super::ending::Extent;
use super::failure::Exit;
use super::host_ranks::Report;
use super::launcher::{GRACE, Launcher, then};
use super::wording::rank_list;

impl Launcher {
    /// Handles the reports; returns true if there were any.
    pub(super) fn handle_reports(&mut self) -> bool {
        let reports = self.hosts.take_reports();
        let any = !reports.is_empty();
        for (host, report) in reports {
            self.handle_report(host, report);
        }
        any
    }

    fn handle_report(&mut self, host: usize, report: Report) {
        match report {
            Report::Started { rank, pid, executable } => {
                let member = self.job.member_mut(rank);
                (member.pid, member.executable) = (Some(pid), executable);
                self.show_if_complete(rank);
                self.compare_clock(host);
                self.handle_spawned(rank, None);
                if let Some(input) = self.input.as_mut().filter(|_| self.plan.input.has(rank)) {
                    input.rank_started();
                }
            }
            Report::NotStarted { rank, name, why, .. } if rank >= self.info().size => {
                let why = format!("cannot start {name}: {why}");
                self.job.member_mut(rank).unwanted = true;
                self.handle_exit(rank, Exit::Status(0));
                self.handle_spawned(rank, Some(why));
            }
            Report::NotStarted { rank, status, name, why } => {
                let text = format!("cannot start {name} as {}: {why}", self.name(rank));
                self.end_saying(&text, status);
            }
            Report::Said { rank, message } => self.handle_message(rank, message),
            Report::SaidOnLane { rank, number, message } => {
                let handled = self.job.handle_of_lane((rank, number), message);
                self.blame_if_failed(rank, handled);
            }
            Report::Broke { rank, how } => {
                self.job.member_mut(rank).broken.get_or_insert(how);
            }
            Report::Printed { rank, stream, bytes } => self.output.put(host, rank, stream, &bytes),
            Report::Fed { bytes } => {
                if let Some(input) = &mut self.input {
                    input.give_room(host, bytes);
                }
            }
            Report::Full => self.close_input_of(host),
            Report::Exited { rank, exit } => self.handle_exit(rank, exit),
            Report::Counted { question, counts } => {
                if let Some(queries) = &mut self.queries {
                    let info = self.job.info();
                    let ranks = info.ranks_on(host).filter(|rank| info.is_own(*rank));
                    queries.handle_counts(question, ranks, counts);
                }
            }
            Report::Clock { asked_ns, at_ns } => self.note_clock(host, asked_ns, at_ns),
            Report::Recorded { rank, records } => {
                if let Some(trace) = &mut self.trace {
                    trace.add(rank, &records);
                }
            }
            Report::RecordedAll { rank, missing } => {
                if let Some(trace) = &mut self.trace {
                    trace.add_missing(rank, missing);
                }
            }
            Report::SupervisorDied { pid } => self.supervisor_died(host, pid),
            Report::Failed { status, text } => {
                self.has_told_unjoined = true;
                self.end_saying(&text, status);
            }
            Report::Lost { why } => self.handle_lost(host, &why),
            Report::Remarked { bytes } => self.output.put_remark(host, &bytes),
            Report::Empty { left } => {
                for pid in left {
                    let host = self.on_host(host);
                    self.output.say(&format!("process {pid}{host} could not be ended"));
                }
                self.open[host] = false;
            }
        }
    }

    /// Prints the reason and ends the job. Later reasons are not printed, because several hosts may find the
    /// same problem.
    fn end_saying(&mut self, text: &str, status: u8) {
        if !self.ending {
            self.output.say(text);
            self.end(status, GRACE);
        }
    }

    /// Marks the ranks of a lost host: their ends are unknown and will not be reported.
    fn handle_lost(&mut self, host: usize, why: &str) {
        let lost = self.end_ranks_of(host, Exit::Lost);
        let name = self.info().hosts[host].name.clone();
        if self.ending && self.status == Some(0) {
            self.output.say(&format!("host {name} was lost while its last processes were ended: {why}"));
            self.status = Some(1);
        }
        let with = if lost.is_empty() { String::new() } else { format!(" with {}", rank_list(&lost)) };
        self.go_on_without(&lost, &format!("host {name} was lost{with}: {why}"));
    }

    /// Handles the death of a host's supervisor: the host then kills its ranks.
    fn supervisor_died(&mut self, host: usize, pid: u32) {
        let lost = self.end_ranks_of(host, Exit::Signal(Signal::KILL.as_raw() as u8));
        let on_host = self.on_host(host);
        let with = if lost.is_empty() { String::new() } else { format!(" with {}", rank_list(&lost)) };
        self.go_on_without(&lost, &format!("the job's supervisor (process {pid}{on_host}) was killed{with}"));
    }

    /// Handles two ranks that cannot reach each other, though the agents of both are alive. If a job goes on
    /// after failures, one of the two hosts must be given up. The choice does not depend on the rank that
    /// reports first: it is the host with fewer ranks, else the later one.
    ///
    /// # Errors
    /// Fails as [`Job::handle`](super::job::Job::handle) does.
    pub(super) fn handle_unreachable(&mut self, by: u32, of: u32, what: String) -> Result<(), String> {
        let info = self.job.info();
        let may_go_on = info.on_failure == OnFailure::Continue && of < info.ranks() && info.is_own(of);
        let hosts = [by, of].map(|rank| info.host_of(rank));
        if !may_go_on || hosts[0] == hosts[1] {
            return self.job.handle(by, ToLauncher::CutOff { peer: of, what });
        }
        let lives = |rank: &u32| {
            let member = self.job.member(*rank);
            info.is_own(*rank) && member.exit.is_none() && !member.unwanted
        };
        if self.ending || ![by, of].iter().all(lives) {
            return Ok(());
        }
        let living = hosts.map(|host| info.ranks_on(host).filter(lives).collect::<Vec<u32>>());
        let later = usize::from(hosts[1] > hosts[0]);
        let lost = if living[0].len() == living[1].len() {
            later
        } else {
            usize::from(living[1].len() < living[0].len())
        };
        let (host, ranks) = (hosts[lost], &living[lost]);
        let (list, name) = (rank_list(ranks), &info.hosts[host].name);
        let (by, of) = (self.name(by), self.name(of));
        self.output
            .say(&format!("{by} does not reach {of}: {what}; ending {list} on {name}, the others go on"));
        self.open[host] = false;
        self.status.get_or_insert(1);
        for &rank in ranks {
            self.end_rank(rank);
        }
        Ok(())
    }

    /// Marks all running ranks of a host as ended with this exit, and asks the host for nothing more. Returns
    /// these ranks.
    fn end_ranks_of(&mut self, host: usize, exit: Exit) -> Vec<u32> {
        self.open[host] = false;
        let info = self.job.info();
        let runs = |rank: &u32| info.is_own(*rank) && self.job.member(*rank).exit.is_none();
        let lost: Vec<u32> = info.ranks_on(host).filter(runs).collect();
        self.close_input_of(host);
        for &rank in &lost {
            self.close_ports_of(rank);
            self.job.handle_exit(rank, exit);
            self.handle_spawned(rank, Some("its host was lost".into()));
        }
        lost
    }

    /// Reports `what` has happened to a host that had the ranks `lost`. Ends the job or a part of it unless
    /// ranks of other hosts may go on.
    fn go_on_without(&mut self, lost: &[u32], what: &str) {
        let extent = match self.info().on_failure {
            _ if self.job.running().is_empty()
                || lost.is_empty() && self.info().on_failure == OnFailure::Stop =>
            {
                Some(Extent::Job)
            }
            OnFailure::Stop => Some(self.extent_of_failure(lost)),
            OnFailure::Continue => None,
        };
        if !self.ending {
            self.output.say(&format!("{what}; {}", then(extent.as_ref())));
        }
        self.status.get_or_insert(1);
        if let Some(extent) = extent.filter(|_| !self.ending) {
            self.end_extent(extent, 1);
        }
    }
}
