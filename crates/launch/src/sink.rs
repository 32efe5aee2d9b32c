//! One of the launcher's own output streams: the bytes that wait to be written, and the position within a
//! line.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fstat, makedev};
use rustix::io::Errno;
use rustix::termios::{LocalModes, isatty, tcgetattr};

use super::events::{Events, Ready, Source, Stream};
use super::output::standard;

/// The number of waiting bytes from which on hosts get no room for more.
const CONGESTED: usize = 1 << 20;
/// The number of bytes that a ready pipe takes without waiting (PIPE_BUF).
const PORTION: usize = 4096;
/// The pause before the next write to a stream that was ready and took nothing. A terminal does so if its
/// room is less than a line feed needs there.
const WRITE_AGAIN: Duration = Duration::from_millis(20);

/// The writer of a line.
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
    /// The stream that replaces the standard one.
    instead: Option<OwnedFd>,
    /// The terminal of the stream, opened once more. If it has no room, or is stopped (^S), writes to it do
    /// not delay the launcher.
    terminal: Option<OwnedFd>,
    waiting: Vec<u8>,
    /// The writer of the last line, if it is unfinished.
    open_line: Option<Origin>,
    /// True while it is in the set of descriptors waited for.
    watched: bool,
    /// The time of the next write to a stream whose readiness is not reliable.
    again_at: Option<Instant>,
    /// The reason why nothing more is written.
    broken: Option<Broken>,
    /// The error, until it is reported.
    unreported: Option<Broken>,
}

/// The reason why a stream accepts no more data. Its waiting bytes are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broken {
    /// The reader of the pipe has gone, as any reader in a pipeline may.
    ReaderLeft,
    /// The system refused.
    Failed(Errno),
}

impl Sink {
    /// Returns the launcher's standard output or standard error, or `instead` of it.
    pub fn new(stream: Stream, instead: Option<OwnedFd>) -> Sink {
        let terminal = reopened(instead.as_ref().map_or_else(|| standard(stream), AsFd::as_fd));
        Sink {
            stream,
            instead,
            terminal,
            waiting: Vec::new(),
            open_line: None,
            watched: false,
            again_at: None,
            broken: None,
            unreported: None,
        }
    }

    /// Returns the descriptor that is written to.
    pub fn target(&self) -> BorrowedFd<'_> {
        self.terminal.as_ref().map_or_else(|| self.fd(), AsFd::as_fd)
    }

    /// Returns the descriptor of the stream as it was given to [`new`](Self::new).
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.instead.as_ref().map_or_else(|| standard(self.stream), AsFd::as_fd)
    }

    /// Returns true for a terminal on which background processes (which ranks are) may print.
    pub fn is_open_terminal(&self) -> bool {
        isatty(self.fd())
            && tcgetattr(self.fd()).is_ok_and(|modes| !modes.local_modes.contains(LocalModes::TOSTOP))
    }

    /// Returns true if nothing more is written.
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Takes the reason why output was lost, if it was not taken before.
    pub fn take_broken(&mut self) -> Option<Broken> {
        self.unreported.take()
    }

    /// Returns the number of bytes that wait to be written.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the time of the next [`flush`](Self::flush) for a stream whose room no event reports.
    pub fn again_at(&self) -> Option<Instant> {
        self.again_at
    }

    /// Returns true if so many bytes wait that no more should be read.
    pub fn is_congested(&self) -> bool {
        self.waiting.len() >= CONGESTED
    }

    /// Appends output of a rank or host; each line starts with the label, if there is one.
    pub fn put(&mut self, from: Origin, bytes: &[u8], label: Option<&str>) {
        if bytes.is_empty() || self.is_broken() {
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
        if self.is_broken() {
            return;
        }
        self.end_line();
        self.waiting.extend_from_slice(format!("canele: {text}\n").as_bytes());
    }

    fn end_line(&mut self) {
        if self.open_line.take().is_some() {
            self.waiting.push(b'\n');
        }
    }

    /// Writes until the stream would block.
    pub fn flush(&mut self, events: &Events) {
        let mut written = 0;
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.again_at = None;
        while written < self.waiting.len() && !self.is_broken() {
            let fd = self.target();
            // An interrupted poll gives no result: a write might wait for ever.
            if !poll(&mut [PollFd::new(&fd, PollFlags::OUT)], Some(&now)).is_ok_and(|count| count > 0) {
                break;
            }
            let portion = (self.waiting.len() - written).min(PORTION);
            match rustix::io::write(self.target(), &self.waiting[written..written + portion]) {
                Ok(count) if count > 0 => written += count,
                Err(Errno::INTR) => {}
                Ok(_) | Err(Errno::AGAIN) => {
                    self.again_at = Some(Instant::now() + WRITE_AGAIN);
                    break;
                }
                Err(errno) => self.break_off(errno),
            }
        }
        self.waiting.drain(..written.min(self.waiting.len()));
        let wanted = !self.waiting.is_empty() && self.again_at.is_none();
        if wanted && !self.watched {
            self.watched = events.add(self.target(), Source::Sink(self.stream), Ready::OUT).is_ok();
        } else if !wanted && self.watched {
            events.remove(self.target());
            self.watched = false;
        }
    }

    fn break_off(&mut self, errno: Errno) {
        let why = if errno == Errno::PIPE { Broken::ReaderLeft } else { Broken::Failed(errno) };
        self.broken = Some(why);
        self.unreported = Some(why);
        self.waiting.clear();
    }
}

/// Opens a terminal again, to write to it without waiting. The descriptor itself keeps its mode, which all
/// its holders share. `None` if it is no terminal, or cannot be opened again.
fn reopened(fd: BorrowedFd<'_>) -> Option<OwnedFd> {
    // Opening the master side of a pseudo-terminal gives a new one.
    const MASTERS: (u32, u32) = (5, 2);
    let device = |fd: BorrowedFd<'_>| fstat(fd).ok().map(|stat| (stat.st_dev, stat.st_ino, stat.st_rdev));
    let given = device(fd).filter(|given| isatty(fd) && given.2 != makedev(MASTERS.0, MASTERS.1))?;
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let terminal = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    (device(terminal.as_fd()) == Some(given)).then_some(terminal)
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

    use super::*;

    #[test]
    fn a_stream_that_is_ready_and_takes_nothing_is_not_waited_for_in_a_loop() {
        // A counter is ready if 1 can be added, but then takes no larger number.
        let counter = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&counter, &(u64::MAX - 2).to_ne_bytes()).unwrap();
        let events = Events::new().unwrap();
        let mut sink = Sink::new(Stream::Out, Some(counter.try_clone().unwrap()));
        sink.put(Origin::Rank(0), b"a line.\n", None);
        sink.flush(&events);
        assert_eq!(sink.waiting(), 8);
        assert!(sink.again_at().is_some() && events.wait(Some(Instant::now())).is_empty());
        rustix::io::read(&counter, &mut [0; 8]).unwrap();
        sink.flush(&events);
        assert_eq!((sink.waiting(), sink.again_at()), (0, None));
    }

    #[test]
    fn the_terminal_that_is_written_to_is_the_one_given() {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        let sides = [(&slave, &master), (&master, &slave)];
        let events = Events::new().unwrap();
        for (written, read) in sides {
            let mut sink = Sink::new(Stream::Out, Some(written.try_clone().unwrap()));
            sink.put(Origin::Rank(0), b"a line\n", None);
            sink.flush(&events);
            assert_eq!(sink.waiting(), 0);
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            assert_eq!(poll(&mut [PollFd::new(read, PollFlags::IN)], Some(&now)), Ok(1), "it came");
            rustix::io::read(read, &mut [0; 100]).unwrap();
        }
        assert!(reopened(slave.as_fd()).is_some() && reopened(master.as_fd()).is_none());
    }

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
