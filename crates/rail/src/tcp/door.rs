//! Connections that others make to this rank.
//!
//! Owns the listening sockets and the connections that were not accepted yet. Never holds more than a given number of those
//! whose other end has not proven itself: who connects and says nothing costs one place until patience with it ends, and
//! further ones stay in the kernel's queue meanwhile. Nor can one address keep all places: when none is free and one address
//! has more than half of them, its oldest makes room.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::AsFd;

use canele_sys::ids::Rank;
use rustix::io::Errno;

use super::dial::Around;
use super::handshake::Handshake;
use super::lost::Failure;
use super::meeting::{Meeting, nonce};
use super::watch::{Flags, Interest, Watch};

/// How long a place is its holder's, whoever else wants one.
const RESERVED_NS: u64 = 1_000_000_000;
/// How long nobody is let in when the system has no descriptor left.
pub const CLOSED_NS: u64 = 100_000_000;

/// Nobody can connect to this rank.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An address of this machine cannot be listened on.
    #[error("no connections can be accepted on {address}: {source}")]
    Address {
        /// The address.
        address: IpAddr,
        /// What the system says.
        source: io::Error,
    },
    /// The system gives no descriptor to wait with.
    #[error("no descriptor to wait for connections with: {0}")]
    Descriptor(#[from] Errno),
}

/// What becomes of a peer that has proven itself.
pub enum Decision {
    /// It is connected, and this is the connection's generation.
    Accept(u32),
    /// Not now.
    Wait,
    /// It was wanted once, and something newer has come about meanwhile.
    Drop,
}

struct Listener {
    socket: TcpListener,
    interest: Interest,
}

/// The listeners and who has come to them.
pub struct Door {
    listeners: Vec<Listener>,
    addresses: Vec<SocketAddr>,
    unproven: Vec<Meeting>,
    /// Proven, and not accepted yet.
    waiting: Vec<Meeting>,
    most: usize,
    closed_until_ns: Option<u64>,
    /// Connections that were dropped unproven.
    pub dropped: u64,
}

impl Door {
    /// Listens on each address, at a port the system chooses.
    pub fn open(addresses: &[IpAddr], most: usize, watch: &Watch) -> Result<Self, OpenError> {
        let open = |address: IpAddr| {
            let listen = || {
                let socket = TcpListener::bind((address, 0))?;
                socket.set_nonblocking(true)?;
                Ok((socket.local_addr()?, Listener { socket, interest: Interest::default() }))
            };
            listen().map_err(|source| OpenError::Address { address, source })
        };
        let opened = addresses.iter().map(|address| open(*address)).collect::<Result<Vec<_>, _>>()?;
        let (addresses, listeners) = opened.into_iter().unzip();
        let (unproven, waiting) = (Vec::new(), Vec::new());
        let mut door =
            Self { listeners, addresses, unproven, waiting, most, closed_until_ns: None, dropped: 0 };
        door.watch_listeners(watch, true)?;
        Ok(door)
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Connections in hand that have not proven themselves.
    pub fn unproven(&self) -> usize {
        self.unproven.len()
    }

    /// Whether somebody's patience may end.
    pub fn is_timed(&self) -> bool {
        !self.unproven.is_empty() || !self.waiting.is_empty()
    }

    /// Whether nobody is let in for a moment.
    pub fn is_closed(&self) -> bool {
        self.closed_until_ns.is_some()
    }

    /// Takes connections while there are places, moves every handshake on, and asks about who is proven; who is told to wait
    /// does so as long as patience lasts. Gives the accepted ones.
    pub fn step(
        &mut self,
        around: &mut Around<'_>,
        mut decide: impl FnMut(Rank, u32) -> Decision,
    ) -> Vec<(Rank, Meeting)> {
        self.reopen(around.now_ns);
        for mut meeting in std::mem::take(&mut self.unproven) {
            let silent = meeting.age_ns(around.now_ns) >= around.patience_ns;
            let ready = around.ready.contains(&meeting.key);
            match if ready { meeting.step(around.watch) } else { Ok(()) } {
                Ok(()) if meeting.handshake.undecided().is_some() => self.waiting.push(meeting),
                Ok(()) if !silent => self.unproven.push(meeting),
                _ => self.dropped += 1,
            }
        }
        self.take_new(around);
        let open = !self.is_closed() && (self.unproven.len() < self.most || self.yielding(around).is_some());
        // Listeners were watched before, so that nothing can be wanting.
        let _ = self.watch_listeners(around.watch, open);
        self.decide(around, &mut decide)
    }

    fn decide(
        &mut self,
        around: &Around<'_>,
        decide: &mut impl FnMut(Rank, u32) -> Decision,
    ) -> Vec<(Rank, Meeting)> {
        let mut accepted = Vec::new();
        for mut meeting in std::mem::take(&mut self.waiting) {
            let Some(peer) = meeting.handshake.undecided() else { continue };
            let silent = meeting.age_ns(around.now_ns) >= around.patience_ns;
            let gone = around.ready.contains(&meeting.key) && meeting.step(around.watch).is_err();
            if silent || gone {
                continue;
            }
            match decide(peer, meeting.handshake.dial()) {
                Decision::Wait => self.waiting.push(meeting),
                Decision::Drop => {}
                Decision::Accept(generation) => {
                    meeting.handshake.accept(generation);
                    // A socket that took nothing but a handshake so far takes these few bytes.
                    if meeting.step(around.watch).is_ok() && meeting.handshake.is_over() {
                        accepted.push((peer, meeting));
                    }
                }
            }
        }
        accepted
    }

    fn reopen(&mut self, now_ns: Option<u64>) {
        if let Some(now_ns) = now_ns {
            // Closed at a time that was not known: until now and a moment longer.
            let until_ns = self.closed_until_ns.map(|until| until.min(now_ns.saturating_add(CLOSED_NS)));
            self.closed_until_ns = until_ns.filter(|until| now_ns < *until);
        }
    }

    fn take_new(&mut self, around: &mut Around<'_>) {
        for at in 0..self.listeners.len() {
            if !around.ready.contains(&(at as u64)) {
                continue;
            }
            // More than there are places are never taken at once, whatever becomes of them.
            for _ in 0..self.most {
                if self.is_closed() || !self.make_room(around) {
                    return;
                }
                match self.listeners[at].socket.accept() {
                    Ok((stream, address)) => self.meet(stream.into(), address, around),
                    Err(error) if is_about_one(&error) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => {
                        self.closed_until_ns = Some(around.now_ns.map_or(u64::MAX, |now| now + CLOSED_NS))
                    }
                }
            }
        }
    }

    /// Whatever is wrong with a connection here is the business of who made it.
    fn meet(&mut self, socket: std::os::fd::OwnedFd, address: SocketAddr, around: &mut Around<'_>) {
        let meet = || {
            let handshake = Handshake::respond(around.credentials, nonce()?);
            let mut meeting = Meeting::accepted(socket, address, handshake, around.new_key())?;
            meeting.age_ns(around.now_ns);
            meeting.step(around.watch)?;
            Ok::<_, Failure>(meeting)
        };
        match meet() {
            Ok(meeting) => self.unproven.push(meeting),
            Err(_) => self.dropped += 1,
        }
    }

    /// Whether there is a place now.
    fn make_room(&mut self, around: &Around<'_>) -> bool {
        if self.unproven.len() >= self.most {
            let Some(place) = self.yielding(around) else { return false };
            self.unproven.remove(place);
            self.dropped += 1;
        }
        true
    }

    /// The oldest connection of an address that has more than half of the places. Connections stand in their order.
    fn yielding(&mut self, around: &Around<'_>) -> Option<usize> {
        let of = |meeting: &Meeting| meeting.address.ip();
        let place = (0..self.unproven.len()).find(|at| {
            let same = self.unproven.iter().filter(|other| of(other) == of(&self.unproven[*at]));
            2 * same.count() > self.most
        })?;
        (self.unproven[place].age_ns(around.now_ns) >= RESERVED_NS).then_some(place)
    }

    /// New connections are news only while there is a place for them.
    fn watch_listeners(&mut self, watch: &Watch, open: bool) -> Result<(), Errno> {
        let flags = if open { Flags::IN } else { Flags::empty() };
        for (key, Listener { socket, interest }) in self.listeners.iter_mut().enumerate() {
            watch.set(socket.as_fd(), key as u64, interest, Some(flags))?;
        }
        Ok(())
    }
}

/// An error of the connection that would have been next, not of this rank.
fn is_about_one(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, PermissionDenied};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted | PermissionDenied)
}
