//! The ranks of one host: their supervisor, sockets, output, input and shared memory.
//!
//! Owns all that has a descriptor or a process there. Says what happens as [`Report`]s and does what [`Order`]s say; what
//! a failure means, and what ranks of other hosts do, is the job's business. It runs inside the launcher if the job has no
//! other host, else inside each host's agent. Never waits for a rank, nor for whoever takes the reports.

mod control_channel;
mod counting;
mod feed;
mod local_ranks;
mod orders;
mod pipes;
mod ranks;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_control::{JobInfo, SEND_AGAIN, Socket};

use super::events::{Events, Ready, Source, Stream};
use super::plan::Plan;
use super::supervisor::{FromSupervisor, ToSupervisor};
use super::supervisor_handle::{self, SupervisorHandle};
use crate::installation;
use control_channel::ControlChannel;
use counting::Counting;
pub use counting::PATIENCE as COUNTING_PATIENCE;
pub use feed::ROOM as FEED_ROOM;
use feed::{Fed, Feed};
use local_ranks::LocalRanks;
pub use orders::{Counts, Order, Report};
pub use pipes::Pipes;

/// What rank 0 reads and all ranks write, where it is the launcher's own.
#[derive(Debug, Default)]
pub struct Own {
    /// Standard input of rank 0; without it, it is fed by orders.
    pub input: Option<OwnedFd>,
    /// Standard output and error of all ranks; without, they are reported.
    pub output: [Option<OwnedFd>; 2],
}

/// The ranks of one host.
#[derive(Debug)]
pub struct HostRanks {
    plan: Plan,
    supervisor: SupervisorHandle,
    own: Own,
    pipes: Pipes,
    feed: Option<Feed>,
    local_ranks: LocalRanks,
    /// Of the ranks that were started, in order.
    channels: Vec<ControlChannel>,
    /// Ranks whose control socket closed before they finalised, and when they must have ended.
    closed: Vec<(u32, Instant)>,
    countings: Vec<Counting>,
    /// When the supervisor must have ended everything; set once the host is ending.
    ending_until: Option<Instant>,
    reports: Vec<Report>,
    /// Ranks are not listened to for the moment.
    reading_paused: bool,
    /// Messages wait until descriptors that are under way have been received.
    held_back: bool,
    over: bool,
}

impl HostRanks {
    /// Starts the supervisor and, one after the other, the ranks. They find the MPI library of this host's installation first,
    /// whatever library they were built with.
    ///
    /// # Errors
    /// Whatever the system refuses, most likely descriptors.
    pub fn start(mut plan: Plan, info: JobInfo, own: Own, events: &Events) -> io::Result<HostRanks> {
        installation::add_library_path(&mut plan.environment);
        let local_ranks = LocalRanks::new(info, plan.ranks())?;
        let supervisor = SupervisorHandle::start(&plan, events)?;
        let mut host_ranks = HostRanks {
            local_ranks,
            pipes: Pipes::new(plan.first),
            plan,
            supervisor,
            own,
            feed: None,
            channels: Vec::new(),
            closed: Vec::new(),
            countings: Vec::new(),
            ending_until: None,
            reports: Vec::new(),
            reading_paused: false,
            held_back: false,
            over: false,
        };
        host_ranks.start_next(events);
        Ok(host_ranks)
    }

    /// What happened since the last call, in order.
    pub fn take_reports(&mut self) -> Vec<Report> {
        self.collect_prints();
        std::mem::take(&mut self.reports)
    }

    /// Prints are reported in their order with everything else a rank does.
    fn collect_prints(&mut self) {
        for print in self.pipes.take() {
            self.reports.push(Report::Printed { rank: print.from, stream: print.stream, bytes: print.bytes });
        }
    }

    /// Listens to ranks or not, because whoever takes the reports does not keep up.
    pub fn set_reading_paused(&mut self, reading_paused: bool) {
        self.reading_paused = reading_paused;
    }

    /// Has the supervisor say on `stream`, which this process writes, that this process lives, as often as asked, while it is
    /// stopped.
    pub fn start_beats(&self, stream: BorrowedFd<'_>, every: Duration) {
        let every_ms = every.as_millis() as u32;
        self.supervisor.send(&ToSupervisor::StartBeats { number: 0, every_ms }, &[stream]);
    }

    /// Whether it has said its last word.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Something is ready.
    pub fn handle(&mut self, source: Source, ready: Ready, events: &Events) {
        match source {
            Source::Supervisor => self.handle_supervisor(events),
            Source::Rank(rank) if ready.intersects(Ready::IN | Ready::HUP | Ready::ERR) => {
                self.read_rank(rank, ranks::AT_A_TIME, events);
            }
            Source::Printed(rank, stream) => self.pipes.read(rank, stream),
            Source::Feed => {
                let hung_up = ready.intersects(Ready::ERR);
                self.write_feed(hung_up, events);
            }
            _ => {}
        }
    }

    /// Does what it is told.
    pub fn obey(&mut self, order: Order, events: &Events) {
        match order {
            Order::Tell { rank, message } => {
                if let Some(channel) = self.channel_mut(rank) {
                    channel.push(message, Vec::new());
                }
            }
            Order::Kill { rank } => self.kill(rank, events),
            Order::Signal { signal } => self.supervisor.send(&ToSupervisor::Signal { signal }, &[]),
            Order::End { grace_ms } => self.end(grace_ms),
            Order::Room { stream, bytes } => self.pipes.give_room(stream, bytes),
            Order::Shut { stream } => self.pipes.shut(stream),
            Order::Feed { bytes } => {
                if let Some(feed) = &mut self.feed {
                    feed.add(&bytes);
                    self.write_feed(false, events);
                }
            }
            Order::Count { question } => {
                self.local_ranks.ask_for_links();
                self.post();
                self.countings.push(Counting::start(question, &self.local_ranks, Instant::now()));
            }
        }
    }

    fn end(&mut self, grace_ms: u32) {
        let grace = Duration::from_millis(grace_ms.into());
        self.ending_until = Some(Instant::now() + grace + supervisor_handle::PATIENCE);
        self.supervisor.send(&ToSupervisor::End { grace_ms }, &[]);
    }

    fn write_feed(&mut self, hung_up: bool, events: &Events) {
        let Some(mut feed) = self.feed.take() else { return };
        let fed = if hung_up { Fed::HungUp } else { feed.write(events) };
        match fed {
            Fed::Bytes(count) => {
                self.feed = Some(feed);
                if count > 0 {
                    self.reports.push(Report::Fed { bytes: count as u32 });
                }
            }
            Fed::All(_) | Fed::HungUp => {
                feed.close(events);
                self.reports.push(Report::Full);
            }
        }
    }

    // ---- starting -------------------------------------------------------------------------------------

    /// Starts the next rank, if one is left. One at a time: descriptors under way are bounded.
    fn start_next(&mut self, events: &Events) {
        let rank = self.plan.first + self.channels.len() as u32;
        if !self.plan.ranks().contains(&rank) || self.ending_until.is_some() {
            return;
        }
        if let Err(error) = self.start_rank(rank, events) {
            let name = self.plan.program(rank).command[0].to_string_lossy().into_owned();
            self.reports.push(Report::NotStarted { rank, status: 1, name, why: error.to_string() });
        }
    }

    fn start_rank(&mut self, rank: u32, events: &Events) -> io::Result<()> {
        let (own, its) = Socket::pair()?;
        let input = match (rank, self.own.input.take()) {
            (0, Some(input)) => input,
            (0, None) => {
                let (reader, feed) = Feed::open(events)?;
                self.feed = Some(feed);
                reader
            }
            _ => std::fs::File::open("/dev/null")?.into(),
        };
        let mut print = |stream: Stream| match &self.own.output[stream as usize] {
            Some(output) => output.try_clone(),
            None => self.pipes.open(rank, stream, events),
        };
        let (output, error) = (print(Stream::Out)?, print(Stream::Error)?);
        self.channels.push(ControlChannel::new(rank, own, events)?);
        self.supervisor.send(
            &ToSupervisor::Start { number: rank },
            &[input.as_fd(), output.as_fd(), error.as_fd(), its.as_fd()],
        );
        Ok(())
    }

    // ---- the supervisor -----------------------------------------------------------------------------------

    fn handle_supervisor(&mut self, events: &Events) {
        while !self.over {
            match self.supervisor.try_receive() {
                Ok(None) => return,
                Ok(Some(FromSupervisor::Started { number: rank, pid })) => {
                    self.reports.push(Report::Started { rank, pid });
                    self.start_next(events);
                }
                Ok(Some(FromSupervisor::NotStarted { number: rank, errno, reason })) => {
                    self.reports.push(self.plan.not_started(rank, errno, &reason));
                }
                Ok(Some(FromSupervisor::Exited { number: rank, exit })) => {
                    self.handle_exit(rank, exit, events)
                }
                Ok(Some(FromSupervisor::Empty { left })) => {
                    self.supervisor.collect();
                    self.finish(left);
                }
                Err(supervisor_handle::Died) => self.take_over(),
            }
        }
    }

    /// Nobody else is left to end the processes below: does it here.
    fn take_over(&mut self) {
        self.reports.push(Report::SupervisorDied { pid: self.supervisor.pid() });
        let left = self.supervisor.take_over();
        self.finish(left);
    }

    fn finish(&mut self, left: Vec<u32>) {
        self.pipes.finish();
        self.collect_prints();
        self.reports.push(Report::Empty { left });
        self.over = true;
    }

    // ---- time -----------------------------------------------------------------------------------------

    /// When [`check`](Self::check) next has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        let now = Instant::now();
        let closed = self.closed.iter().map(|&(_, at)| at).min();
        let counting = self.countings.iter().map(|counting| counting.next_look(now)).min();
        let held_back = self.held_back.then(|| now + SEND_AGAIN);
        [self.ending_until.filter(|_| !self.over), self.pipes.deadline(), closed, counting, held_back]
            .into_iter()
            .flatten()
            .min()
    }

    /// Does what is due.
    pub fn check(&mut self, now: Instant, events: &Events) {
        self.pipes.look(now);
        while let Some(index) = self.closed.iter().position(|&(_, at)| now >= at) {
            let (rank, _) = self.closed.swap_remove(index);
            self.broke_rules(rank, "closed its socket to the launcher without finalising".into(), events);
        }
        let (local_ranks, reports, first) = (&self.local_ranks, &mut self.reports, self.plan.first);
        self.countings.retain(|counting| {
            let over = counting.is_over(local_ranks, now);
            if over {
                let (question, counts) = (counting.question, counting.counts(local_ranks));
                reports.push(Report::Counted { question, first, counts });
            }
            !over
        });
        if self.ending_until.is_some_and(|until| now >= until) && !self.over {
            self.take_over();
        }
    }

    /// Sends ranks what waits for them, and reads or does not read what they print. To be called after everything else.
    pub fn flush(&mut self, events: &Events) {
        self.held_back = false;
        for (channel, local_rank) in self.channels.iter_mut().zip(self.local_ranks.all()) {
            self.held_back |= channel.flush(local_rank.notifier(), self.reading_paused, events);
        }
        self.pipes.watch(events);
    }
}
