//! The attempt to connect to one peer, address by address.
//!
//! Owns the connection until its handshake is over. Never tries an address twice.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

use canele_sys::ids::Rank;
use rustix::event::PollFlags;

use super::handshake::{Credentials, Handshake};
use super::lost::Failure;
use super::meeting::{Meeting, nonce};

/// An attempt under way.
pub struct Dial {
    pub peer: Rank,
    addresses: std::vec::IntoIter<SocketAddr>,
    failures: Vec<(SocketAddr, Failure)>,
    /// With the address tried now.
    meeting: Option<Meeting>,
}

impl Dial {
    pub fn new(peer: Rank, addresses: Vec<SocketAddr>) -> Self {
        Self { peer, addresses: addresses.into_iter(), failures: vec![], meeting: None }
    }

    /// Goes on as far as is possible without waiting; gives the connection, or why there is none.
    pub fn step(
        &mut self,
        credentials: &Credentials,
        now_ns: Option<u64>,
        patience_ns: u64,
    ) -> Option<Result<Meeting, Vec<(SocketAddr, Failure)>>> {
        // Each turn ends the attempt, returns, or uses up an address.
        loop {
            let Some(mut meeting) = self.meeting.take() else {
                let Some(address) = self.addresses.next() else {
                    return Some(Err(std::mem::take(&mut self.failures)));
                };
                let connect = || {
                    let handshake = Handshake::initiate(credentials, self.peer, nonce()?);
                    Meeting::connect(address, handshake, patience_ns)
                };
                match connect() {
                    Ok(meeting) => self.meeting = Some(meeting),
                    Err(failure) => self.failures.push((address, failure)),
                }
                continue;
            };
            match meeting.step(now_ns) {
                Ok(()) if meeting.handshake.is_over() => return Some(Ok(meeting)),
                Ok(()) => {
                    self.meeting = Some(meeting);
                    return None;
                }
                Err(failure) => self.failures.push((meeting.address, failure)),
            }
        }
    }

    /// What to wait for.
    pub fn descriptor(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        self.meeting.as_ref().map(Meeting::descriptor)
    }
}
