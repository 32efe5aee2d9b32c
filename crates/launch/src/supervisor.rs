//! The supervisor: the parent process of the ranks, or of the remote shells. It outlives all of them.
//!
//! Owns starting and reaping processes, sending them signals, and ending all of them on request or when the
//! launcher is gone. Never handles messages of ranks or output, and never decides about failures.

mod beats;
mod crowding;
mod messages;

pub use messages::{FromSupervisor, ToSupervisor};

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use canele_control::{ReceiveError, SendError, Socket, foreign_names, variable};
use canele_sys::affinity::ProcessorSet;
use canele_sys::signals;
use canele_sys::spawn::{Preparation, prepare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group, set_child_subreaper};

use super::binding::{ProcessorList, report_binding};
use super::descendants::{NoChildren, kill_all, reap, signal_all};
use super::failure::Exit;
use super::own_line::say_at_once;
use super::plan::Plan;
use beats::StarterBeats;
use crowding::Crowding;

/// The time for which the supervisor kills processes before it gives up those that cannot be killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// The time for which the supervisor kills processes if the launcher is gone: no process waits for the
/// result.
const KILL_TIMEOUT_WITHOUT_LAUNCHER: Duration = Duration::from_secs(60);

/// Runs the supervisor. Its standard input is the socket to the launcher.
///
/// # Errors
/// Fails if no launcher started this process.
pub fn supervise() -> io::Result<()> {
    Supervisor::new()?.run()
}

struct Supervisor {
    socket: Socket,
    /// A stream that becomes readable when a child has ended.
    children: UnixStream,
    /// The plans of its processes.
    plans: Vec<Plan>,
    /// The running processes with their numbers.
    running: HashMap<Pid, u32>,
    /// Messages that the launcher has not taken yet: at most two for each process, and the last one.
    to_say: VecDeque<FromSupervisor>,
    beats: StarterBeats,
    crowding: Crowding,
    /// A description of the process that has started this one.
    starter: String,
    /// True once the starter has announced its end.
    has_left: bool,
    /// The time at which the supervisor kills the processes that are left.
    force_at: Option<Instant>,
}

/// The error that the launcher is gone, so that all other processes must end.
struct LauncherGone;

impl Supervisor {
    fn new() -> io::Result<Supervisor> {
        signals::set_aside_inherited();
        // Without its own name it would die together with the launcher under `killall`.
        rustix::thread::set_name(c"rank-supervisor")?;
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let (children, handler) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, handler)?;
        let socket = Socket::new(io::stdin().as_fd().try_clone_to_owned()?);
        rustix::net::sockopt::socket_type(&socket)?;
        let (running, beats) = (HashMap::new(), StarterBeats::default());
        let (to_say, crowding) = (VecDeque::new(), Crowding::default());
        let (plans, starter) = (Vec::new(), starter());
        Ok(Supervisor {
            socket,
            children,
            plans,
            running,
            to_say,
            beats,
            crowding,
            starter,
            has_left: false,
            force_at: None,
        })
    }

    fn run(mut self) -> io::Result<()> {
        let left = loop {
            self.wait(self.force_at);
            self.handle_children();
            if self.handle_messages().and_then(|()| self.send_waiting()).is_err() {
                // A reader of the beats must see that they end.
                self.beats = StarterBeats::default();
                kill_all(0, KILL_TIMEOUT_WITHOUT_LAUNCHER);
                if !self.has_left {
                    say_at_once(&format!(
                        "{} is gone: it was killed, or ran out of memory (the kernel's log tells, `dmesg`); everything below it was ended",
                        self.starter
                    ));
                }
                return Ok(());
            }
            if self.force_at.is_some() && self.collect_and_check() {
                break Vec::new();
            }
            if self.force_at.is_some_and(|at| Instant::now() >= at) {
                break kill_all(0, KILL_TIMEOUT);
            }
        };
        let left = left.iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect();
        self.to_say.push_back(FromSupervisor::Empty { left });
        self.say_last_words();
        Ok(())
    }

    /// Waits for the launcher, a child, or the time `until`. Sends the beats that are due, and releases ranks
    /// that share their processors.
    fn wait(&mut self, until: Option<Instant>) {
        let until = [until, self.beats.deadline(), self.crowding.deadline()].into_iter().flatten().min();
        let timeout = until.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let writes = if self.to_say.is_empty() { PollFlags::empty() } else { PollFlags::OUT };
        let mut sources =
            [PollFd::new(&self.socket, PollFlags::IN | writes), PollFd::new(&self.children, PollFlags::IN)];
        // An interrupted wait is treated as an event: every source is checked anyway.
        let _ = poll(&mut sources, timeout.as_ref());
        let now = Instant::now();
        self.beats.look(now);
        self.crowding.look(now);
    }

    fn handle_messages(&mut self) -> Result<(), LauncherGone> {
        loop {
            match self.socket.try_receive_many::<ToSupervisor>() {
                Ok(None) => return Ok(()),
                Ok(Some((message, descriptors))) => self.handle(message, descriptors),
                // The launcher is of the same executable: a message that cannot be decoded is not from it.
                Err(ReceiveError::Closed | ReceiveError::Malformed(_) | ReceiveError::System(_)) => {
                    return Err(LauncherGone);
                }
            }
        }
    }

    fn handle(&mut self, message: ToSupervisor, mut descriptors: Vec<OwnedFd>) {
        match message {
            ToSupervisor::Begin | ToSupervisor::Add => {
                self.plans.extend(descriptors.pop().and_then(|fd| Plan::read(fd).ok()));
            }
            ToSupervisor::Start { number } => {
                let answer = match self.start(number, descriptors) {
                    Ok(pid) => FromSupervisor::Started { number, pid },
                    Err(error) => FromSupervisor::NotStarted {
                        number,
                        errno: error.raw_os_error().unwrap_or(0),
                        reason: error.to_string(),
                    },
                };
                self.to_say.push_back(answer);
                self.plans.retain(|plan| !plan.is_last(number));
            }
            ToSupervisor::Signal { signal } => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    for &pid in self.running.keys() {
                        // The child is not reaped yet, so the number is still its own.
                        let _ = kill_process_group(pid, signal);
                    }
                }
            }
            ToSupervisor::Kill { number } => {
                for (&pid, _) in self.running.iter().filter(|&(_, &other)| other == number) {
                    let _ = kill_process_group(pid, Signal::KILL);
                }
            }
            ToSupervisor::StartBeats { number, every_ms, key } => {
                if let Some(stream) = descriptors.pop() {
                    self.beats.add(number, stream, key, Duration::from_millis(every_ms.into()));
                }
            }
            ToSupervisor::StopBeats { number } => {
                self.beats.remove(number);
            }
            ToSupervisor::Leave => self.has_left = true,
            ToSupervisor::End { grace_ms } => {
                let now = Instant::now();
                if grace_ms > 0 && self.force_at.is_none() {
                    signal_all(Signal::TERM, 0);
                    // A stopped process reacts to no other signal.
                    signal_all(Signal::CONT, 0);
                }
                self.force_at = Some(now + Duration::from_millis(grace_ms.into()));
            }
        }
    }

    fn start(&mut self, number: u32, descriptors: Vec<OwnedFd>) -> io::Result<u32> {
        let plan = self.plans.iter().find(|plan| plan.here.contains(number));
        let plan = plan.ok_or_else(|| io::Error::other("no plan"))?;
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("too few descriptors"));
        let (input, output, error, control) = (next()?, next()?, next()?, next().ok());
        let processors = plan.processors(number);
        if plan.report_bindings {
            report_binding(&error, number, processors);
        }
        let words = &plan.program(number).command;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .envs(plan.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(error));
        if let Some(control) = &control {
            let place = plan.place(number);
            command
                .env(variable::RANK, place.rank.to_string())
                .env(variable::LOCAL_RANK, place.local_rank.to_string())
                .env(variable::SIZE, place.size.to_string())
                .env(variable::LOCAL_SIZE, place.local_size.to_string())
                .env(variable::APP, plan.app(number).to_string())
                .env(variable::CONTROL_FD, control.as_raw_fd().to_string())
                .envs(foreign_names(place, plan.allows_foreign()))
                .env(variable::BIND, processors.map_or("none".into(), |all| ProcessorList(all).to_string()));
        }
        if let Some(directory) = &plan.directory {
            command.current_dir(directory);
        }
        let keep = control.as_ref().map(AsRawFd::as_raw_fd);
        prepare(&mut command, Preparation { keep, processors: processors.map(ProcessorSet::new) });
        // The handle is dropped: all ended children, also those that other code started, are reaped in one
        // place.
        let pid = command.spawn()?.id();
        if let Some(processors) = processors.filter(|_| plan.binding.is_tentative()) {
            self.crowding.watch(pid, processors, plan.report_bindings);
        }
        self.running.extend(Pid::from_raw(pid as i32).map(|pid| (pid, number)));
        Ok(pid)
    }

    /// Reads the bytes that report the ends of children.
    fn clear_signals(&self) {
        let mut bytes = [0; 256];
        while rustix::io::read(&self.children, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
    }

    /// Reaps all children that have ended, also adopted grandchildren, and reports those that the supervisor
    /// started.
    fn handle_children(&mut self) {
        self.clear_signals();
        let mut ended = Vec::new();
        while let Ok(Some((pid, status))) = reap() {
            self.crowding.forget(pid.as_raw_nonzero().get() as u32);
            ended.extend(self.running.remove(&pid).zip(exit_of(status)));
        }
        // Of ranks found ended together, the killed ones are reported first: the others may have ended
        // because of them.
        ended.sort_by_key(|&(_, exit)| matches!(exit, Exit::Status(_)));
        self.to_say.extend(ended.into_iter().map(|(number, exit)| FromSupervisor::Exited { number, exit }));
    }

    /// Reaps ended children; returns true if no process is left.
    fn collect_and_check(&mut self) -> bool {
        loop {
            match reap() {
                Err(NoChildren) => return true,
                Ok(None) => return false,
                Ok(Some((pid, status))) => {
                    if let (Some(number), Some(exit)) = (self.running.remove(&pid), exit_of(status)) {
                        self.to_say.push_back(FromSupervisor::Exited { number, exit });
                    }
                }
            }
        }
    }

    /// Sends the launcher messages until the socket is full. The rest waits: the launcher may wait for this
    /// process to read.
    fn send_waiting(&mut self) -> Result<(), LauncherGone> {
        while let Some(message) = self.to_say.front() {
            match self.socket.try_send(message, &[]) {
                Ok(()) => drop(self.to_say.pop_front()),
                Err(SendError::Full) => break,
                Err(_) => return Err(LauncherGone),
            }
        }
        Ok(())
    }

    /// Sends all waiting messages, if the launcher still exists. Meanwhile it reads and ignores the
    /// launcher's messages, so that the launcher does not block.
    fn say_last_words(&mut self) {
        while self.send_waiting().is_ok() && !self.to_say.is_empty() {
            self.wait(None);
            self.clear_signals();
            while matches!(self.socket.try_receive_many::<ToSupervisor>(), Ok(Some(_))) {}
        }
    }
}

/// Describes the process that has started this one.
fn starter() -> String {
    let pid = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_agent = command.split(|byte| *byte == 0).skip(1).take(2).any(|word| word == b"agent");
    format!(
        "{} (process {pid})",
        if is_agent { "the job's agent on this host" } else { "the job's launcher" }
    )
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let signal = status.terminating_signal().map(|signal| Exit::Signal(signal as u8));
    signal.or(status.exit_status().map(|status| Exit::Status(status as u8)))
}

#[cfg(test)]
mod tests;
