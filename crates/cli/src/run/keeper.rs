//! The keeper: the process whose children the ranks, or the remote shells, are, and which outlives nothing of them.
//!
//! Owns: starting and collecting processes, sending them signals, and ending all of them on request or when
//! the launcher is gone. Never: messages of ranks, output, decisions about failures.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use canele_engine::control::{ReceiveError, SendError, Socket, variable};
use canele_sys::spawn::{Preparation, prepare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitStatus, kill_process_group, set_child_subreaper};
use serde::{Deserialize, Serialize};

use super::descendants::{NoChildren, kill_all, reap, signal_all};
use super::failure::Exit;
use super::plan::Plan;

/// What the launcher asks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum ToKeeper {
    /// First message; one descriptor, the plan.
    Begin,
    /// Start one of the plan's processes; descriptors: standard input, output and error, and the control socket if it is a
    /// rank.
    Start {
        /// As the plan numbers them, each once.
        number: u32,
    },
    /// Send a signal to the process groups of all that run.
    Signal {
        /// Its number.
        signal: i32,
    },
    /// Kill one of them.
    Kill {
        /// Which.
        number: u32,
    },
    /// End all processes: politely, and after `grace_ms` by force. Answered with `Empty`.
    End {
        /// Time to react to SIGTERM, in ms.
        grace_ms: u32,
    },
}

/// What the keeper answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum FromKeeper {
    /// The program runs.
    Started {
        /// Which.
        number: u32,
        /// Its process.
        pid: u32,
    },
    /// The program could not be started.
    NotStarted {
        /// Which.
        number: u32,
        /// The system's reason, 0 if it has no number.
        errno: i32,
        /// The same in words.
        reason: String,
    },
    /// The process has ended.
    Exited {
        /// Which.
        number: u32,
        /// How.
        exit: Exit,
    },
    /// Last message: no process is left but these, which cannot be killed.
    Empty {
        /// Their process ids.
        left: Vec<u32>,
    },
}

/// How long force is tried before giving up on processes that cannot be killed.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same when the launcher is gone: nobody waits for the answer.
const ALONE_PATIENCE: Duration = Duration::from_secs(60);

/// The keeper's main function. Its standard input is the socket to the launcher.
pub fn keep() -> ExitCode {
    match Keeper::new().and_then(Keeper::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::wrong_usage(&format!("keep: only `canele run` starts this ({error})")),
    }
}

struct Keeper {
    socket: Socket,
    /// Becomes readable when a child has ended.
    children: UnixStream,
    plan: Option<Plan>,
    /// The processes that run.
    running: HashMap<Pid, u32>,
    /// When force follows.
    force_at: Option<Instant>,
}

/// The launcher is gone; so must be everything else.
struct LauncherGone;

impl Keeper {
    fn new() -> io::Result<Keeper> {
        // Without this a name with the launcher's would die together with it under `killall`.
        rustix::thread::set_name(c"rank-keeper")?;
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let (children, handler) = UnixStream::pair()?;
        children.set_nonblocking(true)?;
        signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, handler)?;
        let socket = Socket::new(io::stdin().as_fd().try_clone_to_owned()?);
        rustix::net::sockopt::socket_type(&socket)?;
        Ok(Keeper { socket, children, plan: None, running: HashMap::new(), force_at: None })
    }

    fn run(mut self) -> io::Result<()> {
        loop {
            self.wait();
            let handled = self.handle_children().and_then(|()| self.handle_messages());
            let empty = self.force_at.is_some() && self.collect_and_check();
            match handled {
                Err(LauncherGone) => {
                    kill_all(0, ALONE_PATIENCE);
                    return Ok(());
                }
                Ok(()) if empty => return self.say_empty(&[]),
                Ok(()) if self.force_at.is_some_and(|at| Instant::now() >= at) => {
                    return self.end_by_force();
                }
                Ok(()) => {}
            }
        }
    }

    fn wait(&self) {
        let timeout = self.force_at.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let mut sources =
            [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        // An interrupted wait is as good as an event: everything is looked at anyway.
        let _ = poll(&mut sources, timeout.as_ref());
    }

    fn handle_messages(&mut self) -> Result<(), LauncherGone> {
        loop {
            match self.socket.try_receive_many::<ToKeeper>() {
                Ok(None) => return Ok(()),
                Ok(Some((message, descriptors))) => self.handle(message, descriptors)?,
                // The launcher is of the same executable: what cannot be understood is not from it.
                Err(ReceiveError::Closed | ReceiveError::Malformed(_) | ReceiveError::System(_)) => {
                    return Err(LauncherGone);
                }
            }
        }
    }

    fn handle(&mut self, message: ToKeeper, mut descriptors: Vec<OwnedFd>) -> Result<(), LauncherGone> {
        match message {
            ToKeeper::Begin => {
                self.plan = descriptors.pop().and_then(|fd| Plan::read(fd).ok());
                Ok(())
            }
            ToKeeper::Start { number } => {
                let answer = match self.start(number, descriptors) {
                    Ok(pid) => FromKeeper::Started { number, pid },
                    Err(error) => FromKeeper::NotStarted {
                        number,
                        errno: error.raw_os_error().unwrap_or(0),
                        reason: error.to_string(),
                    },
                };
                self.say(&answer)
            }
            ToKeeper::Signal { signal } => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    for &pid in self.running.keys() {
                        // Not yet collected, so the number still is this process's.
                        let _ = kill_process_group(pid, signal);
                    }
                }
                Ok(())
            }
            ToKeeper::Kill { number } => {
                for (&pid, _) in self.running.iter().filter(|&(_, &other)| other == number) {
                    let _ = kill_process_group(pid, Signal::KILL);
                }
                Ok(())
            }
            ToKeeper::End { grace_ms } => {
                let now = Instant::now();
                if grace_ms > 0 && self.force_at.is_none() {
                    signal_all(Signal::TERM, 0);
                    // A stopped process reacts to nothing else.
                    signal_all(Signal::CONT, 0);
                }
                self.force_at = Some(now + Duration::from_millis(grace_ms.into()));
                Ok(())
            }
        }
    }

    fn start(&mut self, number: u32, descriptors: Vec<OwnedFd>) -> io::Result<u32> {
        let plan = self.plan.as_ref().ok_or_else(|| io::Error::other("no plan"))?;
        let mut descriptors = descriptors.into_iter();
        let mut next = || descriptors.next().ok_or_else(|| io::Error::other("too few descriptors"));
        let (input, output, error, control) = (next()?, next()?, next()?, next().ok());
        let words = &plan.program(number).command;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .envs(plan.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(error));
        let processor = plan.processor(number);
        if let Some(control) = &control {
            command
                .env(variable::RANK, number.to_string())
                .env(variable::LOCAL_RANK, (number - plan.first).to_string())
                .env(variable::SIZE, plan.size().to_string())
                .env(variable::LOCAL_SIZE, plan.here.to_string())
                .env(variable::CONTROL_FD, control.as_raw_fd().to_string())
                .env(variable::BIND, processor.map_or("none".into(), |processor| processor.to_string()));
        }
        if let Some(directory) = &plan.directory {
            command.current_dir(directory);
        }
        prepare(&mut command, Preparation { keep: control.as_ref().map(AsRawFd::as_raw_fd), processor });
        // The handle is dropped: ended children are collected in one place, whoever started them.
        let pid = command.spawn()?.id();
        self.running.extend(Pid::from_raw(pid as i32).map(|pid| (pid, number)));
        Ok(pid)
    }

    /// Collects whoever has ended, among them adopted grandchildren, and tells of those it started.
    fn handle_children(&mut self) -> Result<(), LauncherGone> {
        let mut bytes = [0; 256];
        while rustix::io::read(&self.children, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
        let mut ended = Vec::new();
        while let Ok(Some((pid, status))) = reap() {
            ended.extend(self.running.remove(&pid).zip(exit_of(status)));
        }
        // Of ranks found ended together the killed ones go first: the others may have ended because of them.
        ended.sort_by_key(|&(_, exit)| matches!(exit, Exit::Status(_)));
        for (number, exit) in ended {
            self.say(&FromKeeper::Exited { number, exit })?;
        }
        Ok(())
    }

    /// Whether no process is left.
    fn collect_and_check(&mut self) -> bool {
        loop {
            match reap() {
                Err(NoChildren) => return true,
                Ok(None) => return false,
                Ok(Some((pid, status))) => {
                    if let (Some(number), Some(exit)) = (self.running.remove(&pid), exit_of(status)) {
                        // If the launcher is gone, the next message to it tells.
                        let _ = self.say(&FromKeeper::Exited { number, exit });
                    }
                }
            }
        }
    }

    fn end_by_force(&self) -> io::Result<()> {
        let left: Vec<u32> =
            kill_all(0, PATIENCE).iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect();
        self.say_empty(&left)
    }

    fn say_empty(&self, left: &[u32]) -> io::Result<()> {
        // Nobody needs to hear it if the launcher is gone.
        let _ = self.say(&FromKeeper::Empty { left: left.to_vec() });
        Ok(())
    }

    /// Waits while the launcher's queue is full: it always reads it.
    fn say(&self, message: &FromKeeper) -> Result<(), LauncherGone> {
        loop {
            match self.socket.try_send(message, &[]) {
                Ok(()) => return Ok(()),
                Err(SendError::Full) => {
                    let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], None);
                }
                Err(_) => return Err(LauncherGone),
            }
        }
    }
}

fn exit_of(status: WaitStatus) -> Option<Exit> {
    let signal = status.terminating_signal().map(|signal| Exit::Signal(signal as u8));
    signal.or(status.exit_status().map(|status| Exit::Status(status as u8)))
}
