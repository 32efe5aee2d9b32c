//! A connection after its handshake: the socket and both directions.
//!
//! Owns the socket. Never waits for it: bytes that it does not take now are sent later.

mod posting;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use canele_mem::buffer::OutShare;
use canele_sys::ids::Rank;
use canele_sys::poller::{Poller, Ready};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};

use super::incoming::{Free, Incoming};
use super::kernel;
use super::lost::Why;
use super::outgoing::Outgoing;
use super::sizes::Sizes;
use super::token::Token;
use super::vectors;
use super::wire::{self, HEAD};
use super::worklists::Listed;
use crate::{Busy, Class, Header, Unacked};

/// The most reads of unwanted bytes before a socket is closed.
const LAST_READS: usize = 64;

/// A socket that is closed in order. Closing with unread bytes would reset the connection, and the peer might
/// never read the last bytes sent to it.
struct Socket {
    descriptor: OwnedFd,
    /// True if both ends know that the connection has ended.
    over: bool,
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let _ = net::shutdown(&self.descriptor, net::Shutdown::Write);
        let mut bytes = [0; 16 << 10];
        for _ in 0..LAST_READS {
            if !matches!(net::recv(&self.descriptor, &mut bytes, RecvFlags::DONTWAIT), Ok((1.., _))) {
                break;
            }
        }
    }
}

/// The connection to one peer.
pub struct Link {
    socket: Socket,
    /// The worklists that contain this link.
    pub listed: Listed,
    /// The number of this connection among the successive ones to the peer.
    pub generation: u32,
    pub outgoing: Outgoing,
    pub incoming: Incoming,
    /// An acknowledgement frame that has left in part; the rest leaves before anything else.
    lone_ack: [u8; HEAD],
    lone_ack_sent: usize,
    /// The pass in which a packet left last; the link is busy for the rest of that pass.
    busy_in: Option<u32>,
    /// True if a claim was refused because the link was busy.
    refused: bool,
    /// True if the last read emptied the socket, so the next read would find nothing.
    drained: bool,
    /// True if the socket may have data, according to the poller and the last read.
    readable: bool,
    /// True if the other end sends nothing more and the end of the stream is still to be read.
    hung_up: bool,
    /// True if bytes were sent or received since the last flush.
    moved: bool,
    /// The reason why no packet can leave any more. Data that the peer has still sent is read first.
    broken: Option<Why>,
    /// True if the owner knows that the link has ended.
    told: bool,
    /// Bytes written to the socket, and read from it.
    sent: u64,
    received: u64,
    /// Number of system calls.
    calls: u64,
}

impl Link {
    pub fn new(socket: OwnedFd, peer: Rank, generation: u32, sizes: Sizes) -> Self {
        Self {
            socket: Socket { descriptor: socket, over: false },
            listed: Listed::default(),
            generation,
            outgoing: Outgoing::new(sizes),
            incoming: Incoming::new(sizes, peer),
            lone_ack: [0; HEAD],
            lone_ack_sent: HEAD,
            busy_in: None,
            refused: false,
            drained: false,
            readable: true,
            hung_up: false,
            moved: false,
            broken: None,
            told: false,
            sent: 0,
            received: 0,
            calls: 0,
        }
    }

    /// Registers the socket at the poller, edge-triggered, for new data, new room and the peer's hang-up.
    pub fn watch(&mut self, poller: &Poller, token: Token) -> Result<(), Errno> {
        let edges = Ready::IN | Ready::OUT | Ready::RDHUP | Ready::ET;
        poller.add(&self.socket.descriptor, token.to_word(), edges)
    }

    /// Notes an event that the poller has reported.
    pub fn handle_ready(&mut self, ready: Ready) {
        self.hung_up |= ready.intersects(Ready::RDHUP | Ready::HUP | Ready::ERR);
        if ready.intersects(Ready::IN | Ready::RDHUP | Ready::HUP | Ready::ERR) {
            (self.readable, self.drained) = (true, false);
        }
    }

    /// Returns true if packets, or reports for the owner, are here or may be in the socket.
    #[inline]
    pub fn may_deliver(&self) -> bool {
        self.incoming.has_packet() || self.is_readable() || self.incoming.asks() || self.incoming.is_corrupt()
    }

    /// Returns true if the socket may have data to read.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.readable && self.may_read()
    }

    /// Returns true if the link needs work at the end of a pass.
    #[inline]
    pub fn is_to_be_flushed(&self) -> bool {
        self.moved || self.has_unsent() || self.incoming.owes(false)
    }

    /// Returns true if the link needs a check before a sleep: an acknowledgement is owed, or the owner waits
    /// for room.
    #[inline]
    pub fn is_unrested(&self) -> bool {
        self.refused || self.incoming.owes(true) || self.outgoing.waits_for_room()
    }

    /// Returns the number of system calls made for the link.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns true if packets can still leave.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.broken.is_none()
    }

    /// Returns true if packets may still arrive.
    fn may_read(&self) -> bool {
        self.incoming.is_open()
    }

    /// Returns true if the socket has not taken all output.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.is_open() && (self.lone_ack_sent < HEAD || self.outgoing.has_unsent())
    }

    /// Returns true if the other end's kernel has confirmed all output, or never will.
    pub fn is_drained(&self) -> bool {
        !self.is_open()
            || !self.has_unsent()
                && kernel::unconfirmed(&self.socket.descriptor).is_ok_and(|bytes| bytes == 0)
    }

    /// Returns the number of bytes written to the socket.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Returns the number of bytes read from the socket.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the local and the remote address of the socket, while it is connected.
    pub fn ends(&self) -> [Option<SocketAddr>; 2] {
        let (here, there) =
            (net::getsockname(&self.socket.descriptor), net::getpeername(&self.socket.descriptor));
        [here.ok(), there.ok().flatten()].map(|address| address?.try_into().ok())
    }

    /// Returns the time since the other end's kernel last answered, if an answer is due; none if it answers.
    pub fn silence(&self) -> Option<Duration> {
        let waits = self.is_open() && (self.has_unsent() || self.outgoing.kept() > 0);
        waits.then(|| kernel::silence(&self.socket.descriptor).ok().flatten()).flatten()
    }

    /// Fails unless a packet may leave in this pass.
    #[inline]
    fn admit(&mut self, pass: u32) -> Result<(), Busy> {
        if self.is_open() && self.busy_in != Some(pass) && !self.has_unsent() {
            return Ok(());
        }
        self.refused = true;
        Err(Busy)
    }

    /// Returns true if a packet may leave in this pass and there is room for it.
    #[inline]
    pub fn admits(&mut self, pass: u32, bulk: usize, class: Class) -> bool {
        self.admit(pass).is_ok() && self.outgoing.admit(bulk, class).is_ok()
    }

    /// Sends the claimed packet, as far as the socket takes it.
    #[inline]
    pub fn commit(&mut self, pass: u32, header: Header) {
        let ack = self.incoming.tell();
        self.outgoing.commit(header, ack);
        self.busy_in = Some(pass);
        self.write();
    }

    /// Sends a packet with a lent bulk, as far as the socket takes it.
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

    /// Ends a pass: sends the rest of the output, and an acknowledgement if it is due, or with `all` any owed
    /// one. Returns true if any byte was sent or received since the last call.
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

    /// Returns true if a packet may leave after one was refused. It reports this once.
    pub fn room_came(&mut self, pass: u32) -> bool {
        let free = self.is_open() && self.busy_in != Some(pass) && !self.has_unsent();
        self.outgoing.room_came() | (free && std::mem::take(&mut self.refused))
    }

    /// Writes output until the socket takes no more.
    fn write(&mut self) {
        while self.is_open() && self.lone_ack_sent < HEAD {
            self.calls += 1;
            match send(&self.socket.descriptor, &self.lone_ack[self.lone_ack_sent..]) {
                Ok(sent) => self.lone_ack_sent += sent,
                Err(error) => return self.handle_write_error(error),
            }
        }
        while self.is_open() && self.outgoing.has_unsent() {
            self.calls += 1;
            let staged = self.outgoing.unsent();
            let sent = match self.outgoing.unsent_lent() {
                None => send(&self.socket.descriptor, staged),
                // SAFETY: the link holds the share of what is unsent, and so its memory stays readable.
                Some(lent) => unsafe { vectors::send(&self.socket.descriptor, staged, lent) },
            };
            match sent {
                Ok(sent) => self.note_sent(sent),
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

    /// Reads arrived data if the socket may have some. Returns the reason for the connection's end, once.
    #[inline]
    pub fn read(&mut self) -> Option<Why> {
        if !std::mem::take(&mut self.drained) { self.read_now() } else { None }
    }

    /// Reads arrived data.
    pub fn read_now(&mut self) -> Option<Why> {
        if !self.may_read() {
            return None;
        }
        self.calls += 1;
        let Free { direct, memory } = self.incoming.free();
        let received = match direct {
            None => net::recv(&self.socket.descriptor, &mut *memory, RecvFlags::DONTWAIT)
                .map(|(bytes, _)| (bytes, bytes == memory.len())),
            // SAFETY: `direct` holds the share, and so its memory stays mapped and has no other user in this process.
            Some(direct) => unsafe { vectors::receive(&self.socket.descriptor, direct.place(), memory) },
        };
        match received {
            Ok((0, _)) => self.end(Why::Closed),
            Ok((bytes, is_full)) => {
                self.moved = true;
                self.drained = !is_full;
                self.readable = is_full || self.hung_up;
                self.received += bytes as u64;
                self.incoming.handle_read(bytes, &mut self.outgoing);
                if self.incoming.is_finished() { self.handle_finished() } else { None }
            }
            Err(Errno::AGAIN) => {
                self.readable = false;
                None
            }
            Err(Errno::INTR) => None,
            Err(error) => self.end(Why::Broken(error)),
        }
    }

    #[cold]
    fn handle_finished(&mut self) -> Option<Why> {
        self.outgoing.give_up_kept();
        self.lone_ack_sent = HEAD;
        self.socket.over = true;
        // Replaces an earlier error: the peer has ended the stream in order.
        self.broken = Some(Why::Finished);
        self.end(Why::Finished)
    }

    /// Reports that this rank has finished, unless data is unacknowledged. The link sends nothing afterwards.
    pub fn finish(&mut self) {
        if !self.is_open() || self.has_unsent() || self.outgoing.kept() > 0 {
            return;
        }
        let frame = wire::last_frame(self.incoming.tell());
        // The frame leaves in one segment with the end of the stream. If the socket does not take it whole,
        // the peer sees a lost link.
        self.calls += 2;
        let _ = net::send(
            &self.socket.descriptor,
            &frame,
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT | SendFlags::MORE,
        );
        let _ = net::shutdown(&self.socket.descriptor, net::Shutdown::Write);
        (self.broken, self.told) = (Some(Why::Finished), true);
    }

    #[cold]
    fn end(&mut self, why: Why) -> Option<Why> {
        self.readable = false;
        self.incoming.end();
        let why = self.broken.get_or_insert(why).clone();
        (!std::mem::replace(&mut self.told, true)).then_some(why)
    }

    /// Stops sending. Returns the reason, once.
    pub fn give_up(&mut self, why: Why) -> Option<Why> {
        self.broken.get_or_insert_with(|| why.clone());
        (!std::mem::replace(&mut self.told, true)).then_some(why)
    }

    /// Closes the connection and returns its unacknowledged data.
    pub fn into_unacked(self) -> Unacked {
        let Self { socket, generation, outgoing, incoming, .. } = self;
        drop(socket);
        Unacked { generation, expected: incoming.released(), kept: outgoing.into_kept() }
    }
}

/// Sends bytes, without a signal if the peer has gone.
#[inline]
fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    net::send(socket, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}
