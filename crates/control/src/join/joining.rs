//! The steps by which ranks join their job under any launcher: they start the processes that replace Canelé's
//! launcher, and connect with the agent of their host.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, getppid};

use super::helper::Helper;
use super::messages::{JoinAnswer, JoinRequest};
use super::names::SocketName;
use super::ticket::Ticket;
use super::{JoinError, election, local};
use crate::rank::Control;
use crate::{RankPlace, VERSION};

/// The time that a rank waits longer than the launcher. The launcher begins to wait a little later, and names
/// the missing ranks when its time is over.
const UNTIL_LAUNCHER_TELLS: Duration = Duration::from_secs(2);

/// A rank that joins its job.
#[derive(Debug, Clone, Copy)]
pub(super) struct JoiningRank {
    pub rank: u32,
    pub ranks: u32,
    /// The time in which missing ranks must join.
    pub timeout: Duration,
    /// The process that has started this one.
    starter: Option<Pid>,
}

impl JoiningRank {
    /// Returns this process, which begins to join.
    pub fn new(rank: u32, ranks: u32, timeout: Duration) -> Self {
        Self { rank, ranks, timeout, starter: getppid() }
    }

    /// Draws the job's number and key; called by rank 0.
    pub fn draw_ticket(&self) -> Result<Ticket, JoinError> {
        Ticket::draw().map_err(|errno| self.system(errno.into()))
    }

    /// Listens for the ranks of this host; `None` if another rank does.
    pub fn listen(&self, name: &SocketName) -> Result<Option<OwnedFd>, JoinError> {
        election::listen(name, Instant::now() + self.timeout).map_err(|errno| match errno {
            Errno::TIMEDOUT => {
                self.refused("the ranks of its host do not agree which one starts their agent".into())
            }
            errno => self.system(errno.into()),
        })
    }

    /// Starts the job's launcher and puts its addresses into the ticket. The launcher learns of the death of
    /// this rank when the returned helper closes.
    pub fn start_launcher(&self, ticket: &mut Ticket) -> Result<Helper, JoinError> {
        let started = Helper::start("launcher", &ticket.begin(self.ranks, self.timeout), None)?;
        let listening = started.addresses(Instant::now() + self.timeout);
        ticket.addresses = listening.map_err(|why| self.refused(why))?;
        Ok(started)
    }

    /// Starts the agent of this host, if this rank is the one that listens.
    pub fn start_agent(&self, ticket: &Ticket, listener: Option<OwnedFd>) -> Result<(), JoinError> {
        let Some(listener) = listener else { return Ok(()) };
        Helper::start("agent", &ticket.begin(self.ranks, self.timeout), Some(&listener)).map(drop)
    }

    /// Informs the agent of this host that this rank joins, and waits until all ranks have joined.
    pub fn enter(&self, name: &SocketName) -> Result<Control, JoinError> {
        let deadline = Instant::now() + self.timeout + UNTIL_LAUNCHER_TELLS;
        let socket = local::connect(name, deadline).map_err(|why| self.refused(why))?;
        let JoiningRank { rank, ranks, .. } = *self;
        let request = JoinRequest::Join { version: VERSION, rank, ranks };
        let answer = local::ask(&socket, &request, &[]).and_then(|()| local::answer(&socket, deadline));
        match answer.map_err(|why| self.refused(why))? {
            // The agent watches the starters that live when it answers. A rank itself checks that its starter
            // has not died before.
            JoinAnswer::Joined { .. } if getppid() != self.starter => {
                Err(self.refused("the process of the launcher that had started it has ended".into()))
            }
            JoinAnswer::Joined { local_rank, local_size } => {
                let place = RankPlace { rank, size: ranks, local_rank, local_size };
                Ok(Control::new(place, socket.into()))
            }
            JoinAnswer::Refused { why } => Err(self.refused(why)),
            JoinAnswer::Listening { .. } => Err(self.refused("its agent says what a launcher says".into())),
        }
    }

    fn system(&self, source: io::Error) -> JoinError {
        JoinError::System { rank: self.rank, ranks: self.ranks, source }
    }

    fn refused(&self, why: String) -> JoinError {
        JoinError::Refused { rank: self.rank, ranks: self.ranks, why }
    }
}
