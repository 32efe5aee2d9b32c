//! What processes print, read from their pipes in whole lines.
//!
//! Owns the reading ends. Never reads further than there is room for at whoever takes the lines. A line without its end
//! (a prompt) is given out after a moment.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use crate::run::events::{Events, Ready, Source, Stream};

/// How long an unfinished line is held back.
const PROMPT: Duration = Duration::from_millis(100);
/// The longest line in bytes that is held back.
const LONGEST_LINE: usize = 64 * 1024;
/// Reads in a row from a pipe whose writers may still be writing.
const READS: u32 = 64;
/// Bytes of each stream that may be under way.
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

/// What a process printed.
#[derive(Debug)]
pub struct Print {
    /// Which process.
    pub from: u32,
    /// Where.
    pub stream: Stream,
    /// Whole lines, or one whose end did not come.
    pub bytes: Vec<u8>,
}

/// All streams of all processes of a site, by number.
#[derive(Debug)]
pub struct Pipes {
    first: u32,
    pipes: Vec<Option<Pipe>>,
    /// Of standard output and standard error; below 0 after the last words of a process.
    room: [i64; 2],
    prints: Vec<Print>,
}

impl Pipes {
    /// None yet; `first` is the smallest number of a process.
    pub fn new(first: u32) -> Pipes {
        Pipes { first, pipes: Vec::new(), room: [ROOM; 2], prints: Vec::new() }
    }

    /// What process `from` is given as `stream`.
    ///
    /// # Errors
    /// As pipe2(2), epoll_ctl(2).
    pub fn open(&mut self, from: u32, stream: Stream, events: &Events) -> io::Result<OwnedFd> {
        let (end, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
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

    /// What was printed since the last call, in order.
    pub fn take(&mut self) -> Vec<Print> {
        std::mem::take(&mut self.prints)
    }

    /// So much has been passed on.
    pub fn give_room(&mut self, stream: Stream, bytes: u32) {
        let room = &mut self.room[stream as usize];
        *room = (*room + i64::from(bytes)).min(ROOM);
    }

    /// Nobody wants to know any more: who prints shall learn it as usual, by writing into a pipe without a reader.
    pub fn shut(&mut self, stream: Stream) {
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

    /// After the last writer has gone: reads the rest.
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

    /// Gives out unfinished lines that are stale.
    pub fn look(&mut self, now: Instant) {
        for pipe in self.pipes.iter_mut().flatten() {
            if !pipe.held.is_empty() && now >= pipe.held_since + PROMPT {
                pipe.release(&mut self.room, &mut self.prints);
            }
        }
    }

    /// Waits for the pipes for which there is room.
    pub fn watch(&mut self, events: &Events) {
        for pipe in self.pipes.iter_mut().flatten() {
            pipe.watch(self.room[pipe.stream as usize] > 0, events);
        }
    }

    /// When [`look`](Self::look) next has something to give out.
    pub fn deadline(&self) -> Option<Instant> {
        let held = self.pipes.iter().flatten().filter(|pipe| !pipe.held.is_empty());
        held.map(|pipe| pipe.held_since + PROMPT).min()
    }
}

impl Pipe {
    /// Gives out the whole lines among what is held and `bytes`, and holds the rest.
    fn take(&mut self, bytes: &[u8], room: &mut [i64; 2], prints: &mut Vec<Print>) {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.held.extend_from_slice(&bytes[..whole]);
            self.release(room, prints);
        }
        if self.held.is_empty() {
            self.held_since = Instant::now();
        }
        self.held.extend_from_slice(&bytes[whole..]);
        if self.held.len() > LONGEST_LINE {
            self.release(room, prints);
        }
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
        // Out of the set, not merely uninteresting: a hang-up would be reported all the same.
        if wanted {
            // It was in the set before and the set has not shrunk.
            let _ = events.add(self.end.as_fd(), Source::Printed(self.from, self.stream), Ready::IN);
        } else {
            events.remove(self.end.as_fd());
        }
        self.watched = wanted;
    }
}
