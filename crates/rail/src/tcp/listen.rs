//! Connections that others make to this rank.
//!
//! Owns the listening sockets and the connections whose other end has not proven itself yet. Never holds more than a
//! given number of those: who connects and says nothing costs one place until patience with it ends, and further ones
//! stay in the kernel's queue meanwhile.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};

use canele_sys::ids::Rank;
use rustix::event::PollFlags;

use super::handshake::{Credentials, Handshake};
use super::lost::Failure;
use super::meeting::{Meeting, nonce};

/// An address of this machine cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("no connections can be accepted on {address}: {source}")]
pub struct ListenError {
    /// The address.
    pub address: IpAddr,
    /// What the system says.
    pub source: io::Error,
}

/// The listeners and who has come to them.
pub struct Listeners {
    sockets: Vec<TcpListener>,
    addresses: Vec<SocketAddr>,
    unproven: Vec<Meeting>,
    most: usize,
    /// Connections that were dropped unproven.
    pub dropped: u64,
}

impl Listeners {
    /// Listens on each address, at a port the system chooses.
    pub fn open(addresses: &[IpAddr], most: usize) -> Result<Self, ListenError> {
        let open = |address: IpAddr| {
            let listen = || {
                let socket = TcpListener::bind((address, 0))?;
                socket.set_nonblocking(true)?;
                Ok((socket.local_addr()?, socket))
            };
            listen().map_err(|source| ListenError { address, source })
        };
        let opened = addresses.iter().map(|address| open(*address)).collect::<Result<Vec<_>, _>>()?;
        let (addresses, sockets) = opened.into_iter().unzip();
        Ok(Self { sockets, addresses, unproven: Vec::new(), most, dropped: 0 })
    }

    /// Where it listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Takes connections while there are places, moves every handshake on, and accepts who is proven and `wanted`; who is
    /// not wanted yet waits as long as patience lasts. Gives the accepted ones, at most one of each peer.
    pub fn step(
        &mut self,
        credentials: &Credentials,
        now_ns: Option<u64>,
        patience_ns: u64,
        wanted: impl Fn(Rank) -> bool,
    ) -> Vec<(Rank, Meeting)> {
        self.accept(credentials, patience_ns);
        let mut accepted: Vec<(Rank, Meeting)> = Vec::new();
        for mut meeting in std::mem::take(&mut self.unproven) {
            let wanted = |peer| wanted(peer) && accepted.iter().all(|(other, _)| *other != peer);
            match step(&mut meeting, now_ns, wanted) {
                Ok(None) => self.unproven.push(meeting),
                Ok(Some(peer)) => accepted.push((peer, meeting)),
                Err(_) => self.dropped += 1,
            }
        }
        accepted
    }

    fn accept(&mut self, credentials: &Credentials, patience_ns: u64) {
        for socket in &self.sockets {
            while self.unproven.len() < self.most {
                // Whatever is wrong with a connection here is the business of who made it.
                let Ok((stream, address)) = socket.accept() else { break };
                let meet = || {
                    let handshake = Handshake::respond(credentials, nonce()?);
                    Meeting::accepted(stream.into(), address, handshake, patience_ns)
                };
                self.unproven.extend(meet());
            }
        }
    }

    /// Connections in hand that have not proven themselves.
    pub fn unproven(&self) -> usize {
        self.unproven.len()
    }

    /// What to wait for: new connections only while there is a place for them.
    pub fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, PollFlags)> {
        let places = if self.unproven.len() < self.most { &self.sockets[..] } else { &[] };
        let listeners = places.iter().map(|socket| (socket.as_fd(), PollFlags::IN));
        listeners.chain(self.unproven.iter().map(Meeting::descriptor))
    }
}

/// Who it is, once it was told that it is accepted.
fn step(
    meeting: &mut Meeting,
    now_ns: Option<u64>,
    wanted: impl Fn(Rank) -> bool,
) -> Result<Option<Rank>, Failure> {
    meeting.step(now_ns)?;
    let Some(peer) = meeting.handshake.undecided().filter(|peer| wanted(*peer)) else { return Ok(None) };
    meeting.handshake.accept();
    meeting.step(now_ns)?;
    // A socket that took nothing but a handshake so far takes these few bytes.
    if meeting.handshake.is_over() { Ok(Some(peer)) } else { Err(Failure::HungUp) }
}
