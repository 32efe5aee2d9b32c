//! The output of the job: the lines of its ranks, the remarks of remote shells, and the launcher's own
//! messages.
//!
//! Owns the launcher's two streams. Never waits for their readers. While a reader reads nothing, hosts get no
//! room for more, and stop reading their ranks' output.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

use canele_sys::printable;

use super::events::{Events, Stream};
use super::host_ranks::Order;
use super::output_files::{OutputFiles, OutputSpec};
use super::sink::{Broken, Origin, Sink};
use super::time_of_day::TimeOfDay;

/// The launcher's standard output and standard error.
#[derive(Debug)]
pub struct Output {
    spec: OutputSpec,
    files: OutputFiles,
    hosts: Vec<String>,
    sinks: [Sink; 2],
    /// The bytes taken from each host and stream for which the host has not got new room yet.
    owed: Vec<[u32; 2]>,
    /// True if the hosts are informed that this stream has no reader.
    shut: [bool; 2],
    last_message: String,
}

impl Output {
    /// Returns the output for the ranks of `hosts` in the form of `spec`, into `files` if it names any. With
    /// `out`, standard output goes to that descriptor.
    pub fn new(spec: OutputSpec, files: OutputFiles, hosts: Vec<String>, out: Option<OwnedFd>) -> Output {
        let mut output = Output {
            spec,
            files,
            owed: vec![[0; 2]; hosts.len()],
            hosts,
            sinks: [Sink::new(Stream::Out, out), Sink::new(Stream::Error, None)],
            shut: [false; 2],
            last_message: String::new(),
        };
        output.say_new_folders();
        output
    }

    /// Returns the streams that ranks of this machine can write to themselves. These are the launcher's own
    /// streams if they are a terminal that ranks may write to and lines need no label and no file. Colours,
    /// widths and progress bars work then.
    ///
    /// # Errors
    /// Fails as dup(2) does.
    pub fn terminals(&self) -> io::Result<[Option<OwnedFd>; 2]> {
        let is_plain = |stream| self.spec.label.is_none() && !self.spec.timestamp && !self.files.take(stream);
        let terminal = |sink: &Sink, stream| {
            (is_plain(stream) && sink.is_open_terminal()).then(|| sink.fd().try_clone_to_owned()).transpose()
        };
        Ok([terminal(&self.sinks[0], Stream::Out)?, terminal(&self.sinks[1], Stream::Error)?])
    }

    /// Prints one message of the launcher, on a line of its own. Names and texts of others in it are shown
    /// without control characters.
    pub fn say(&mut self, text: &str) {
        self.last_message = printable::lines(text).into();
        self.sinks[Stream::Error as usize].say(&self.last_message);
    }

    /// Reports the folders that were made for the files of the ranks' output.
    fn say_new_folders(&mut self) {
        if let Some(text) = self.files.new_folders() {
            self.say(&text);
        }
    }

    /// Returns the launcher's own message that was printed last.
    pub fn last_message(&self) -> &str {
        &self.last_message
    }

    /// Prints output of `rank` on `host`.
    pub fn put(&mut self, host: usize, rank: u32, stream: Stream, bytes: &[u8]) {
        let now = TimeOfDay::now();
        let name = (host, &*self.hosts[host]);
        let time = if self.spec.timestamp { format!("{now} ") } else { String::new() };
        if self.files.take(stream) {
            self.files.put(stream, rank, name, bytes, &time);
        }
        if self.spec.tee || !self.files.take(stream) {
            let label = self.spec.label.as_ref().map(|label| label.of(rank, name, now));
            let label = (label.is_some() || self.spec.timestamp).then(|| time + &label.unwrap_or_default());
            self.sinks[stream as usize].put(Origin::Rank(rank), bytes, label.as_deref());
        }
        let owed = &mut self.owed[host][stream as usize];
        *owed = owed.saturating_add(bytes.len() as u32);
    }

    /// Prints standard error of the remote shell of `host`; of its control characters, line ends and tabs
    /// stay.
    pub fn put_remark(&mut self, host: usize, bytes: &[u8]) {
        let label = format!("[{}] ", self.hosts[host]);
        if self.sinks[Stream::Error as usize].is_congested() {
            // The remote shell passes on no back-pressure, and the stream has no reader.
            return;
        }
        let is_obeyed = |byte: u8| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t');
        let shown: Vec<u8> = bytes.iter().map(|byte| if is_obeyed(*byte) { b'?' } else { *byte }).collect();
        self.sinks[Stream::Error as usize].put(Origin::Host(host), &shown, Some(&label));
    }

    /// Writes output without waiting.
    pub fn flush(&mut self, events: &Events) {
        self.sinks.iter_mut().for_each(|sink| sink.flush(events));
    }

    /// Takes the orders for hosts: new room for output, or that a stream has no reader.
    pub fn take_orders(&mut self) -> Vec<(usize, Order)> {
        let mut orders = Vec::new();
        for stream in [Stream::Out, Stream::Error] {
            let sink = &self.sinks[stream as usize];
            if sink.is_broken() {
                if !std::mem::replace(&mut self.shut[stream as usize], true) {
                    orders.extend((0..self.hosts.len()).map(|host| (host, Order::Shut { stream })));
                }
            } else if !sink.is_congested() {
                for (host, owed) in self.owed.iter_mut().enumerate() {
                    let bytes = std::mem::take(&mut owed[stream as usize]);
                    if bytes > 0 {
                        orders.push((host, Order::Room { stream, bytes }));
                    }
                }
            }
        }
        orders
    }

    /// Returns true if one of the streams accepts no more data.
    pub fn is_broken(&self) -> bool {
        self.sinks.iter().any(Sink::is_broken)
    }

    /// Takes the streams that have lost output since the last call, with the reasons.
    pub fn take_broken(&mut self) -> Vec<(Stream, Broken)> {
        let streams = [Stream::Out, Stream::Error].into_iter().zip(&mut self.sinks);
        streams.filter_map(|(stream, sink)| Some((stream, sink.take_broken()?))).collect()
    }

    /// Takes the message that output to a file was lost, if it was not taken before.
    pub fn take_lost(&mut self) -> Option<String> {
        self.files.take_lost()
    }

    /// Returns the number of bytes that wait to be written.
    pub fn waiting(&self) -> usize {
        self.sinks.iter().map(Sink::waiting).sum()
    }

    /// Returns the streams that report when they have room for waiting bytes.
    pub fn awaited(&self) -> Vec<BorrowedFd<'_>> {
        let awaited = self.sinks.iter().filter(|sink| sink.waiting() > 0 && sink.again_at().is_none());
        awaited.map(Sink::target).collect()
    }

    /// Returns the time of the next [`flush`](Self::flush) for streams that do not report room.
    pub fn deadline(&self) -> Option<Instant> {
        self.sinks.iter().filter_map(Sink::again_at).min()
    }
}

/// Returns the launcher's standard stream itself.
pub fn standard(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Out => rustix::stdio::stdout(),
        Stream::Error => rustix::stdio::stderr(),
    }
}
