//! A connection after its handshake: the socket, and what goes out and comes in.
//!
//! Owns the socket. Never waits for it: what it does not take now is sent later.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use canele_sys::ids::Rank;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use super::incoming::Incoming;
use super::lost::Why;
use super::outgoing::{Outgoing, Sizes};
use super::wire::{self, HEAD};
use crate::Header;

/// Unsent bytes from which a link writes although the rail is busy: a large packet gains nothing by waiting.
const LARGE: usize = 32 << 10;

/// The connection to one peer.
pub struct Link {
    socket: OwnedFd,
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    /// A frame that only acknowledges and has left in part; it is finished before anything else leaves.
    lone_ack: [u8; HEAD],
    lone_ack_sent: usize,
    /// The last read emptied the socket: the next look at it finds nothing.
    drained: bool,
    /// What writing met. The end is found by reading, after what the peer has still sent.
    broken: Option<Errno>,
    ended: bool,
}

impl Link {
    pub fn new(socket: OwnedFd, peer: Rank, sizes: Sizes) -> Self {
        Self {
            socket,
            outgoing: Outgoing::new(sizes),
            incoming: Incoming::new(sizes, peer),
            lone_ack: [0; HEAD],
            lone_ack_sent: HEAD,
            drained: false,
            broken: None,
            ended: false,
        }
    }

    /// What to wait for; nothing once all has come.
    pub fn descriptor(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let mut flags = if self.may_read() { PollFlags::IN } else { return None };
        flags.set(PollFlags::OUT, self.has_unsent());
        Some((self.socket.as_fd(), flags))
    }

    /// Whether packets can still leave.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.broken.is_none() && !self.ended
    }

    /// Whether packets may still come.
    fn may_read(&self) -> bool {
        !self.ended && self.incoming.is_open()
    }

    /// Whether the socket has not taken all there is.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.is_open() && (self.lone_ack_sent < HEAD || !self.outgoing.unsent().is_empty())
    }

    /// Appends what was claimed; it leaves now unless `later`.
    #[inline]
    pub fn commit(&mut self, header: Header, later: bool) {
        let ack = self.incoming.tell();
        self.outgoing.commit(header, ack);
        if !later || self.outgoing.unsent().len() >= LARGE {
            self.write();
        }
    }

    /// The end of a pass: what waited leaves, and so does an acknowledgement that is due, or with `all` any.
    #[inline]
    pub fn flush(&mut self, all: bool) {
        if !self.outgoing.unsent().is_empty() || self.lone_ack_sent < HEAD {
            self.write();
        }
        if self.incoming.owes(all) && self.is_open() && !self.has_unsent() {
            self.lone_ack = wire::ack_frame(self.incoming.tell());
            self.lone_ack_sent = 0;
            self.write();
        }
    }

    /// Writes what the socket takes.
    fn write(&mut self) {
        while self.is_open() && self.lone_ack_sent < HEAD {
            match send(&self.socket, &self.lone_ack[self.lone_ack_sent..]) {
                Ok(sent) => self.lone_ack_sent += sent,
                Err(error) => return self.handle_write_error(error),
            }
        }
        while self.is_open() && !self.outgoing.unsent().is_empty() {
            match send(&self.socket, self.outgoing.unsent()) {
                Ok(sent) => self.outgoing.handle_sent(sent),
                Err(error) => return self.handle_write_error(error),
            }
        }
    }

    #[cold]
    fn handle_write_error(&mut self, error: Errno) {
        if error != Errno::AGAIN && error != Errno::INTR {
            self.broken = Some(error);
        }
    }

    /// Reads what has come, if the socket may hold something. Says why the connection ended, once.
    #[inline]
    pub fn read(&mut self) -> Option<Why> {
        if !std::mem::take(&mut self.drained) { self.read_now() } else { None }
    }

    /// Reads what has come.
    pub fn read_now(&mut self) -> Option<Why> {
        if !self.may_read() {
            return None;
        }
        let free = self.incoming.free();
        let room = free.len();
        match net::recv(&self.socket, free, RecvFlags::DONTWAIT) {
            Ok((0, _)) => self.end(None),
            Ok((bytes, _)) => {
                self.drained = bytes < room;
                self.incoming.handle_read(bytes, &mut self.outgoing);
                None
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => self.end(Some(error)),
        }
    }

    #[cold]
    fn end(&mut self, error: Option<Errno>) -> Option<Why> {
        self.ended = true;
        Some(self.broken.or(error).map_or(Why::Closed, Why::Broken))
    }
}

/// Without a signal when the peer has gone.
#[inline]
fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}
