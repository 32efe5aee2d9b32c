//! The output of processes, read from their pipes in whole lines.
//!
//! Owns the reading ends. Never reads more than the receiver of the lines has room for. An unfinished line,
//! such as a prompt, is returned once its pipe has been empty for a moment. While a pipe is not read for lack
//! of room, its unfinished line is kept.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::events::{Events, Ready, Source, Stream};

/// The time for which an unfinished line is held back.
const PROMPT: Duration = Duration::from_millis(100);
/// The longest line that is held back, in bytes.
const LONGEST_LINE: usize = 64 * 1024;
/// The size of an atomic write (PIPE_BUF). A read of more bytes shows that more of a large write follows.
const PART_OF_WRITE: usize = 4096;
/// The most consecutive reads from a pipe whose writers may still be writing.
const READS: u32 = 64;
/// The number of bytes of each stream that may be under way.
const ROOM: i64 = 256 * 1024;

/// One stream of one process.
#[derive(Debug)]
struct Pipe {
    end: OwnedFd,
    from: u32,
    stream: Stream,
    /// The beginning of a line.
    held: Vec<u8>,
    held_since: Instant,
    watched: bool,
}

/// Output of a process.
#[derive(Debug)]
pub struct Print {
    /// The number of the process.
    pub from: u32,
    /// The stream.
    pub stream: Stream,
    /// Whole lines, or a line whose end did not come.
    pub bytes: Vec<u8>,
}

/// All streams of all processes of a host, by number.
#[derive(Debug)]
pub struct Pipes {
    first: u32,
    pipes: Vec<Option<Pipe>>,
    /// The room of standard output and standard error; below 0 after the last output of a process.
    room: [i64; 2],
    /// True for a stream that has no reader any more.
    shut: [bool; 2],
    prints: Vec<Print>,
}

impl Pipes {
    /// Returns a set without pipes; `first` is the smallest number of a process.
    pub fn new(first: u32) -> Pipes {
        Pipes { first, pipes: Vec::new(), room: [ROOM; 2], shut: [false; 2], prints: Vec::new() }
    }

    /// Opens the pipe that process `from` gets as `stream`.
    ///
    /// # Errors
    /// Fails as pipe2(2) and epoll_ctl(2) do.
    pub fn open(&mut self, from: u32, stream: Stream, events: &Events) -> io::Result<OwnedFd> {
        let (end, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        if self.shut[stream as usize] {
            return Ok(writer); // It has no reader, so that a rank that starts late learns of it, too.
        }
        rustix::io::ioctl_fionbio(&end, true)?;
        events.add(&end, Source::Printed(from, stream), Ready::IN)?;
        let pipe = Pipe { end, from, stream, held: Vec::new(), held_since: Instant::now(), watched: true };
        let index = self.index(from, stream);
        if self.pipes.len() <= index {
            self.pipes.resize_with(index + 1, || None);
        }
        self.pipes[index] = Some(pipe);
        Ok(writer)
    }

    fn index(&self, from: u32, stream: Stream) -> usize {
        (from - self.first) as usize * 2 + stream as usize
    }

    /// Takes the output since the last call, in order.
    pub fn take(&mut self) -> Vec<Print> {
        std::mem::take(&mut self.prints)
    }

    /// Adds room for bytes that have been passed on.
    pub fn give_room(&mut self, stream: Stream, bytes: u32) {
        let room = &mut self.room[stream as usize];
        *room = (*room + i64::from(bytes)).min(ROOM);
    }

    /// Closes a stream that has no reader any more: ranks notice it when they write, as with any pipe.
    pub fn shut(&mut self, stream: Stream) {
        self.shut[stream as usize] = true;
        for slot in &mut self.pipes {
            if slot.as_ref().is_some_and(|pipe| pipe.stream == stream) {
                *slot = None;
            }
        }
    }

    /// Reads once from a pipe that is ready.
    pub fn read(&mut self, from: u32, stream: Stream) {
        if self.room[stream as usize] > 0 {
            self.read_up_to(from, stream, 1);
        }
    }

    /// Reads all that process `from` has printed so far.
    pub fn drain(&mut self, from: u32) {
        self.read_up_to(from, Stream::Out, READS);
        self.read_up_to(from, Stream::Error, READS);
    }

    /// Reads the rest after the last writer has gone.
    pub fn finish(&mut self) {
        for from in 0..self.pipes.len().div_ceil(2) as u32 {
            self.drain(self.first + from);
        }
        for pipe in self.pipes.iter_mut().flatten() {
            pipe.release(&mut self.room, &mut self.prints);
        }
        self.pipes.clear();
    }

    fn read_up_to(&mut self, from: u32, stream: Stream, reads: u32) {
        let index = self.index(from, stream);
        let Some(slot) = self.pipes.get_mut(index) else { return };
        let mut bytes = [0; 16 * 1024];
        for _ in 0..reads {
            let Some(pipe) = slot else { return };
            match rustix::io::read(&pipe.end, &mut bytes) {
                Ok(count) if count > 0 => pipe.take(&bytes[..count], &mut self.room, &mut self.prints),
                Err(rustix::io::Errno::AGAIN) => return,
                Err(rustix::io::Errno::INTR) => {}
                _ => {
                    pipe.release(&mut self.room, &mut self.prints);
                    *slot = None;
                }
            }
        }
    }

    /// Returns unfinished lines that have not grown for a moment.
    pub fn look(&mut self, now: Instant) {
        let stale = |pipe: &Pipe| pipe.is_held_back(&self.room) && now >= pipe.held_since + PROMPT;
        let stale = self.pipes.iter().flatten().filter(|pipe| stale(pipe));
        let stale: Vec<(u32, Stream)> = stale.map(|pipe| (pipe.from, pipe.stream)).collect();
        for (from, stream) in stale {
            // The rest of the line may lie in the pipe.
            self.read_up_to(from, stream, READS);
            let index = self.index(from, stream);
            let Some(Some(pipe)) = self.pipes.get_mut(index) else { continue };
            if now >= pipe.held_since + PROMPT {
                pipe.release(&mut self.room, &mut self.prints);
            }
        }
    }

    /// Watches the pipes for which there is room.
    pub fn watch(&mut self, events: &Events) {
        for pipe in self.pipes.iter_mut().flatten() {
            pipe.watch(self.room[pipe.stream as usize] > 0, events);
        }
    }

    /// Returns the next time at which [`look`](Self::look) has work.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.pipes.iter().flatten().filter(|pipe| pipe.is_held_back(&self.room));
        held.map(|pipe| pipe.held_since + PROMPT).min()
    }
}

impl Pipe {
    /// Moves the whole lines among the held bytes and `bytes` to `prints`, and holds the rest.
    fn take(&mut self, bytes: &[u8], room: &mut [i64; 2], prints: &mut Vec<Print>) {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.held.extend_from_slice(&bytes[..whole]);
            self.release(room, prints);
        }
        if self.held.is_empty() || bytes.len() > PART_OF_WRITE {
            self.held_since = Instant::now();
        }
        self.held.extend_from_slice(&bytes[whole..]);
        if self.held.len() > LONGEST_LINE {
            self.release(room, prints);
        }
    }

    /// Returns true if the start of a line waits for its end, and the pipe is read.
    fn is_held_back(&self, room: &[i64; 2]) -> bool {
        !self.held.is_empty() && room[self.stream as usize] > 0
    }

    fn release(&mut self, room: &mut [i64; 2], prints: &mut Vec<Print>) {
        if !self.held.is_empty() {
            let bytes = std::mem::take(&mut self.held);
            room[self.stream as usize] -= bytes.len() as i64;
            prints.push(Print { from: self.from, stream: self.stream, bytes });
        }
    }

    fn watch(&mut self, wanted: bool, events: &Events) {
        if wanted == self.watched {
            return;
        }
        // The pipe is removed from the set, because a hang-up would be reported even without interest in it.
        if wanted {
            // The pipe was in the set before and the set has not shrunk.
            let _ = events.add(self.end.as_fd(), Source::Printed(self.from, self.stream), Ready::IN);
        } else {
            events.remove(self.end.as_fd());
        }
        self.watched = wanted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(3600);

    fn print(writer: &OwnedFd, bytes: &[u8]) {
        assert_eq!(rustix::io::write(writer, bytes).unwrap(), bytes.len());
    }

    /// Returns a pipe of rank 0 that is no longer read, in the middle of a line.
    fn without_room() -> (Pipes, OwnedFd) {
        let mut pipes = Pipes::new(0);
        let writer = pipes.open(0, Stream::Out, &Events::new().unwrap()).unwrap();
        let line = [&[b'x'; 99][..], b"\n"].concat();
        while pipes.room[0] > 0 {
            print(&writer, &line.repeat(500));
            for _ in 0..3 {
                pipes.read(0, Stream::Out);
            }
        }
        assert!(!pipes.pipes[0].as_ref().unwrap().held.is_empty());
        (pipes, writer)
    }

    #[test]
    fn a_line_is_kept_together_while_its_pipe_is_not_read() {
        let (mut pipes, _writer) = without_room();
        pipes.look(Instant::now() + LATER);
        assert_eq!(pipes.deadline(), None);
        pipes.give_room(Stream::Out, u32::MAX);
        assert!(pipes.deadline().is_some());
        // Now it is read before it is given up.
        pipes.look(Instant::now() + LATER);
        assert!(pipes.take().iter().all(|print| print.bytes.ends_with(b"x\n")));
    }

    #[test]
    fn a_prompt_is_given_out_once_its_pipe_is_empty() {
        let mut pipes = Pipes::new(0);
        let writer = pipes.open(0, Stream::Out, &Events::new().unwrap()).unwrap();
        print(&writer, b"na");
        pipes.read(0, Stream::Out);
        print(&writer, b"me? ");
        pipes.look(Instant::now());
        assert!(pipes.take().is_empty(), "the moment has not passed");
        pipes.look(Instant::now() + LATER);
        let prints: Vec<_> = pipes.take().into_iter().map(|print| print.bytes).collect();
        assert_eq!(prints, [b"name? "]);
    }
}
