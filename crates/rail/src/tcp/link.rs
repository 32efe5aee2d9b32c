//! A connection after its handshake: the socket, and what goes out and comes in.
//!
//! Owns the socket. Never waits for it: what it does not take now is sent later.

use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use canele_sys::buffer::OutShare;
use canele_sys::ids::Rank;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use super::incoming::{Free, Incoming};
use super::kernel;
use super::lost::Why;
use super::outgoing::Outgoing;
use super::sizes::Sizes;
use super::vectors;
use super::watch::{Flags, Interest, Watch};
use super::wire::{self, HEAD};
use crate::{Busy, Class, Header, Remains, Slot};

/// The key of every link: whichever is ready, all are looked at.
const LINKS: u64 = 0;

/// Reads of unwanted bytes before a socket is closed.
const LAST_READS: usize = 64;

/// A socket that is closed in order. One that is closed with bytes unread in it would be reset, and what it had sent might
/// never be read.
struct Socket(OwnedFd);

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = net::shutdown(&self.0, net::Shutdown::Write);
        let mut bytes = [0; 16 << 10];
        for _ in 0..LAST_READS {
            if !matches!(net::recv(&self.0, &mut bytes, RecvFlags::DONTWAIT), Ok((1.., _))) {
                break;
            }
        }
    }
}

/// The connection to one peer.
pub struct Link {
    socket: Socket,
    interest: Interest,
    /// Which of the successive connections to the peer it is.
    pub generation: u32,
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    /// A frame that only acknowledges and has left in part; it is finished before anything else leaves.
    lone_ack: [u8; HEAD],
    lone_ack_sent: usize,
    /// The pass in which a packet left last: the link is busy for the rest of it.
    busy_in: Option<u32>,
    /// Somebody found it busy.
    refused: bool,
    /// The last read emptied the socket: the next look at it finds nothing.
    drained: bool,
    /// Bytes went or came since the last flush.
    moved: bool,
    /// Why no packet can leave any more. What the peer has still sent is read first.
    broken: Option<Why>,
    /// The owner knows that the link carries nothing more.
    told: bool,
    /// Bytes that the socket has taken, and given.
    sent: u64,
    received: u64,
}

impl Link {
    pub fn new(socket: OwnedFd, peer: Rank, generation: u32, sizes: Sizes) -> Self {
        Self {
            socket: Socket(socket),
            interest: Interest::default(),
            generation,
            outgoing: Outgoing::new(sizes),
            incoming: Incoming::new(sizes, peer),
            lone_ack: [0; HEAD],
            lone_ack_sent: HEAD,
            busy_in: None,
            refused: false,
            drained: false,
            moved: false,
            broken: None,
            told: false,
            sent: 0,
            received: 0,
        }
    }

    /// Is watched for what is to come, and for room if there is something to send; not at all once all has come.
    pub fn watch(&mut self, watch: &Watch) -> Result<(), Errno> {
        let mut flags = Flags::IN;
        flags.set(Flags::OUT, self.has_unsent());
        let wanted = self.may_read().then_some(flags);
        watch.set(self.socket.0.as_fd(), LINKS, &mut self.interest, wanted)
    }

    /// Whether packets can still leave.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.broken.is_none()
    }

    /// Whether packets may still come.
    fn may_read(&self) -> bool {
        self.incoming.is_open()
    }

    /// Whether the socket has not taken all there is.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.is_open() && (self.lone_ack_sent < HEAD || self.outgoing.has_unsent())
    }

    /// Whether all that was sent is confirmed by the other end's kernel, or never will be.
    pub fn is_drained(&self) -> bool {
        !self.is_open()
            || !self.has_unsent() && kernel::unconfirmed(&self.socket.0).is_ok_and(|bytes| bytes == 0)
    }

    /// Bytes that the socket has taken.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that the socket has given.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Its addresses, here and there, while it is connected.
    pub fn ends(&self) -> [Option<SocketAddr>; 2] {
        let (here, there) = (net::getsockname(&self.socket.0), net::getpeername(&self.socket.0));
        [here.ok(), there.ok().flatten()].map(|address| address?.try_into().ok())
    }

    /// For how long nothing was heard of the other end's kernel though something was sent; nothing if it answers.
    pub fn silence(&self) -> Option<Duration> {
        let waits = self.is_open() && (self.has_unsent() || self.outgoing.kept() > 0);
        waits.then(|| kernel::silence(&self.socket.0).ok().flatten()).flatten()
    }

    /// Whether a packet may leave in this pass.
    #[inline]
    fn admit(&mut self, pass: u32) -> Result<(), Busy> {
        if self.is_open() && self.busy_in != Some(pass) && !self.has_unsent() {
            return Ok(());
        }
        self.refused = true;
        Err(Busy)
    }

    #[inline]
    pub fn claim(&mut self, pass: u32, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        self.admit(pass)?;
        self.outgoing.claim(bulk, class)
    }

    /// What was claimed leaves, as far as the socket takes it.
    #[inline]
    pub fn commit(&mut self, pass: u32, header: Header) {
        let ack = self.incoming.tell();
        self.outgoing.commit(header, ack);
        self.busy_in = Some(pass);
        self.write();
    }

    /// A packet whose bulk stays where it is leaves, as far as the socket takes it.
    pub fn lend(
        &mut self,
        pass: u32,
        header: Header,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        self.admit(pass)?;
        self.outgoing.lend(header, self.incoming.released(), beside, bulk, len)?;
        self.incoming.tell();
        self.busy_in = Some(pass);
        self.write();
        Ok(())
    }

    /// The end of a pass: the rest of what was sent leaves, and an acknowledgement that is due, or with `all` any. Says
    /// whether any byte has left or come since the last one.
    #[inline]
    pub fn flush(&mut self, all: bool) -> bool {
        if self.has_unsent() {
            self.write();
        }
        if self.incoming.owes(all) && self.is_open() && !self.has_unsent() {
            self.lone_ack = wire::ack_frame(self.incoming.tell());
            self.lone_ack_sent = 0;
            self.write();
        }
        std::mem::take(&mut self.moved)
    }

    /// Whether a packet may leave where one could not. Reported once.
    pub fn room_came(&mut self, pass: u32) -> bool {
        let free = self.is_open() && self.busy_in != Some(pass) && !self.has_unsent();
        self.outgoing.room_came() | (free && std::mem::take(&mut self.refused))
    }

    /// Writes what the socket takes.
    fn write(&mut self) {
        while self.is_open() && self.lone_ack_sent < HEAD {
            match send(&self.socket.0, &self.lone_ack[self.lone_ack_sent..]) {
                Ok(sent) => self.lone_ack_sent += sent,
                Err(error) => return self.handle_write_error(error),
            }
        }
        while self.is_open() && self.outgoing.has_unsent() {
            let staged = self.outgoing.unsent();
            let sent = match self.outgoing.unsent_lent() {
                None => send(&self.socket.0, staged),
                // SAFETY: the link holds the share of what is unsent, and so its memory stays readable.
                Some(lent) => unsafe { vectors::send(&self.socket.0, staged, lent) },
            };
            match sent {
                Ok(sent) => {
                    self.moved = true;
                    self.sent += sent as u64;
                    self.outgoing.handle_sent(sent);
                }
                Err(error) => return self.handle_write_error(error),
            }
        }
    }

    #[cold]
    fn handle_write_error(&mut self, error: Errno) {
        if error != Errno::AGAIN && error != Errno::INTR {
            self.broken = Some(Why::Broken(error));
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
        let Free { landing, memory } = self.incoming.free();
        let (received, room) = match landing {
            None => {
                (net::recv(&self.socket.0, &mut *memory, RecvFlags::DONTWAIT).map(|(n, _)| n), memory.len())
            }
            Some(landing) => {
                let room = landing.rest() + memory.len();
                // SAFETY: `landing` holds the share, and so its memory stays mapped and is nobody else's in this process.
                (unsafe { vectors::receive(&self.socket.0, landing.place(), memory) }, room)
            }
        };
        match received {
            Ok(0) => self.end(Why::Closed),
            Ok(bytes) => {
                self.moved = true;
                self.drained = bytes < room;
                self.received += bytes as u64;
                self.incoming.handle_read(bytes, &mut self.outgoing);
                None
            }
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(error) => self.end(Why::Broken(error)),
        }
    }

    #[cold]
    fn end(&mut self, why: Why) -> Option<Why> {
        self.incoming.end();
        let why = self.broken.get_or_insert(why).clone();
        (!std::mem::replace(&mut self.told, true)).then_some(why)
    }

    /// No packet leaves any more. Says so once.
    pub fn give_up(&mut self, why: Why) -> Option<Why> {
        self.broken.get_or_insert_with(|| why.clone());
        (!std::mem::replace(&mut self.told, true)).then_some(why)
    }

    /// Closes the connection; what is left of it.
    pub fn into_remains(self) -> Remains {
        let Self { socket, generation, outgoing, incoming, .. } = self;
        drop(socket);
        Remains { generation, expected: incoming.released(), kept: outgoing.into_kept() }
    }
}

/// Without a signal when the peer has gone.
#[inline]
fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}
