//! Running the built `canele` command with bounded waits, and finding every process of such a run.
//!
//! The environment of each run has a mark, which all its processes inherit.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use canele_sys::atomic::{AtomicU32, Ordering};

pub mod documents;
pub mod error_sources;
pub mod folder;
pub mod fortran;
pub mod hosts;
pub mod installation;
pub mod launchers;
pub mod pmi;
pub mod ranks;

/// A limit far above the time of any test: only a hang reaches it.
pub const LIMIT: Duration = Duration::from_secs(300);

/// The output of a run, and its exit status.
#[derive(Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub out: String,
    pub error: String,
}

impl Ended {
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

/// A run of the command.
pub struct Run {
    pub child: Child,
    mark: String,
    out: JoinHandle<String>,
    error: JoinHandle<String>,
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Starts `canele ARGS` with its standard input closed after `input`.
pub fn start_with(args: &[&str], variables: &[(&str, &str)], input: &[u8]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_canele"));
    start_command(command.args(args).envs(variables.iter().copied()), input)
}

/// Starts a command with its standard input closed after `input`.
pub fn start_command(command: &mut Command, input: &[u8]) -> Run {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("run-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let mut child = command
        .env("TEST_MARK", &mark)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that ends early has not read its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let out = read_all(child.stdout.take().unwrap());
    let error = read_all(child.stderr.take().unwrap());
    Run { child, mark, out, error }
}

pub fn start(args: &[&str]) -> Run {
    start_with(args, &[], b"")
}

/// Runs `canele ARGS` to its end, and checks that no process is left.
pub fn canele(args: &[&str]) -> Ended {
    start(args).end()
}

/// Runs `canele run OPTIONS sh -c SCRIPT`.
pub fn shell(options: &[&str], script: &str) -> Ended {
    start_shell(options, script).end()
}

pub fn start_shell(options: &[&str], script: &str) -> Run {
    let mut args = vec!["run"];
    args.extend_from_slice(options);
    args.extend_from_slice(&["sh", "-c", script]);
    start(&args)
}

impl Run {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the command and asserts that no process of it is left.
    pub fn end(self) -> Ended {
        self.end_within(LIMIT)
    }

    /// Waits for a command that takes long, up to `limit`.
    pub fn end_within(mut self, limit: Duration) -> Ended {
        let mut status = None;
        wait_within(limit, "the command's end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.leaves_nothing();
        let (out, error) = (self.out.join().unwrap(), self.error.join().unwrap());
        Ended { status: status.unwrap(), out, error }
    }

    /// Returns all processes of this run but the launcher.
    pub fn processes(&self) -> Vec<u32> {
        let mut found = processes_marked(&self.mark);
        found.retain(|pid| *pid != self.pid());
        found
    }

    pub fn leaves_nothing(&self) {
        wait_until("the end of all processes", || self.processes().is_empty());
    }

    /// Waits until this many processes besides the launcher run `program` (by its short name).
    pub fn wait_for(&self, count: usize, program: &str) -> Vec<u32> {
        let mut found = Vec::new();
        wait_until(&format!("{count} processes {program}"), || {
            found = self.processes_named(program);
            found.len() == count
        });
        found
    }

    /// Returns all processes of this run but the launcher that run `program`.
    pub fn processes_named(&self, program: &str) -> Vec<u32> {
        let mut found = self.processes();
        found.retain(|pid| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            name.trim_end() == program
        });
        found
    }
}

/// Returns all processes with this mark in their environment.
fn processes_marked(mark: &str) -> Vec<u32> {
    let mark = format!("TEST_MARK={mark}");
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
        })
        .collect()
}

pub fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_within(LIMIT, what, done);
}

pub fn wait_within(limit: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !done() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends the signal of this name, as `kill` spells it.
pub fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").arg(format!("-{signal}")).arg(pid.to_string()).status().unwrap();
    assert!(status.success(), "kill -{signal} {pid}");
}

/// Returns the letter for a process's state in /proc, `T` for stopped.
pub fn state(pid: u32) -> char {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()).unwrap_or('-')
}

pub fn killed_by(ended: &Ended) -> Option<i32> {
    ended.status.signal()
}
