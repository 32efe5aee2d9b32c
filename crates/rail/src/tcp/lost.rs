//! Why there is no connection to a peer (any more).

use std::fmt;
use std::net::SocketAddr;

use canele_sys::ids::{LinkId, Rank};
use rustix::io::Errno;

use super::handshake::HandshakeError;
use crate::Lost;

/// A peer to whom no connection could be made.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: no address leads there{}", List(tried))]
pub struct ConnectFailure {
    /// The peer.
    pub peer: Rank,
    /// The addresses, and why each of them did not lead there.
    pub tried: Vec<(SocketAddr, AddressFailure)>,
}

/// What became of a connection.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Why {
    /// The other end closed it, or its process ended.
    #[error("the other end closed the connection")]
    Closed,
    /// The other end has finished its part of the job.
    #[error("the other end has finished")]
    Finished,
    /// The system says that it is no more.
    #[error("the connection broke: {0}")]
    Broken(Errno),
    /// The other end has lost it and makes another.
    #[error("the other end has given the connection up and makes another")]
    Replaced,
}

impl Why {
    /// What the owner of a link is told.
    pub fn of(self, link: LinkId) -> Lost {
        Lost { link, why: self.to_string(), finished: matches!(self, Self::Finished) }
    }
}

/// Why one address did not lead to the peer.
#[derive(Debug, thiserror::Error)]
pub enum AddressFailure {
    /// The system says so.
    #[error("{0}")]
    System(#[from] Errno),
    /// Who answered there is not the peer.
    #[error("{0}")]
    Refused(#[from] HandshakeError),
    /// Who answered there closed the connection instead of answering: it does not believe us.
    #[error("it hung up before the handshake was over (another job or key?)")]
    HungUp,
    /// Nothing came for too long.
    #[error("no answer in time: {}", Errno::TIMEDOUT)]
    Silent,
}

struct List<'a>(&'a [(SocketAddr, AddressFailure)]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str(": none is known");
        }
        for (place, (address, failure)) in self.0.iter().enumerate() {
            write!(f, "{} {address}: {failure}", if place == 0 { ":" } else { ";" })?;
        }
        Ok(())
    }
}
