//! One of the launcher's own output streams: what waits to be written there, and where in a line it is.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, isatty, tcgetattr};

use super::events::{Events, Ready, Source, Stream};
use super::output::standard;

/// Bytes waiting from which on sites are given no room for more.
const CONGESTED: usize = 1 << 20;
/// A pipe that is ready takes this much without waiting (PIPE_BUF).
const PORTION: usize = 4096;

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A rank.
    Rank(u32),
    /// The remote shell of a host.
    Host(usize),
}

/// An output stream of the launcher.
#[derive(Debug)]
pub struct Sink {
    stream: Stream,
    /// Where it goes instead of to the standard stream.
    instead: Option<OwnedFd>,
    waiting: Vec<u8>,
    /// Whose unfinished line was written last.
    open_line: Option<Origin>,
    /// In the set of descriptors waited for.
    watched: bool,
    broken: bool,
}

impl Sink {
    /// The launcher's standard output or standard error, or what stands for it.
    pub fn new(stream: Stream, instead: Option<OwnedFd>) -> Sink {
        Sink { stream, instead, waiting: Vec::new(), open_line: None, watched: false, broken: false }
    }

    /// The stream's descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.instead.as_ref().map_or_else(|| standard(self.stream), AsFd::as_fd)
    }

    /// Whether this is a terminal on which background processes (which ranks are) may print.
    pub fn is_open_terminal(&self) -> bool {
        isatty(self.fd())
            && tcgetattr(self.fd()).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::TOSTOP))
    }

    /// Whether whoever read this has gone.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Whether so much waits that no more should be read.
    pub fn is_congested(&self) -> bool {
        self.waiting.len() >= CONGESTED
    }

    /// Appends what somebody printed; each line starts with the label, if there is one.
    pub fn put(&mut self, from: Origin, bytes: &[u8], label: Option<&str>) {
        if bytes.is_empty() || self.broken {
            return;
        }
        let Some(label) = label else {
            self.waiting.extend_from_slice(bytes);
            self.open_line = (!bytes.ends_with(b"\n")).then_some(from);
            return;
        };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            if self.open_line != Some(from) {
                self.end_line();
                self.waiting.extend_from_slice(label.as_bytes());
            }
            self.waiting.extend_from_slice(line);
            self.open_line = (!line.ends_with(b"\n")).then_some(from);
        }
    }

    /// Appends a message of the launcher's own.
    pub fn say(&mut self, text: &str) {
        self.end_line();
        self.waiting.extend_from_slice(format!("canele: {text}\n").as_bytes());
    }

    fn end_line(&mut self) {
        if self.open_line.take().is_some() {
            self.waiting.push(b'\n');
        }
    }

    /// Writes what the stream takes without waiting.
    pub fn flush(&mut self, events: &Events) {
        let mut written = 0;
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        while written < self.waiting.len() && !self.broken {
            let fd = self.fd();
            if poll(&mut [PollFd::new(&fd, PollFlags::OUT)], Some(&now)).is_ok_and(|count| count == 0) {
                break;
            }
            let portion = (self.waiting.len() - written).min(PORTION);
            match rustix::io::write(self.fd(), &self.waiting[written..written + portion]) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.break_off(),
            }
        }
        self.waiting.drain(..written.min(self.waiting.len()));
        let wanted = !self.waiting.is_empty();
        if wanted && !self.watched {
            self.watched = events.add(self.fd(), Source::Sink(self.stream), Ready::OUT).is_ok();
        } else if !wanted && self.watched {
            events.remove(self.fd());
            self.watched = false;
        }
    }

    /// Writes everything, waiting as long as the reader wants.
    pub fn finish(&mut self) {
        let mut rest = self.waiting.as_slice();
        while !rest.is_empty() && !self.broken {
            match rustix::io::write(self.fd(), rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    let _ = poll(&mut [PollFd::new(&self.fd(), PollFlags::OUT)], None);
                }
                Err(_) => break,
            }
        }
        self.waiting.clear();
    }

    fn break_off(&mut self) {
        self.broken = true;
        self.waiting.clear();
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        // Only reached with something waiting when the launcher gives up half-way.
        self.finish();
        let _ = io::Write::flush(&mut io::stdout());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(feed: impl FnOnce(&mut Sink)) -> String {
        let mut sink = Sink::new(Stream::Out, None);
        feed(&mut sink);
        String::from_utf8(std::mem::take(&mut sink.waiting)).unwrap()
    }

    fn put(sink: &mut Sink, rank: u32, bytes: &[u8], label: bool) {
        sink.put(Origin::Rank(rank), bytes, label.then(|| format!("[{rank}] ")).as_deref());
    }

    #[test]
    fn labels_stand_before_every_line_and_never_in_one() {
        let labelled = text(|sink| {
            put(sink, 1, b"a\nb\n", true);
            put(sink, 2, b"name? ", true);
            put(sink, 2, b"yes\n", true);
            put(sink, 3, b"half", true);
            put(sink, 1, b"c\n\n", true);
            sink.say("end");
        });
        assert_eq!(labelled, "[1] a\n[1] b\n[2] name? yes\n[3] half\n[1] c\n[1] \ncanele: end\n");
    }

    #[test]
    fn without_labels_not_a_byte_is_added_but_before_our_own_messages() {
        assert_eq!(
            text(|sink| {
                put(sink, 1, b"half", false);
                put(sink, 2, b"line\n", false);
            }),
            "halfline\n"
        );
        assert_eq!(
            text(|sink| {
                put(sink, 1, b"half", false);
                sink.say("end");
            }),
            "half\ncanele: end\n"
        );
    }
}
