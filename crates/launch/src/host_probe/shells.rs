//! The remote shells of examined hosts: their streams and their results.
//!
//! Owns the child processes. When dropped it ends them and their descendants; this process is their
//! sub-reaper.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};

use crate::descendants;
use crate::failure::Exit;
use crate::remote::{ended, last_lines};

/// The longest line, and the most bytes that a shell may print beside messages.
pub(super) const MOST_LINE: u64 = 16 << 20;
const MOST_NOISE: usize = 64 << 10;
/// The most lines and pieces of output that wait to be handled.
const MOST_WAITING: usize = 1024;
/// The time that shells have to end by themselves, and then by force.
const ENDING: Duration = Duration::from_secs(2);

/// The output of a remote shell.
#[derive(Debug)]
pub enum ShellOutput {
    /// A line of standard output.
    Line(String),
    /// The end of standard output.
    End,
    /// Bytes of standard error.
    Remark(Vec<u8>),
}

/// The shells, by host.
#[derive(Debug)]
pub struct Shells {
    shells: Vec<Shell>,
    sender: SyncSender<(usize, ShellOutput)>,
    receiver: Receiver<(usize, ShellOutput)>,
    /// Output that came while another host's was waited for.
    kept: VecDeque<(usize, ShellOutput)>,
    since: u64,
}

#[derive(Debug)]
struct Shell {
    child: Option<Child>,
    input: Option<ChildStdin>,
    /// Output that is no message.
    noise: Vec<u8>,
}

impl Shells {
    pub fn new() -> Shells {
        // Processes that a shell leaves behind become children of this process.
        let _ = set_child_subreaper(Some(getpid()));
        let (sender, receiver) = sync_channel(MOST_WAITING);
        let since = descendants::started(std::process::id());
        Shells { shells: Vec::new(), sender, receiver, kept: VecDeque::new(), since }
    }

    /// Starts another shell: those of the hosts in their order, then any others.
    ///
    /// # Errors
    /// Fails with a text if the shell cannot be started. It counts as one that has ended.
    pub fn start(&mut self, command: &[std::ffi::OsString]) -> Result<(), String> {
        let host = self.shells.len();
        self.shells.push(Shell { child: None, input: None, noise: Vec::new() });
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot run {}: {error}", command[0].display()))?;
        let (out, error) = (child.stdout.take(), child.stderr.take());
        let shell = &mut self.shells[host];
        shell.input = child.stdin.take();
        shell.child = Some(child);
        let (lines, remarks) = (self.sender.clone(), self.sender.clone());
        let thread = std::thread::Builder::new;
        let started = thread()
            .spawn(move || read_lines(out, |came| lines.send((host, came)).is_ok()))
            .and_then(|_| thread().spawn(move || read_all(error, |came| remarks.send((host, came)).is_ok())));
        started.map(drop).map_err(|error| {
            shell.input = None;
            let _ = shell.child.as_mut().map(|child| child.kill());
            format!("no thread can be started that reads what {} prints: {error}", command[0].display())
        })
    }

    /// Writes a line to a host's shell; the end of a shell shows in its output.
    pub fn write(&mut self, host: usize, line: &str) {
        if let Some(input) = &mut self.shells[host].input {
            let _ = writeln!(input, "{line}").and_then(|()| input.flush());
        }
    }

    /// Returns the next output of any host, waiting until `until`.
    pub fn next(&mut self, until: Instant) -> Option<(usize, ShellOutput)> {
        self.kept.pop_front().or_else(|| self.receive(until))
    }

    fn receive(&self, until: Instant) -> Option<(usize, ShellOutput)> {
        self.receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok()
    }

    /// Keeps output of a host that is no message; returns true if it is too much.
    pub fn hear_noise(&mut self, host: usize, bytes: &[u8]) -> bool {
        let noise = &mut self.shells[host].noise;
        let room = MOST_NOISE.saturating_sub(noise.len());
        noise.extend_from_slice(&bytes[..bytes.len().min(room)]);
        room < bytes.len()
    }

    /// Describes the end of a host's shell and its output; `None` while it runs.
    pub fn how_it_ended(&mut self, host: usize) -> Option<String> {
        let until = Instant::now() + ENDING;
        let child = self.shells[host].child.as_mut()?;
        let status = loop {
            if let Some(status) = child.try_wait().ok()? {
                break status;
            }
            if Instant::now() >= until {
                return None;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Some(ended(exit_of(status)))
    }

    /// Returns the last lines of a host's output.
    pub fn printed(&mut self, host: usize) -> String {
        // Output to standard error before the end may still be under way.
        let until = Instant::now() + Duration::from_millis(200);
        while self.shells[host].noise.is_empty() {
            match self.receive(until) {
                Some((from, ShellOutput::Remark(bytes))) => drop(self.hear_noise(from, &bytes)),
                Some(other) => self.kept.push_back(other),
                None => break,
            }
        }
        last_lines(&self.shells[host].noise)
    }
}

impl Drop for Shells {
    fn drop(&mut self) {
        self.shells.iter_mut().for_each(|shell| shell.input = None);
        let until = Instant::now() + ENDING;
        let mut run = |shell: &mut Shell| {
            shell.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
        };
        while self.shells.iter_mut().any(&mut run) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        descendants::kill_all(self.since, ENDING);
    }
}

fn exit_of(status: ExitStatus) -> Exit {
    let signal = status.signal().map(|signal| Exit::Signal(signal as u8));
    status.code().map(|code| Exit::Status(code as u8)).or(signal).unwrap_or(Exit::Unknown)
}

fn read_lines(out: Option<impl Read>, mut tell: impl FnMut(ShellOutput) -> bool) {
    let Some(out) = out else { return };
    let mut out = BufReader::new(out);
    loop {
        let mut line = Vec::new();
        match (&mut out).take(MOST_LINE).read_until(b'\n', &mut line) {
            Ok(1..) if tell(ShellOutput::Line(String::from_utf8_lossy(&line).into_owned())) => {}
            _ => break,
        }
    }
    tell(ShellOutput::End);
}

fn read_all(error: Option<impl Read>, mut tell: impl FnMut(ShellOutput) -> bool) {
    let Some(mut error) = error else { return };
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = error.read(&mut bytes) {
        if !tell(ShellOutput::Remark(bytes[..count].to_vec())) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::ManuallyDrop;

    use super::*;

    #[test]
    fn what_others_say_is_kept_while_the_last_words_of_one_are_waited_for() {
        let (sender, receiver) = sync_channel(2);
        let shell = || Shell { child: None, input: None, noise: Vec::new() };
        let shells =
            Shells { shells: vec![shell(), shell()], sender, receiver, kept: VecDeque::new(), since: 0 };
        // Dropping it would end all processes that other tests have started.
        let mut shells = ManuallyDrop::new(shells);
        shells.sender.send((1, ShellOutput::Line("answer".into()))).expect("there is a receiver");
        assert_eq!(shells.printed(0), "; it printed nothing");
        let next = shells.next(Instant::now());
        assert!(matches!(&next, Some((1, ShellOutput::Line(text))) if text == "answer"), "{next:?}");
    }
}
