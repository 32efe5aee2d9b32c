//! Messages over a pair of byte streams, and the bytes before the first of them.
//!
//! ```text
//!   noise …  │ preamble │ flight of the handshake │ messages and beats in sealed chunks …
//! ```
//! Owns the buffers and the descriptors. No message is read or written before the channel exists. Never
//! waits, and never changes the mode of a descriptor: the far end may share it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use canele_secure::{BeatKey, Opener, Sealer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::{Serialize, de::DeserializeOwned};

use super::chunks::{self, ChunkKind, ChunkRole};
use super::greeting::{FLIGHT, MAGIC, PREAMBLE, Version};
use crate::events::{Events, Ready, Source};

/// The longest message in bytes. Two kinds of messages are the longest: a task with its command lines, which
/// the system limits, and the counters and links of all ranks of a host.
const MAX_FRAME: usize = 16 << 20;
/// The number of bytes that proves that an incomplete chunk is under way. The beats within the time of
/// silence have fewer.
const MUCH: usize = 1024;
/// The most bytes of noise, such as a shell's greeting, before the preamble.
pub const MOST_NOISE: usize = 64 * 1024;

/// The result of a search for a preamble.
#[derive(Debug, PartialEq, Eq)]
pub enum Preamble {
    /// The preamble may still come.
    NotYet,
    /// The preamble has come.
    Here(Version),
    /// More than [`MOST_NOISE`] bytes came without one.
    Noise,
}

/// The incoming stream.
#[derive(Debug)]
pub struct Inflow {
    fd: OwnedFd,
    source: Source,
    watched: bool,
    bytes: Vec<u8>,
    /// The number of received bytes that have been taken.
    taken: usize,
    /// The opener of chunks, once there is a channel.
    opener: Option<Opener>,
    /// The received part of a message, and the chunk opened last.
    message: Vec<u8>,
    plain: Vec<u8>,
    /// True if a chunk was taken since the last check that the far end lives. `came` counts the bytes
    /// received since then.
    any: bool,
    came: usize,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Bytes have come.
    Some,
    /// No bytes are there now.
    Nothing,
    /// The stream has ended.
    End,
}

impl Inflow {
    /// Returns a stream that reads from `fd`, identified as `source`.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does: with `PERM` for a file.
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

    /// Reads once, if there are bytes.
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

    /// Looks for the preamble; bytes before it are added to `noise`.
    pub fn find_preamble(&mut self, noise: &mut Vec<u8>) -> Preamble {
        let rest = &self.bytes[self.taken..];
        let at = rest.windows(MAGIC.len()).position(|window| window == MAGIC);
        // Bytes that may be the start of the magic stay.
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

    /// Takes a flight of the handshake that has come whole.
    pub fn take_flight(&mut self) -> Option<[u8; FLIGHT]> {
        let flight = *self.bytes[self.taken..].first_chunk::<FLIGHT>()?;
        self.taken += FLIGHT;
        Some(flight)
    }

    /// Sets the opener, so that messages can be read from now on.
    pub fn open_with(&mut self, opener: Opener) {
        self.opener = Some(opener);
    }

    /// Takes the received bytes that are no message, to be shown to the user.
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.bytes.split_off(std::mem::take(&mut self.taken))
    }

    /// Returns the next message that has come whole.
    ///
    /// # Errors
    /// Fails with a text that says why the bytes are no message. No later message can be read.
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

    /// Takes a chunk that has come whole; returns true if it was the last of its message.
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

    /// Returns true if chunks have come since the last call, or enough bytes to prove that a chunk is under
    /// way. Beats that were read as part of a chunk do not count.
    pub fn lives(&mut self) -> bool {
        let lives = std::mem::take(&mut self.any) || self.came >= MUCH;
        if lives {
            self.came = 0;
        }
        lives
    }

    /// Starts or stops watching the stream for more bytes.
    pub fn watch(&mut self, wanted: bool, events: &Events) {
        if wanted && !self.watched {
            self.watched = events.add(self.fd.as_fd(), self.source, Ready::IN).is_ok();
        } else if !wanted && self.watched {
            events.remove(self.fd.as_fd());
            self.watched = false;
        }
    }

    /// Changes the source that identifies the stream.
    pub fn rename(&mut self, source: Source, events: &Events) {
        let watched = self.watched;
        self.watch(false, events);
        self.source = source;
        self.watch(watched, events);
    }

    /// Stops watching and closes the stream.
    pub fn close(mut self, events: &Events) {
        self.watch(false, events);
    }
}

/// The outgoing stream.
#[derive(Debug)]
pub struct Outflow {
    fd: OwnedFd,
    source: Source,
    /// The sealer of messages, once there is a channel, and the messages that were queued before.
    sealer: Option<Sealer>,
    early: Vec<Vec<u8>>,
    waiting: Vec<u8>,
    /// The number of bytes at the start of `waiting` that are the rest of a chunk, or of the greeting.
    begun: usize,
    watched: bool,
}

impl Outflow {
    /// Returns a stream that writes to `fd`, identified as `source`.
    pub fn new(fd: OwnedFd, source: Source) -> Outflow {
        Outflow { fd, source, sealer: None, early: Vec::new(), waiting: Vec::new(), begun: 0, watched: false }
    }

    /// Changes the source that identifies the stream; called before any bytes wait.
    pub fn rename(&mut self, source: Source) {
        self.source = source;
    }

    /// Begins with bytes that are no message: those of the greeting.
    pub fn begin(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        self.begun = self.waiting.len();
    }

    /// Sets the sealer for all later messages, and seals the messages that wait for it.
    pub fn seal_with(&mut self, mut sealer: Sealer) {
        for message in self.early.drain(..) {
            chunks::push(&message, &mut sealer, &mut self.waiting);
        }
        self.sealer = Some(sealer);
    }

    /// Returns the key for the process that sends beats in place of this one; none before there is a channel.
    pub fn beat_key(&self) -> Option<BeatKey> {
        self.sealer.as_ref().map(Sealer::beat_key)
    }

    /// Appends a message. Returns true if it was short enough.
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

    /// Appends a beat, unless bytes wait: those prove as well that this process lives.
    pub fn push_beat(&mut self) {
        if let (Some(sealer), true) = (&mut self.sealer, self.waiting.is_empty()) {
            chunks::push_beat(sealer, &mut self.waiting);
        }
    }

    /// Returns the descriptor of the stream.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the number of bytes that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len() + self.early.iter().map(Vec::len).sum::<usize>()
    }

    /// Returns the end of the next write that starts at `from`: the rest of a chunk, or a whole one.
    fn portion(&self, from: usize) -> usize {
        if self.begun > 0 {
            return from + self.begun.min(chunks::MAX_CHUNK);
        }
        let header = self.waiting[from..].first_chunk().copied();
        let length = header.and_then(|header| chunks::parse(header).ok()).map_or(0, |(length, _)| length);
        from + chunks::HEADER + length
    }

    /// Writes without waiting, one chunk at a time.
    ///
    /// # Errors
    /// Fails if the far end is closed.
    pub fn flush(&mut self, events: &Events) -> Result<(), Errno> {
        let (mut written, now) = (0, Timespec { tv_sec: 0, tv_nsec: 0 });
        while written < self.waiting.len() {
            // An interrupted poll gives no result: a write might wait for ever.
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

    /// Closes the stream; waiting bytes are dropped.
    pub fn close(self, events: &Events) {
        if self.watched {
            events.remove(&self.fd);
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
