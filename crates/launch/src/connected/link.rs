//! The socket to the launcher of another job of the user, with the messages that it has not read yet.
//!
//! Owns the queue. Never waits for the other launcher: a queue that grows too long closes the link.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::rc::Rc;
use std::time::Instant;

use canele_control::join::is_of_this_user;
use canele_control::{JobNetwork, ReceiveError, SendError, Socket};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::messages::ToJob;
use crate::events::{Events, Ready, Source};

/// The number of queued messages beyond which another launcher counts as lost.
const QUEUE_LIMIT: usize = 1 << 16;

/// Returns the address at which the launcher of a job listens for those of others.
///
/// # Errors
/// Never fails; the type of the address requires a result.
pub fn address(job: u64) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("canele-job-{job:016x}").as_bytes())
}

/// Connects with a listener of this user.
///
/// # Errors
/// Fails as connect(2) does: `CONNREFUSED` if no process listens; `ACCESS` if another user's process does.
pub fn connect_with(address: &SocketAddrUnix) -> Result<Socket, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    connect(&socket, address)?;
    match is_of_this_user(&socket) {
        true => Ok(Socket::new(socket)),
        false => Err(Errno::ACCESS),
    }
}

/// A link to the launcher of another job.
#[derive(Debug)]
pub struct JobLink {
    socket: Socket,
    place: u32,
    queue: VecDeque<(ToJob, Vec<Rc<OwnedFd>>)>,
    interest: Ready,
    /// The other job; none while the other end has not sent Hello.
    pub job: Option<u64>,
    /// True if this launcher has begun it.
    pub is_ours: bool,
    /// The deadline for the other end's Hello; none once it has come.
    pub greeting_until: Option<Instant>,
    /// The random part of a key of both jobs, which the Hello carries to the other end.
    pub drawn: JobNetwork,
    /// The network of a job that is reached over sockets, once both have sent Hello.
    pub network: Option<JobNetwork>,
    /// True if the job has agents on its hosts.
    pub has_agents: bool,
    /// True once the last message is queued: the link is closed after it has left.
    pub is_closing: bool,
}

impl JobLink {
    /// Returns a link over a connected socket, identified by its place.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) and getrandom(2) do.
    pub fn new(
        socket: Socket,
        place: u32,
        job: Option<u64>,
        greeting_until: Instant,
        events: &Events,
    ) -> Result<JobLink, Errno> {
        events.add(&socket, Source::JobLink(place), Ready::IN)?;
        Ok(JobLink {
            socket,
            place,
            queue: VecDeque::new(),
            interest: Ready::IN,
            job,
            is_ours: job.is_some(),
            greeting_until: Some(greeting_until),
            drawn: JobNetwork::draw()?,
            network: None,
            has_agents: false,
            is_closing: false,
        })
    }

    /// Returns true if both ends have sent Hello.
    pub fn is_open(&self) -> bool {
        self.greeting_until.is_none() && !self.is_closing
    }

    /// Queues a message; [`flush`](Self::flush) sends it.
    pub fn push(&mut self, message: ToJob, descriptors: Vec<Rc<OwnedFd>>) {
        self.queue.push_back((message, descriptors));
    }

    /// Returns the next message, if there is one, with as many of its descriptors as this process has room
    /// for.
    ///
    /// # Errors
    /// Fails as [`Socket::try_receive_any`] does.
    pub fn receive(&mut self) -> Result<Option<(ToJob, Vec<OwnedFd>)>, ReceiveError> {
        self.socket.try_receive_any()
    }

    /// Sends queued messages until the socket is full.
    pub fn flush(&mut self, events: &Events) -> Flushed {
        let mut flushed = Flushed::All;
        while let Some((message, descriptors)) = self.queue.front() {
            let descriptors: Vec<_> = descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
            match self.socket.try_send(message, &descriptors) {
                Ok(()) => drop(self.queue.pop_front()),
                Err(SendError::Full) => {
                    flushed = Flushed::Full;
                    break;
                }
                Err(SendError::DescriptorsUnderWay) => {
                    flushed = Flushed::HeldBack;
                    break;
                }
                Err(SendError::Closed | SendError::TooLarge(_) | SendError::System(_)) => {
                    return Flushed::Lost;
                }
            }
        }
        if self.queue.len() > QUEUE_LIMIT || self.is_closing && self.queue.is_empty() {
            return Flushed::Lost;
        }
        let mut interest = Ready::IN;
        interest.set(Ready::OUT, flushed == Flushed::Full);
        if interest != self.interest {
            self.interest = interest;
            events.change(&self.socket, Source::JobLink(self.place), interest);
        }
        flushed
    }

    /// Closes the link.
    pub fn close(self, events: &Events) {
        events.remove(&self.socket);
    }
}

/// The state of a queue after a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    /// All messages have left.
    All,
    /// The socket is full: the other end must read first.
    Full,
    /// The rest waits until descriptors under way have been received, which no event reports.
    HeldBack,
    /// The link is lost.
    Lost,
}
