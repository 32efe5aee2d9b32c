//! A launcher that speaks PMI-1, like Hydra's: it starts ranks, lets them exchange values, and reports their
//! ends.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use canele_sys::atomic::{AtomicU32, Ordering};

use super::{processes_marked, wait_within};

/// The values that ranks have put, and the number of ranks at the barrier.
#[derive(Default)]
struct Space {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    values: HashMap<String, String>,
    waiting: usize,
    barriers: usize,
    /// True if a rank has asked for the end of all.
    aborted: bool,
}

/// A job of ranks that such a launcher has started.
pub struct PmiJob {
    pub ranks: Vec<Child>,
    space: Arc<Space>,
    mark: String,
    out: Vec<std::thread::JoinHandle<(String, String)>>,
}

/// The exit statuses of the ranks, and all their output.
#[derive(Debug)]
pub struct PmiEnded {
    pub statuses: Vec<ExitStatus>,
    pub out: String,
    pub error: String,
}

impl PmiEnded {
    pub fn all_succeeded(&self) -> bool {
        self.statuses.iter().all(ExitStatus::success)
    }

    pub fn lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.out.lines().collect();
        lines.sort_unstable();
        lines
    }
}

fn serve(stream: UnixStream, ranks: usize, space: &Space) {
    let lines = BufReader::new(stream.try_clone().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let word = |name: &str| {
            line.split(' ')
                .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
                .unwrap_or("")
                .to_owned()
        };
        let mut state = space.state.lock().unwrap();
        let answer = match &*word("cmd") {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_0".to_owned(),
            "put" => {
                state.values.insert(word("key"), word("value"));
                "cmd=put_result rc=0 msg=success".to_owned()
            }
            "get" => match state.values.get(&word("key")) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=not_found".to_owned(),
            },
            "barrier_in" => {
                state.waiting += 1;
                let mine = state.barriers;
                if state.waiting == ranks {
                    (state.waiting, state.barriers) = (0, mine + 1);
                    space.changed.notify_all();
                }
                // A dead rank keeps the others here, until the test has ended them.
                let timeout = Duration::from_secs(120);
                let waits = |state: &mut State| state.barriers == mine && !state.aborted;
                let (state, waited) = space.changed.wait_timeout_while(state, timeout, waits).unwrap();
                if waited.timed_out() || state.aborted {
                    return;
                }
                "cmd=barrier_out".to_owned()
            }
            "finalize" => "cmd=finalize_ack".to_owned(),
            // Other launchers kill all ranks; this one leaves the waiting ranks alone.
            "abort" => {
                state.aborted = true;
                space.changed.notify_all();
                return;
            }
            _ => return,
        };
        if (&stream).write_all(format!("{answer}\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// Starts these commands as the ranks of a job.
pub fn start_ranks(commands: Vec<Vec<String>>, variables: &[(&str, &str)]) -> PmiJob {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mark = format!("pmi-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let (space, size) = (Arc::new(Space::default()), commands.len());
    let mut job = PmiJob { ranks: Vec::new(), space: space.clone(), mark, out: Vec::new() };
    for (rank, command) in commands.into_iter().enumerate() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let space = space.clone();
        std::thread::spawn(move || serve(ours, size, &space));
        // The shell inherits the socket as standard input, and moves it to another descriptor.
        let mut child = Command::new("sh")
            .args(["-c", "exec 9<&0 </dev/null; exec \"$@\"", "sh"])
            .args(command)
            .envs([("PMI_FD", "9"), ("PMI_RANK", &rank.to_string()), ("PMI_SIZE", &size.to_string())])
            .envs([("PATH", path()), ("TEST_MARK", job.mark.clone())])
            .envs(variables.iter().copied())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, error) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (out, error) = (super::read_all(out), super::read_all(error));
        job.out.push(std::thread::spawn(move || (out.join().unwrap(), error.join().unwrap())));
        job.ranks.push(child);
    }
    job
}

/// Returns a search path with the built command first.
pub fn path() -> String {
    let command = std::path::Path::new(env!("CARGO_BIN_EXE_canele"));
    format!("{}:{}", command.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default())
}

/// Starts so many ranks of one command.
pub fn start_pmi(ranks: usize, command: &[&str], variables: &[(&str, &str)]) -> PmiJob {
    let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
    start_ranks(vec![command; ranks], variables)
}

impl PmiJob {
    /// Returns the processes of this job and of the launcher's stand-in.
    pub fn processes(&self) -> Vec<u32> {
        processes_marked(&self.mark)
    }

    /// Returns the processes of this job that run a program of this short name.
    pub fn named(&self, name: &str) -> Vec<u32> {
        let mut found = self.processes();
        found.retain(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end() == name
        });
        found
    }

    /// Returns the number of ranks at a barrier.
    pub fn waiting(&self) -> usize {
        self.space.state.lock().unwrap().waiting
    }

    /// Waits for the ends of all ranks, and checks that no process is left.
    pub fn end(mut self) -> PmiEnded {
        let limit = Duration::from_secs(60);
        let mut statuses = vec![None; self.ranks.len()];
        wait_within(limit, "the ends of all ranks", || {
            for (status, rank) in statuses.iter_mut().zip(&mut self.ranks) {
                *status = status.or_else(|| rank.try_wait().unwrap());
            }
            statuses.iter().all(Option::is_some)
        });
        wait_within(limit, "the end of all processes", || self.processes().is_empty());
        let printed: Vec<_> = self.out.into_iter().map(|out| out.join().unwrap()).collect();
        let (out, error): (Vec<String>, Vec<String>) = printed.into_iter().unzip();
        let statuses = statuses.into_iter().flatten().collect();
        PmiEnded { statuses, out: out.concat(), error: error.concat() }
    }
}
