//! The launcher's last task: writing the ranks' output, after all of them have ended.
//!
//! Owns the reactions to streams that accept no data. Never waits for a reader once a signal or the time
//! limit has asked for the end.

use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use super::ending::TIMED_OUT;
use super::launcher::{GRACE, Launcher};
use super::sink::Broken;

/// The exit status of a program in a pipeline whose reader has gone.
const BROKEN_PIPE: u8 = 128 + 13;

impl Launcher {
    /// Writes output without waiting. Lost output makes the job fail.
    pub(super) fn write_output(&mut self) {
        if let Some(text) = self.output.take_lost() {
            self.output.say(&text);
            self.fail(1);
        }
        self.output.flush(&self.events);
        let broken = self.output.take_broken();
        for &(stream, why) in &broken {
            let status = match why {
                Broken::ReaderLeft => BROKEN_PIPE,
                Broken::Failed(errno) => {
                    self.output.say(&format!(
                        "cannot write to {stream}: {}; what the ranks print there is lost",
                        std::io::Error::from(errno)
                    ));
                    1
                }
            };
            self.fail(status);
        }
        if !broken.is_empty() {
            self.output.flush(&self.events);
        }
    }

    /// Writes the remaining output as fast as the reader accepts it. After a signal or the time limit, a
    /// reader that accepts nothing for [`GRACE`] loses the rest.
    pub(super) fn write_rest(&mut self) {
        self.queries = None;
        let asked = self.passed_on.is_some() || self.status == Some(TIMED_OUT);
        let mut until = asked.then(|| Instant::now() + GRACE);
        let mut before = usize::MAX;
        loop {
            self.write_output();
            let waiting = self.output.waiting();
            let now = Instant::now();
            if waiting == 0 {
                return;
            }
            if until.is_some() && waiting < before {
                until = Some(now + GRACE);
            }
            before = waiting;
            if until.is_some_and(|until| now >= until) {
                return self.drop_rest(waiting);
            }
            if until.is_none() && self.timeout_at.is_some_and(|at| now >= at) {
                self.output.say("the time limit was reached before all that the ranks printed was read");
                self.status = Some(TIMED_OUT);
                until = Some(now + GRACE);
            }
            self.wait_for_reader(until.or(self.timeout_at));
            if let Some(signal) = self.pending_end() {
                let again = until.is_some();
                self.fail(128 + signal);
                until = Some(if again { Instant::now() } else { Instant::now() + GRACE });
            }
        }
    }

    /// Waits until a stream accepts data, a signal arrives, or `until`.
    fn wait_for_reader(&self, until: Option<Instant>) {
        let until = [until, self.output.deadline()].into_iter().flatten().min();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let left = left.and_then(|left| Timespec::try_from(left).ok());
        let streams = self.output.awaited();
        let mut sources: Vec<PollFd> =
            streams.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::OUT)).collect();
        sources.push(PollFd::new(&self.signals, PollFlags::IN));
        // An interrupted wait is treated as an event: every source is checked anyway.
        let _ = poll(&mut sources, left.as_ref());
    }

    /// Returns the number of a signal that has arrived and usually ends a program.
    fn pending_end(&mut self) -> Option<u8> {
        let mut end = None;
        for signal in self.signals.pending() {
            match signal {
                Signal::INT | Signal::TERM | Signal::HUP | Signal::QUIT => end = Some(signal.as_raw() as u8),
                Signal::TSTP => {
                    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
                }
                _ => {}
            }
        }
        end
    }

    /// Reports the lost bytes, if the stream still has a reader.
    fn drop_rest(&mut self, bytes: usize) {
        self.output.say(&format!("{bytes} bytes that the ranks printed were not read and are lost"));
        self.output.flush(&self.events);
        self.fail(1);
    }

    /// Sets the status of a job that has not failed yet.
    fn fail(&mut self, status: u8) {
        if self.status.is_none_or(|status| status == 0) {
            self.status = Some(status);
        }
    }
}
