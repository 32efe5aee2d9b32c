//! The ranks of one host: their supervisor, sockets, output, input and shared memory.
//!
//! Owns every descriptor and process there. Reports events as [`Report`]s and obeys [`Order`]s. The job
//! decides on failures and knows the ranks of other hosts. It runs inside the launcher if the job has no
//! other host, else inside each host's agent. Never waits for a rank, nor for the launcher that takes the
//! reports.

mod adopted;
mod control_channel;
mod counting;
mod feed;
mod introductions;
mod joined;
mod lanes;
mod local_ranks;
mod orders;
mod outside;
mod pipes;
mod ranks;
mod released;
mod running_at;
mod shared_regions;
mod starting;
mod traces;

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_control::{FromLauncher, JobInfo, RankSet, SEND_AGAIN, Socket};
use canele_secure::BeatKey;
use canele_sys::clock;
use rustix::process::Signal;

use super::events::{Events, Ready, Source};
use super::plan::Plan;
use super::supervisor::ToSupervisor;
use super::supervisor_handle::{self, SupervisorHandle};
use crate::foreign::Watch;
use crate::installation;
pub(crate) use adopted::Adopted;
use control_channel::ControlChannel;
use counting::Counting;
pub use feed::ROOM as FEED_ROOM;
use feed::{Fed, Feed};
use joined::Starters;
use lanes::Lanes;
use local_ranks::LocalRanks;
pub use orders::{Counts, Order, Report};
pub use outside::{CodePlace, ProcessState};
pub use pipes::Pipes;
use traces::TraceTelling;

/// The launcher's own streams that ranks read and write.
#[derive(Debug, Default)]
pub struct Own {
    /// Standard input of the one rank that gets it; without it, orders feed those ranks.
    pub input: Option<OwnedFd>,
    /// Standard output and error of all ranks; without them, output is reported.
    pub output: [Option<OwnedFd>; 2],
}

/// The ranks of one host.
#[derive(Debug)]
pub struct HostRanks {
    plan: Plan,
    /// The plans of ranks that were spawned later.
    spawned: Vec<Plan>,
    supervisor: SupervisorHandle,
    /// Ranks that were not started here.
    adopted: Vec<Adopted>,
    /// The processes that have started adopted ranks.
    starters: Starters,
    /// True once adopted ranks may end.
    over_reported: bool,
    own: Own,
    pipes: Pipes,
    feed: Option<Feed>,
    local_ranks: LocalRanks,
    /// The channels of started ranks, in the order of their places.
    channels: Vec<ControlChannel>,
    lanes: Lanes,
    /// Ranks that must not be started because they would use another MPI, with the reasons.
    refused: Vec<(RankSet, String)>,
    /// Watches ranks that have not joined yet, which may use another MPI.
    watch: Watch,
    /// True while the start of a rank is under way.
    starting: bool,
    /// Ranks whose control socket closed before they finalised, and the deadlines for their ends.
    closed: Vec<(u32, Instant)>,
    countings: Vec<Counting>,
    /// The deadline for the supervisor to end everything; set once the host is ending.
    ending_until: Option<Instant>,
    /// The deadline for ranks that were not started here to end by themselves; set together with
    /// `ending_until`.
    grace_until: Option<Instant>,
    /// The processes that remained when the supervisor ended.
    left: Option<Vec<u32>>,
    reports: Vec<Report>,
    /// True while messages of ranks are not read.
    reading_paused: bool,
    /// True while messages wait until descriptors under way have been received.
    held_back: bool,
    /// The state of reporting the ranks' recorded events, after all processes have ended.
    telling: Option<TraceTelling>,
    over: bool,
}

impl HostRanks {
    /// Starts the supervisor and, one after the other, the ranks. They find the MPI library of this host's
    /// installation first, even if they were built with another one.
    ///
    /// # Errors
    /// Fails with any error of the system, most likely for lack of descriptors.
    pub fn start(plan: Plan, info: JobInfo, own: Own, events: &Events) -> io::Result<HostRanks> {
        let mut host_ranks = HostRanks::new(plan, info, own, events)?;
        host_ranks.refused = host_ranks.plan.refusals(host_ranks.local_ranks.info.ranks());
        match host_ranks.refused.first().and_then(|(ranks, why)| Some((ranks.first()?, why.clone()))) {
            // The job ends; no part of it must have run.
            Some((rank, why)) => host_ranks.report_not_started(rank, why),
            None => host_ranks.start_next(events),
        }
        Ok(host_ranks)
    }

    /// Begins with one rank, which runs already: the process `pid`, the parent of this process, at the other
    /// end of a socket.
    ///
    /// # Errors
    /// Fails as [`start`](Self::start) does, or if that process has ended.
    pub fn adopt(
        plan: Plan,
        info: JobInfo,
        (pid, socket): (u32, Socket),
        events: &Events,
    ) -> io::Result<HostRanks> {
        let mut host_ranks = HostRanks::new(plan, info, Own::default(), events)?;
        host_ranks.adopted.push(Adopted::parent(pid, events)?);
        host_ranks.channels.push(ControlChannel::new(Source::Rank(0), socket, events)?);
        host_ranks.report_started(0, pid);
        Ok(host_ranks)
    }

    fn new(mut plan: Plan, info: JobInfo, own: Own, events: &Events) -> io::Result<HostRanks> {
        installation::add_library_path(&mut plan.environment);
        let local_ranks = LocalRanks::new(info, plan.here.clone())?;
        let supervisor = SupervisorHandle::start(&plan, events)?;
        Ok(HostRanks {
            local_ranks,
            pipes: Pipes::new(plan.here.first().unwrap_or_default()),
            plan,
            spawned: Vec::new(),
            supervisor,
            adopted: Vec::new(),
            starters: Starters::default(),
            over_reported: false,
            own,
            feed: None,
            channels: Vec::new(),
            lanes: Lanes::default(),
            refused: Vec::new(),
            watch: Watch::default(),
            starting: false,
            closed: Vec::new(),
            countings: Vec::new(),
            ending_until: None,
            grace_until: None,
            left: None,
            reports: Vec::new(),
            reading_paused: false,
            held_back: false,
            telling: None,
            over: false,
        })
    }

    /// Takes the reports since the last call, in order.
    pub fn take_reports(&mut self) -> Vec<Report> {
        self.collect_prints();
        self.tell_events();
        std::mem::take(&mut self.reports)
    }

    /// Collects prints, so that they are reported in their order with the other events of a rank.
    fn collect_prints(&mut self) {
        for print in self.pipes.take() {
            self.reports.push(Report::Printed { rank: print.from, stream: print.stream, bytes: print.bytes });
        }
    }

    /// Pauses reading messages of ranks while the launcher does not keep up with the reports, or resumes it.
    pub fn set_reading_paused(&mut self, reading_paused: bool) {
        self.reading_paused = reading_paused;
    }

    /// Makes the supervisor send beats on `stream` at this interval while this process, which writes the
    /// stream, is stopped.
    pub fn start_beats(&self, stream: BorrowedFd<'_>, key: BeatKey, every: Duration) {
        let every_ms = every.as_millis() as u32;
        self.supervisor.send(&ToSupervisor::StartBeats { number: 0, every_ms, key }, &[stream]);
    }

    /// Returns true for a rank of this host.
    pub fn has(&self, rank: u32) -> bool {
        self.local_ranks.has(rank)
    }

    /// Returns true if the host has reported its end.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Handles a descriptor that is ready.
    pub fn handle(&mut self, source: Source, ready: Ready, events: &Events) {
        match source {
            Source::Supervisor => self.handle_supervisor(events),
            Source::Rank(rank) if ready.intersects(Ready::IN | Ready::HUP | Ready::ERR) => {
                self.read_rank(rank, ranks::AT_A_TIME, events);
            }
            Source::Lane(index) if ready.intersects(Ready::IN | Ready::HUP | Ready::ERR) => {
                self.read_lane(index, ranks::AT_A_TIME, events);
            }
            Source::Printed(rank, stream) => self.pipes.read(rank, stream),
            Source::Adopted(rank) => self.handle_adopted_exit(rank, events),
            Source::Starter(index) => self.starters.handle_end(index, Instant::now(), events),
            Source::Feed => self.write_feed(events),
            _ => {}
        }
    }

    /// Obeys an order.
    pub fn obey(&mut self, order: Order, events: &Events) {
        match order {
            Order::Tell { rank, message } => {
                self.over_reported |= message == FromLauncher::Over;
                self.lanes.tell(rank, &message);
                if let Some(channel) = self.channel_mut(rank) {
                    channel.push(message, Vec::new());
                }
            }
            Order::TellLane { rank, number, message } => self.lanes.tell_one((rank, number), message),
            Order::Kill { rank } => self.kill(rank, events),
            Order::Admit { ranks } => self.admit(ranks),
            Order::Spawn { world, plans } => self.spawn(world, plans, events),
            Order::Signal { signal } => self.signal(signal),
            Order::End { grace_ms } => self.end(grace_ms),
            Order::Room { stream, bytes } => self.pipes.give_room(stream, bytes),
            Order::Shut { stream } => self.pipes.shut(stream),
            Order::Feed { bytes } => {
                if let Some(feed) = &mut self.feed {
                    feed.add(&bytes);
                    self.write_feed(events);
                }
            }
            Order::TellClock { asked_ns } => {
                self.reports.push(Report::Clock { asked_ns, at_ns: clock::monotonic_ns() });
            }
            Order::Count { question, timeout_ms, has_places } => {
                self.local_ranks.ask_for_links();
                self.lanes.each(LocalRanks::ask_for_links);
                self.post();
                let until = Instant::now() + Duration::from_millis(timeout_ms.into());
                let ranks = (&self.local_ranks, self.lanes.all());
                self.countings.push(Counting::start(question, has_places, ranks, until));
            }
        }
    }

    /// Passes a signal on to all ranks. A program that was started alone is not signalled here: it is in the
    /// process group of its launcher, so a terminal signals both.
    fn signal(&mut self, signal: i32) {
        self.supervisor.send(&ToSupervisor::Signal { signal }, &[]);
        if self.local_ranks.info.joined
            && let Some(signal) = Signal::from_named_raw(signal)
        {
            self.signal_adopted(signal);
        }
    }

    fn end(&mut self, grace_ms: u32) {
        if self.telling.is_some() {
            // After a second order to end, the host waits for nothing.
            return self.stop_telling();
        }
        self.signal_adopted(if grace_ms > 0 { Signal::TERM } else { Signal::KILL });
        let grace = Duration::from_millis(grace_ms.into());
        self.grace_until = Some(Instant::now() + grace);
        self.ending_until = Some(Instant::now() + grace + supervisor_handle::ENDING_TIMEOUT);
        self.supervisor.send(&ToSupervisor::End { grace_ms }, &[]);
    }

    fn write_feed(&mut self, events: &Events) {
        let Some(feed) = &mut self.feed else { return };
        match feed.write(events) {
            Fed::Bytes(0) => {}
            Fed::Bytes(count) => self.reports.push(Report::Fed { bytes: count as u32 }),
            Fed::Over => {
                self.feed = None;
                self.reports.push(Report::Full);
            }
        }
    }

    // ---- time -----------------------------------------------------------------------------------------

    /// Returns the next time at which [`check`](Self::check) has work.
    pub fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let closed = self.closed.iter().map(|&(_, at)| at).min();
        let counting = self.countings.iter().map(|counting| counting.next_look(now)).min();
        let held_back = self.held_back.then(|| now + SEND_AGAIN);
        let telling = (self.telling.is_some() && !self.reading_paused).then_some(now);
        let ending = self.ending_until.filter(|_| !self.over);
        let grace = self.grace_until.filter(|_| self.left.is_some() && !self.over);
        let watch = self.watch.deadline().filter(|_| self.ending_until.is_none());
        let all = [
            watch,
            ending,
            grace,
            self.starters.deadline(),
            self.pipes.deadline(),
            closed,
            counting,
            held_back,
            telling,
        ];
        all.into_iter().flatten().min()
    }

    /// Handles deadlines that have passed.
    pub fn check(&mut self, now: Instant, events: &Events) {
        self.pipes.look(now);
        self.look_for_foreign(now);
        while let Some(index) = self.closed.iter().position(|&(_, at)| now >= at) {
            let (rank, _) = self.closed.swap_remove(index);
            self.broke_rules(rank, "closed its socket to the launcher without finalising".into(), events);
        }
        let (local_ranks, reports) = ((&self.local_ranks, self.lanes.all()), &mut self.reports);
        self.countings.retain(|counting| {
            let over = counting.is_over(local_ranks, now);
            if over {
                let (question, counts) = (counting.question, counting.counts(local_ranks));
                reports.push(Report::Counted { question, counts });
            }
            !over
        });
        self.end_orphans(now, events);
        self.finish_once_ended(now);
        if self.ending_until.is_some_and(|until| now >= until) && !self.over {
            self.take_over();
        }
    }

    /// Sends ranks their messages, and pauses or resumes reading their output. Called after everything else.
    pub fn flush(&mut self, events: &Events) {
        self.held_back = false;
        for (channel, local_rank) in self.channels.iter_mut().zip(self.local_ranks.all()) {
            self.held_back |= channel.flush(local_rank.notifier(), self.reading_paused, events);
        }
        self.held_back |= self.lanes.flush(self.reading_paused, events);
        self.pipes.watch(events);
    }
}
