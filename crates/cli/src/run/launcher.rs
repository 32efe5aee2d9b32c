//! The launcher's loop: waits for whatever happens next in the job and reacts to it.
//!
//! Owns the order of things: starting ranks one after the other, their messages, what a failure does (signals,
//! the time limit and the end are in `ending`). Never waits for a rank, nor for whoever reads its output. The keeper does what concerns processes.

use std::io;
use std::os::fd::AsFd;
use std::process::Child;
use std::time::{Duration, Instant};

use canele_engine::control::{JobInfo, OnFailure, ReceiveError, Socket};
use rustix::event::{PollFd, PollFlags, poll};

use super::descendants;
use super::events::{Events, Ready, Source, Stream};
use super::failure::{Exit, Failure, SignalName};
use super::input::Input;
use super::job::{Cut, Job};
use super::keeper::{FromKeeper, ToKeeper};
use super::output::Output;
use super::plan::Plan;
use super::query::Queries;
use super::signals::Signals;
use super::wire::Wire;

/// How long processes have to react to SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(500);
/// How much longer the keeper may take before the launcher does its work.
pub(super) const KEEPER_PATIENCE: Duration = Duration::from_secs(3);
/// How long a rank may live on after its control socket has closed without its having finalised.
const CLOSED_PATIENCE: Duration = Duration::from_secs(1);
/// Messages of one rank handled in a row.
const AT_A_TIME: u32 = 64;
/// The same after its end: more than its socket can hold.
const LAST_WORDS: u32 = 4096;

/// What the command line says about the launcher itself.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Start lines of output with their rank.
    pub label: bool,
    /// End the job after this time.
    pub timeout: Option<Duration>,
}

/// The launcher of one job.
pub struct Launcher {
    pub(super) info: JobInfo,
    pub(super) plan: Plan,
    pub(super) started: Instant,
    pub(super) timeout_at: Option<Instant>,
    pub(super) events: Events,
    pub(super) keeper: Socket,
    pub(super) keeper_process: Child,
    pub(super) signals: Signals,
    pub(super) queries: Option<Queries>,
    pub(super) output: Output,
    pub(super) input: Option<Input>,
    pub(super) job: Job,
    pub(super) wires: Vec<Wire>,
    /// Ranks whose control socket closed before they finalised, and when.
    pub(super) closed: Vec<(u32, Instant)>,
    /// The first failure decides.
    pub(super) status: Option<u8>,
    /// The last signal passed on that usually ends a program.
    pub(super) passed_on: Option<u8>,
    /// When the keeper must have ended everything; set once the job is ending.
    pub(super) ending_until: Option<Instant>,
    pub(super) over: bool,
}

impl Launcher {
    /// A launcher that has started nothing yet but its keeper.
    ///
    /// # Errors
    /// Whatever the system refuses, most likely descriptors.
    pub fn new(
        plan: Plan,
        info: JobInfo,
        settings: Settings,
        keeper: Socket,
        keeper_process: Child,
    ) -> io::Result<Launcher> {
        let events = Events::new()?;
        events.add(&keeper, Source::Keeper, Ready::IN)?;
        let signals = Signals::new(&events)?;
        keeper.try_send(&ToKeeper::Begin, &[plan.write()?.as_fd()]).map_err(io::Error::other)?;
        let mut output = Output::new(settings.label);
        let queries = Queries::listen(&events);
        if let Err(error) = &queries {
            output.say(&format!("this job cannot be asked about with `canele info --job`: {error}"));
        }
        let started = Instant::now();
        let mut launcher = Launcher {
            job: Job::new(info.clone()),
            plan,
            timeout_at: settings.timeout.and_then(|after| started.checked_add(after)),
            queries: queries.ok(),
            started,
            info,
            events,
            keeper,
            keeper_process,
            signals,
            output,
            input: None,
            wires: Vec::new(),
            closed: Vec::new(),
            status: None,
            passed_on: None,
            ending_until: None,
            over: false,
        };
        launcher.start_next();
        Ok(launcher)
    }

    /// Runs the job to its end. Answers the exit status.
    pub fn run(mut self) -> u8 {
        while !self.over {
            for (source, ready) in self.events.wait(self.deadline()) {
                self.handle(source, ready);
            }
            self.check_deadlines();
            self.deliver();
            self.output.flush(&self.events);
        }
        // The keeper has said its last word, or is dead.
        let _ = self.keeper_process.wait();
        self.output.finish();
        self.status.unwrap_or(0)
    }

    fn handle(&mut self, source: Source, ready: Ready) {
        match source {
            Source::Keeper => self.handle_keeper(),
            Source::Signals => self.handle_signals(),
            Source::Rank(rank) => {
                if ready.intersects(Ready::IN | Ready::HUP | Ready::ERR) {
                    self.handle_rank(rank, AT_A_TIME);
                }
            }
            Source::Printed(rank, stream) => self.output.read(rank, stream),
            // Writing follows in any case.
            Source::Sink(_) => {}
            Source::Terminal | Source::Feed => {
                if let Some(mut input) = self.input.take() {
                    let hung_up = ready.intersects(Ready::ERR) && source == Source::Feed;
                    let goes_on = !hung_up
                        && if source == Source::Terminal {
                            input.read(&self.events)
                        } else {
                            input.write(&self.events)
                        };
                    if goes_on {
                        self.input = Some(input);
                    } else {
                        input.close(&self.events);
                    }
                }
            }
            Source::Listener => {
                if let Some(queries) = &mut self.queries {
                    queries.accept(&self.job);
                }
            }
            Source::Answer(index) => {
                if let Some(queries) = &mut self.queries {
                    queries.write(index, &self.events);
                }
            }
        }
    }

    // ---- starting -------------------------------------------------------------------------------------

    /// Starts the next rank, if one is left. One at a time: descriptors under way are bounded.
    fn start_next(&mut self) {
        let rank = self.wires.len() as u32;
        if rank == self.info.size || self.ending_until.is_some() {
            return;
        }
        if let Err(error) = self.start(rank) {
            self.output.say(&format!("cannot start rank {rank}: {error}; ending the job"));
            self.end(1, GRACE);
        }
    }

    fn start(&mut self, rank: u32) -> io::Result<()> {
        let (own, its) = Socket::pair()?;
        let input = if rank == 0 {
            let (reader, input) = Input::open(&self.events)?;
            self.input = input;
            reader
        } else {
            std::fs::File::open("/dev/null")?.into()
        };
        let output = self.output.open(rank, Stream::Out, &self.events)?;
        let error = self.output.open(rank, Stream::Error, &self.events)?;
        self.wires.push(Wire::new(rank, own, &self.events)?);
        self.tell_keeper(
            &ToKeeper::Start { rank },
            &[its.as_fd(), input.as_fd(), output.as_fd(), error.as_fd()],
        );
        Ok(())
    }

    fn not_started(&mut self, rank: u32, errno: i32, reason: &str) {
        let error = io::Error::from_raw_os_error(errno);
        let name = self.plan.program(rank).command[0].to_string_lossy().into_owned();
        let directory = self.plan.directory.clone().unwrap_or_default();
        let (status, why) = match error.kind() {
            io::ErrorKind::NotFound if name.contains('/') && directory.join(&name).exists() => {
                (127, "the file is there, but not the interpreter it names")
            }
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => (127, "not found"),
            io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory => (126, "not executable"),
            _ if errno == rustix::io::Errno::NOEXEC.raw_os_error() => (126, "not executable"),
            _ => (1, "the system refused"),
        };
        self.output.say(&format!("cannot start {name} as rank {rank}: {why} ({reason})"));
        self.end(status, GRACE);
    }

    // ---- the keeper -----------------------------------------------------------------------------------

    pub(super) fn tell_keeper(&mut self, message: &ToKeeper, descriptors: &[std::os::fd::BorrowedFd]) {
        // At most a few messages are ever under way, so it is not full for long; if the keeper is gone, its
        // socket says so next.
        while let Err(canele_engine::control::SendError::Full) = self.keeper.try_send(message, descriptors) {
            let _ = poll(&mut [PollFd::new(&self.keeper, PollFlags::OUT)], None);
        }
    }

    fn handle_keeper(&mut self) {
        while !self.over {
            match self.keeper.try_receive::<FromKeeper>() {
                Ok(None) => return,
                Ok(Some((FromKeeper::Started { rank, pid }, _))) => {
                    self.job.member_mut(rank).pid = Some(pid);
                    self.start_next();
                }
                Ok(Some((FromKeeper::NotStarted { rank, errno, reason }, _))) => {
                    self.not_started(rank, errno, &reason);
                }
                Ok(Some((FromKeeper::Exited { rank, exit }, _))) => self.handle_exit(rank, exit),
                Ok(Some((FromKeeper::Empty { left }, _))) => {
                    self.say_left(&left);
                    self.over = true;
                }
                Err(_) => self.keeper_died(),
            }
        }
    }

    /// Nobody else is left to end the processes below: does it here.
    pub(super) fn keeper_died(&mut self) {
        let pid = self.keeper_process.id();
        let since = descendants::started(pid);
        // It may be hung rather than dead.
        let _ = self.keeper_process.kill();
        let _ = self.keeper_process.wait();
        if self.status.is_none() {
            self.output.say(&format!("the job's keeper (process {pid}) was killed; ending the job"));
            self.status = Some(1);
        }
        let left = descendants::kill_all(since, KEEPER_PATIENCE);
        let left: Vec<u32> = left.iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect();
        self.say_left(&left);
        self.over = true;
    }

    fn say_left(&mut self, left: &[u32]) {
        for pid in left {
            self.output.say(&format!("process {pid} could not be ended"));
        }
    }

    // ---- ranks ----------------------------------------------------------------------------------------

    /// Handles up to `limit` messages, so that one rank cannot keep the launcher from the others.
    fn handle_rank(&mut self, rank: u32, limit: u32) {
        self.read_rank(rank, limit);
        while let Some(cut) = self.job.take_cut() {
            if self.ending_until.is_none() {
                self.handle_cut(&cut);
            }
        }
    }

    fn read_rank(&mut self, rank: u32, limit: u32) {
        let Some(wire) = self.wires.get_mut(rank as usize) else { return };
        for _ in 0..limit {
            if !wire.listens() {
                return;
            }
            match wire.receive(&self.events) {
                Ok(None) => return,
                Ok(Some((message, descriptor))) => {
                    if let Err(text) = self.job.handle(rank, message, descriptor) {
                        return self.broke_rules(rank, text);
                    }
                }
                Err(ReceiveError::Malformed(text)) => {
                    return self.broke_rules(rank, format!("sent {text}"));
                }
                Err(ReceiveError::Closed | ReceiveError::System(_)) => {
                    let member = self.job.member(rank);
                    if member.initialised && !member.finished && member.exit.is_none() {
                        self.closed.push((rank, Instant::now() + CLOSED_PATIENCE));
                    }
                    return;
                }
            }
        }
    }

    /// Kills a rank that cannot be trusted; its exit then tells why.
    pub(super) fn broke_rules(&mut self, rank: u32, text: String) {
        self.job.member_mut(rank).broken.get_or_insert(text);
        self.wires[rank as usize].ignore(&self.events);
        self.tell_keeper(&ToKeeper::Kill { rank }, &[]);
    }

    fn handle_exit(&mut self, rank: u32, exit: Exit) {
        // What it said and printed before comes first (invariant I31).
        self.wires[rank as usize].mute();
        self.handle_rank(rank, LAST_WORDS);
        self.output.drain(rank);
        let was_doing = std::mem::take(&mut self.job.member_mut(rank).doing);
        let failure = self.job.handle_exit(rank, exit);
        self.closed.retain(|&(other, _)| other != rank);
        self.wires[rank as usize].close(&self.events);
        if let Some(failure) = failure
            && self.ending_until.is_none()
        {
            self.handle_failure(rank, &failure, &was_doing);
        }
        if self.ending_until.is_none() && self.job.running().is_empty() {
            self.end(0, GRACE);
        }
    }

    /// A rank's memory is corrupted, or its program: a failure of the job, though nobody has died.
    fn handle_cut(&mut self, cut: &Cut) {
        let stop = self.info.on_failure == OnFailure::Stop;
        let then = if stop { "ending the job" } else { "the others go on" };
        let Cut { by, of, what } = cut;
        self.output.say(&format!("rank {by} accepts nothing more from rank {of}: {what}; {then}"));
        self.status.get_or_insert(1);
        if stop {
            self.end(1, GRACE);
        }
    }

    fn handle_failure(&mut self, rank: u32, failure: &Failure, was_doing: &str) {
        let stop = self.info.on_failure == OnFailure::Stop;
        let expected = match failure {
            // Every rank got it; one message will do.
            Failure::Killed(signal) if self.passed_on == Some(*signal) => {
                stop.then(|| format!("ended by {}", SignalName(*signal)))
            }
            // As any program in a pipe whose reader has gone.
            Failure::Killed(13) if self.output.is_broken() => None,
            _ => {
                let doing = if was_doing.is_empty() { String::new() } else { format!(" while {was_doing}") };
                let then = if stop { "ending the job" } else { "the others go on" };
                Some(format!("rank {rank} {failure}{doing}; {then}"))
            }
        };
        if let Some(text) = expected {
            self.output.say(&text);
        }
        self.status.get_or_insert(failure.status());
        if stop {
            self.end(failure.status(), GRACE);
        }
    }

    fn deliver(&mut self) {
        for parcel in self.job.take_parcels() {
            self.wires[parcel.to as usize].push(parcel.message, parcel.descriptor);
        }
        for (wire, member) in self.wires.iter_mut().zip(self.job.members()) {
            wire.flush(member.doorbell(), &self.events);
        }
    }
}
