//! What the ranks print, forwarded in whole lines.
//!
//! Owns the reading ends of the ranks' output pipes and the two streams of the launcher, its own messages
//! included. Never waits for whoever reads the launcher's output: while they do not, the ranks' pipes are not
//! read either. A line without its end (a prompt) is passed on after a moment.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use super::events::{Events, Ready, Source, Stream};
use super::sink::Sink;

/// How long an unfinished line is held back.
const PROMPT: Duration = Duration::from_millis(100);
/// The longest line in bytes that is held back.
const LONGEST_LINE: usize = 64 * 1024;
/// Reads in a row from a pipe whose writers may still be writing.
const READS: u32 = 64;

/// One stream of one rank.
#[derive(Debug)]
struct Pipe {
    end: OwnedFd,
    rank: u32,
    stream: Stream,
    /// The beginning of a line.
    held: Vec<u8>,
    held_since: Instant,
    watched: bool,
}

/// All streams of all ranks, and where they go.
#[derive(Debug)]
pub struct Output {
    label: bool,
    pipes: Vec<Option<Pipe>>,
    out: Sink,
    error: Sink,
}

impl Output {
    /// Forwards to the launcher's standard output and standard error; `label`: each line with its rank.
    pub fn new(label: bool) -> Output {
        Output { label, pipes: Vec::new(), out: Sink::new(Stream::Out), error: Sink::new(Stream::Error) }
    }

    /// What rank `rank` is given as `stream`: the launcher's own if that is a terminal the ranks may write to
    /// and lines need no label (colours, widths and progress bars work then), else a pipe.
    ///
    /// # Errors
    /// As pipe2(2), dup(2), epoll_ctl(2).
    pub fn open(&mut self, rank: u32, stream: Stream, events: &Events) -> io::Result<OwnedFd> {
        let sink = if stream == Stream::Out { &self.out } else { &self.error };
        if !self.label && sink.is_open_terminal() {
            return sink.fd().try_clone_to_owned();
        }
        let (end, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&end, true)?;
        events.add(&end, Source::Printed(rank, stream), Ready::IN)?;
        let pipe = Pipe { end, rank, stream, held: Vec::new(), held_since: Instant::now(), watched: true };
        let index = index(rank, stream);
        if self.pipes.len() <= index {
            self.pipes.resize_with(index + 1, || None);
        }
        self.pipes[index] = Some(pipe);
        Ok(writer)
    }

    /// One message of the launcher, on a line of its own.
    pub fn say(&mut self, text: &str) {
        self.error.say(text);
    }

    /// Reads once from a pipe that is ready.
    pub fn read(&mut self, rank: u32, stream: Stream) {
        self.read_up_to(rank, stream, 1);
    }

    /// Reads all that rank `rank` has printed so far.
    pub fn drain(&mut self, rank: u32) {
        self.read_up_to(rank, Stream::Out, READS);
        self.read_up_to(rank, Stream::Error, READS);
    }

    fn read_up_to(&mut self, rank: u32, stream: Stream, reads: u32) {
        let Some(slot) = self.pipes.get_mut(index(rank, stream)) else { return };
        let sink = match stream {
            Stream::Out => &mut self.out,
            Stream::Error => &mut self.error,
        };
        let mut bytes = [0; 16 * 1024];
        for _ in 0..reads {
            let Some(pipe) = slot else { return };
            match rustix::io::read(&pipe.end, &mut bytes) {
                Ok(count) if count > 0 && !sink.is_broken() => {
                    pipe.take(&bytes[..count], sink, self.label);
                }
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR) => {}
                // The end; or nobody reads our output any more, and the rank shall learn it as usual:
                // by writing into a pipe without a reader.
                _ => {
                    pipe.release(sink, self.label);
                    *slot = None;
                }
            }
        }
    }

    /// Writes what can be written without waiting, passes stale unfinished lines on, and reads or does not
    /// read the ranks' pipes accordingly.
    pub fn flush(&mut self, events: &Events) {
        let now = Instant::now();
        for pipe in self.pipes.iter_mut().flatten() {
            let sink = match pipe.stream {
                Stream::Out => &mut self.out,
                Stream::Error => &mut self.error,
            };
            if !pipe.held.is_empty() && now >= pipe.held_since + PROMPT {
                pipe.release(sink, self.label);
            }
        }
        self.out.flush(events);
        self.error.flush(events);
        for pipe in self.pipes.iter_mut().flatten() {
            let sink = if pipe.stream == Stream::Out { &self.out } else { &self.error };
            pipe.watch(!sink.is_congested(), events);
        }
    }

    /// When [`flush`](Self::flush) next has an unfinished line to pass on.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.pipes.iter().flatten().filter(|pipe| !pipe.held.is_empty());
        held.map(|pipe| pipe.held_since + PROMPT).min()
    }

    /// Whether whoever read standard output or standard error has gone.
    pub fn is_broken(&self) -> bool {
        self.out.is_broken() || self.error.is_broken()
    }

    /// After the last writer has gone: reads the rest and writes everything, waiting if need be.
    pub fn finish(mut self) {
        for rank in 0..self.pipes.len().div_ceil(2) as u32 {
            self.drain(rank);
        }
        for pipe in self.pipes.iter_mut().flatten() {
            let sink = match pipe.stream {
                Stream::Out => &mut self.out,
                Stream::Error => &mut self.error,
            };
            pipe.release(sink, self.label);
        }
        self.out.finish();
        self.error.finish();
    }
}

fn index(rank: u32, stream: Stream) -> usize {
    rank as usize * 2 + usize::from(stream == Stream::Error)
}

impl Pipe {
    /// Passes on the whole lines among what is held and `bytes`, and holds the rest.
    fn take(&mut self, bytes: &[u8], sink: &mut Sink, label: bool) {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.held.extend_from_slice(&bytes[..whole]);
            self.release(sink, label);
        }
        if self.held.is_empty() {
            self.held_since = Instant::now();
        }
        self.held.extend_from_slice(&bytes[whole..]);
        if self.held.len() > LONGEST_LINE {
            self.release(sink, label);
        }
    }

    fn release(&mut self, sink: &mut Sink, label: bool) {
        sink.put(self.rank, &self.held, label);
        self.held.clear();
    }

    fn watch(&mut self, wanted: bool, events: &Events) {
        if wanted == self.watched {
            return;
        }
        // Out of the set, not merely uninteresting: a hang-up would be reported all the same.
        if wanted {
            // It was in the set before and the set has not shrunk.
            let _ = events.add(self.end.as_fd(), Source::Printed(self.rank, self.stream), Ready::IN);
        } else {
            events.remove(self.end.as_fd());
        }
        self.watched = wanted;
    }
}

/// The launcher's standard stream itself.
pub fn standard(stream: Stream) -> BorrowedFd<'static> {
    match stream {
        Stream::Out => rustix::stdio::stdout(),
        Stream::Error => rustix::stdio::stderr(),
    }
}
