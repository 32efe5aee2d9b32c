//! Errors of attempts to connect, and reasons for the end of a connection.

use std::fmt;
use std::net::SocketAddr;

use canele_sys::ids::{LinkId, Rank};
use rustix::io::Errno;

use super::handshake::HandshakeError;
use crate::Lost;

/// A peer that no attempt to connect reached.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: no address leads there{}", List(tried))]
pub struct ConnectFailure {
    /// The peer.
    pub peer: Rank,
    /// The addresses, each with its error.
    pub tried: Vec<(SocketAddr, AddressFailure)>,
}

/// The reason why a connection ended.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Why {
    /// The other end closed it, or its process ended.
    #[error("the other end closed the connection")]
    Closed,
    /// The other end has finished.
    #[error("the other end has finished")]
    Finished,
    /// The system reports an error.
    #[error("the connection broke: {0}")]
    Broken(Errno),
    /// The other end has lost the connection and makes another.
    #[error("the other end has given the connection up and makes another")]
    Replaced,
}

impl Why {
    /// Returns the report for the owner of a link.
    pub fn of(self, link: LinkId) -> Lost {
        Lost { link, why: self.to_string(), finished: matches!(self, Self::Finished) }
    }
}

/// The error of an address that did not lead to the peer.
#[derive(Debug, thiserror::Error)]
pub enum AddressFailure {
    /// The system reports an error.
    #[error("{0}")]
    System(#[from] Errno),
    /// The process that answered is not the peer.
    #[error("{0}")]
    Refused(#[from] HandshakeError),
    /// The other end closed the connection during the handshake: it refuses this rank.
    #[error("it hung up before the handshake was over (another job or key?)")]
    HungUp,
    /// The other end was silent for too long.
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
