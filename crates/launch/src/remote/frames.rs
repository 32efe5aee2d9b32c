//! Messages over a pair of byte streams, and what may come before the first of them.
//!
//! ```text
//!   noise …  │ preamble │ flight of the handshake │ messages and beats in sealed chunks …
//! ```
//! Owns the buffers and the descriptors. No message is read or written before the channel is there. Never waits, and never leaves a
//! descriptor in another mode than it was: the far end may share it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use canele_secure::{BeatKey, Opener, Sealer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::{Serialize, de::DeserializeOwned};

use super::chunks::{self, ChunkKind, ChunkRole};
use super::greeting::{FLIGHT, MAGIC, PREAMBLE, Version};
use crate::events::{Events, Ready, Source};

/// The longest message in bytes; the longest are a task with its command lines, which the system limits to less, and the counters
/// and links of all ranks of a host.
const MAX_FRAME: usize = 16 << 20;
/// Bytes of a chunk that is still to come whole, more than beats in the time of silence.
const MUCH: usize = 1024;
/// Bytes that may come before the preamble.
pub const MOST_NOISE: usize = 64 * 1024;

/// Where a preamble may be.
#[derive(Debug, PartialEq, Eq)]
pub enum Preamble {
    /// It may still come.
    NotYet,
    /// It came.
    Here(Version),
    /// More than [`MOST_NOISE`] bytes came without one.
    Noise,
}

/// What comes in.
#[derive(Debug)]
pub struct Inflow {
    fd: OwnedFd,
    source: Source,
    watched: bool,
    bytes: Vec<u8>,
    /// Bytes of it that have been taken.
    taken: usize,
    /// What opens the chunks, once there is a channel.
    opener: Option<Opener>,
    /// What has come of a message, and the chunk opened last.
    message: Vec<u8>,
    plain: Vec<u8>,
    /// True if a chunk was taken, and so many bytes came, since the last check that the far end lives.
    any: bool,
    came: usize,
}

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Something came.
    Some,
    /// Nothing is there now.
    Nothing,
    /// Nothing will ever come again.
    End,
}

impl Inflow {
    /// Reads from `fd`, known as `source`.
    ///
    /// # Errors
    /// As epoll_ctl(2): `PERM` for a file.
    pub fn new(fd: OwnedFd, source: Source, events: &Events) -> Result<Inflow, Errno> {
        events.add(&fd, source, Ready::IN)?;
        Ok(Inflow {
            fd,
            source,
            watched: true,
            bytes: Vec::new(),
            taken: 0,
            opener: None,
            message: Vec::new(),
            plain: Vec::new(),
            any: false,
            came: 0,
        })
    }

    /// Reads once, if something is there.
    pub fn read(&mut self) -> Read {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut [PollFd::new(&self.fd, PollFlags::IN)], Some(&now)) {
            Ok(0) | Err(Errno::INTR) => return Read::Nothing,
            Ok(_) => {}
            Err(_) => return Read::End,
        }
        self.bytes.drain(..self.taken);
        self.taken = 0;
        let mut more = [0; 64 * 1024];
        match rustix::io::read(&self.fd, &mut more) {
            Ok(0) => Read::End,
            Ok(count) => {
                self.bytes.extend_from_slice(&more[..count]);
                self.came += count;
                Read::Some
            }
            Err(Errno::INTR | Errno::AGAIN) => Read::Nothing,
            Err(_) => Read::End,
        }
    }

    /// Looks for the preamble; what comes before it is added to `noise`.
    pub fn find_preamble(&mut self, noise: &mut Vec<u8>) -> Preamble {
        let rest = &self.bytes[self.taken..];
        let at = rest.windows(MAGIC.len()).position(|window| window == MAGIC);
        // What may be the beginning of the magic stays.
        let before = at.unwrap_or((rest.len() + 1).saturating_sub(MAGIC.len()));
        noise.extend_from_slice(&rest[..before]);
        let rest = &rest[before..];
        self.taken += before;
        if noise.len() > MOST_NOISE {
            return Preamble::Noise;
        }
        let (Some(_), Some(preamble)) = (at, rest.first_chunk()) else { return Preamble::NotYet };
        self.taken += PREAMBLE;
        Preamble::Here(Version::parse(preamble))
    }

    /// Takes a flight of the handshake that has come as a whole.
    pub fn take_flight(&mut self) -> Option<[u8; FLIGHT]> {
        let flight = *self.bytes[self.taken..].first_chunk::<FLIGHT>()?;
        self.taken += FLIGHT;
        Some(flight)
    }

    /// Messages can be read from now on.
    pub fn open_with(&mut self, opener: Opener) {
        self.opener = Some(opener);
    }

    /// Takes what was read and is no message, to be shown.
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.bytes.split_off(std::mem::take(&mut self.taken))
    }

    /// The next message that has come as a whole.
    ///
    /// # Errors
    /// A text that says why what came is no message. Nothing of what follows can be read.
    pub fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, String> {
        loop {
            match self.take_chunk()? {
                Some(true) => break,
                Some(false) => {}
                None => return Ok(None),
            }
        }
        let message = match postcard::take_from_bytes(&self.message) {
            Ok((message, [])) => message,
            Ok((_, rest)) => return Err(format!("a message with {} bytes too many", rest.len())),
            Err(error) => return Err(format!("an undecodable message ({error})")),
        };
        self.message.clear();
        Ok(Some(message))
    }

    /// Takes a chunk that has come as a whole; says whether it was the last of its message.
    fn take_chunk(&mut self) -> Result<Option<bool>, String> {
        let Some(opener) = &mut self.opener else { return Ok(None) };
        let rest = &self.bytes[self.taken..];
        let Some((header, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let (length, kind) = chunks::parse(*header)?;
        let Some(chunk) = rest.get(..length) else { return Ok(None) };
        let role = match kind {
            ChunkKind::StandInBeat => {
                let beat = chunk.try_into().map_err(|_| "a beat of another length")?;
                opener.open_beat(beat).map_err(|refused| refused.to_string())?;
                ChunkRole::Beat
            }
            ChunkKind::Sealed => {
                self.plain.clear();
                opener.open(chunk, &mut self.plain).map_err(|refused| refused.to_string())?;
                let (role, part) = self.plain.split_first().ok_or("an empty frame")?;
                if self.message.len() + part.len() > MAX_FRAME {
                    return Err(format!("a message of more than {MAX_FRAME} bytes"));
                }
                let role = ChunkRole::from_byte(*role).ok_or("a frame of no kind")?;
                if role != ChunkRole::Beat {
                    self.message.extend_from_slice(part);
                }
                role
            }
        };
        self.taken += chunks::HEADER + length;
        self.any = true;
        Ok(Some(role == ChunkRole::Last))
    }

    /// Whether chunks have come since this was asked last, or so much that one is under way. Beats that are taken for part of
    /// a chunk are neither.
    pub fn lives(&mut self) -> bool {
        let lives = std::mem::take(&mut self.any) || self.came >= MUCH;
        if lives {
            self.came = 0;
        }
        lives
    }

    /// Waits for more, or does not for the moment.
    pub fn watch(&mut self, wanted: bool, events: &Events) {
        if wanted && !self.watched {
            self.watched = events.add(self.fd.as_fd(), self.source, Ready::IN).is_ok();
        } else if !wanted && self.watched {
            events.remove(self.fd.as_fd());
            self.watched = false;
        }
    }

    /// Is known as another source from now on.
    pub fn rename(&mut self, source: Source, events: &Events) {
        let watched = self.watched;
        self.watch(false, events);
        self.source = source;
        self.watch(watched, events);
    }

    /// Waits for it no more.
    pub fn close(mut self, events: &Events) {
        self.watch(false, events);
    }
}

/// What goes out.
#[derive(Debug)]
pub struct Outflow {
    fd: OwnedFd,
    source: Source,
    /// What seals messages, once there is a channel, and those that were there before it.
    sealer: Option<Sealer>,
    early: Vec<Vec<u8>>,
    waiting: Vec<u8>,
    /// Bytes at its beginning that are the rest of a chunk, or are none.
    begun: usize,
    watched: bool,
}

impl Outflow {
    /// Writes to `fd`, known as `source`.
    pub fn new(fd: OwnedFd, source: Source) -> Outflow {
        Outflow { fd, source, sealer: None, early: Vec::new(), waiting: Vec::new(), begun: 0, watched: false }
    }

    /// Is known as another source from now on; before anything waits.
    pub fn rename(&mut self, source: Source) {
        self.source = source;
    }

    /// Begins with bytes that are no message: those of the greeting.
    pub fn begin(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.begun = self.waiting.len();
    }

    /// Messages are sealed with this from now on, first those that wait for it.
    pub fn seal_with(&mut self, mut sealer: Sealer) {
        for message in self.early.drain(..) {
            chunks::push(&message, &mut sealer, &mut self.waiting);
        }
        self.sealer = Some(sealer);
    }

    /// For the process that says in the place of this one that it lives; none before there is a channel.
    pub fn beat_key(&self) -> Option<BeatKey> {
        self.sealer.as_ref().map(Sealer::beat_key)
    }

    /// Appends a message. Says whether it was short enough.
    pub fn push<T: Serialize>(&mut self, message: &T) -> bool {
        let bytes = postcard::to_stdvec(message).expect("messages have no unencodable part");
        let fits = bytes.len() <= MAX_FRAME;
        match &mut self.sealer {
            _ if !fits => {}
            Some(sealer) => chunks::push(&bytes, sealer, &mut self.waiting),
            None => self.early.push(bytes),
        }
        fits
    }

    /// Appends a beat, unless something waits: that says as well that this process lives.
    pub fn push_beat(&mut self) {
        if let (Some(sealer), true) = (&mut self.sealer, self.waiting.is_empty()) {
            chunks::push_beat(sealer, &mut self.waiting);
        }
    }

    /// The descriptor.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Bytes that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.early.iter().map(Vec::len).sum::<usize>()
    }

    /// The end of what is written next behind `from`: the rest of a chunk, or one whole.
    fn portion(&self, from: usize) -> usize {
        if self.begun > 0 {
            return from + self.begun.min(chunks::MAX_CHUNK);
        }
        let header = self.waiting[from..].first_chunk().copied();
        let length = header.and_then(|header| chunks::parse(header).ok()).map_or(0, |(length, _)| length);
        from + chunks::HEADER + length
    }

    /// Writes what can be written without waiting, a chunk at once.
    ///
    /// # Errors
    /// The far end is closed.
    pub fn flush(&mut self, events: &Events) -> Result<(), Errno> {
        let (mut written, now) = (0, Timespec { tv_sec: 0, tv_nsec: 0 });
        while written < self.waiting.len() {
            // An interrupted question is no answer: a write might wait for ever.
            if !poll(&mut [PollFd::new(&self.fd, PollFlags::OUT)], Some(&now)).is_ok_and(|count| count > 0) {
                break;
            }
            let end = self.portion(written);
            match rustix::io::write(&self.fd, &self.waiting[written..end]) {
                Ok(count) => {
                    let rest = if self.begun > 0 { self.begun } else { end - written };
                    self.begun = rest - count;
                    written += count;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno),
            }
        }
        self.waiting.drain(..written);
        let wanted = !self.waiting.is_empty();
        if wanted && !self.watched {
            self.watched = events.add(self.fd.as_fd(), self.source, Ready::OUT).is_ok();
        } else if !wanted && self.watched {
            events.remove(self.fd.as_fd());
            self.watched = false;
        }
        Ok(())
    }

    /// Writes no more; what waits is dropped.
    pub fn close(self, events: &Events) {
        if self.watched {
            events.remove(&self.fd);
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
