//! The site's end of one rank's control socket, with what the rank has not read yet.
//!
//! Owns the queue. Never waits for the rank: while too much is queued, its messages are not read either, so
//! that a rank that asks without reading the answers fills its own socket and nothing of the launcher.

use std::collections::VecDeque;
use std::rc::Rc;

use canele_engine::control::{FromLauncher, Handed, ReceiveError, Received, SendError, Socket, ToLauncher};
use canele_rail::shm::Doorbell;

use crate::run::events::{Events, Ready, Source};

/// Messages queued for one rank beyond which its own are not read.
const QUEUE_LIMIT: usize = 1024;

/// One rank's wire.
#[derive(Debug)]
pub struct Wire {
    rank: u32,
    socket: Option<Socket>,
    queue: VecDeque<(FromLauncher, Option<Rc<Handed>>)>,
    interest: Ready,
    /// Nothing the rank says is read any more.
    ignored: bool,
}

impl Wire {
    /// Takes the site's end and waits on it.
    ///
    /// # Errors
    /// As epoll_ctl(2).
    pub fn new(rank: u32, socket: Socket, events: &Events) -> Result<Wire, rustix::io::Errno> {
        events.add(&socket, Source::Rank(rank), Ready::IN)?;
        Ok(Wire { rank, socket: Some(socket), queue: VecDeque::new(), interest: Ready::IN, ignored: false })
    }

    /// Queues a message; [`flush`](Self::flush) sends it.
    pub fn push(&mut self, message: FromLauncher, descriptor: Option<Rc<Handed>>) {
        if self.socket.is_some() {
            self.queue.push_back((message, descriptor));
        }
    }

    /// Sends what the socket takes, ringing the rank's doorbell after it (invariant I30). While `deaf`, what the rank says
    /// is not waited for.
    pub fn flush(&mut self, doorbell: Option<&Doorbell>, deaf: bool, events: &Events) {
        let Some(socket) = &self.socket else { return };
        let mut sent = false;
        while let Some((message, descriptor)) = self.queue.front() {
            let fds = descriptor.as_ref().map_or(Vec::new(), |handed| handed.descriptors());
            match socket.try_send(message, &fds) {
                Ok(()) => sent = true,
                Err(SendError::Full) => break,
                // Whoever does not listen any more is found out when its process ends. (None is too large.)
                Err(SendError::Closed | SendError::TooLarge(_) | SendError::System(_)) => {}
            }
            self.queue.pop_front();
        }
        if sent && let Some(doorbell) = doorbell {
            doorbell.ring();
        }
        let mut interest = Ready::empty();
        interest.set(Ready::OUT, !self.queue.is_empty());
        interest.set(Ready::IN, self.queue.len() < QUEUE_LIMIT && !deaf);
        if interest != self.interest {
            self.interest = interest;
            events.change(socket, Source::Rank(self.rank), interest);
        }
    }

    /// Whether the rank's messages may be read now.
    pub fn listens(&self) -> bool {
        self.socket.is_some() && !self.ignored && self.queue.len() < QUEUE_LIMIT
    }

    /// The rank's next message, if there is one.
    ///
    /// # Errors
    /// As [`Socket::try_receive`]; after `Closed` the wire is closed.
    pub fn receive(&mut self, events: &Events) -> Result<Option<Received<ToLauncher>>, ReceiveError> {
        let Some(socket) = &self.socket else { return Ok(None) };
        let received = socket.try_receive();
        if matches!(received, Err(ReceiveError::Closed | ReceiveError::System(_))) {
            self.close(events);
        }
        received
    }

    /// The rank has ended: what is queued for it is dropped, what it has said can still be received.
    pub fn mute(&mut self) {
        self.queue.clear();
    }

    /// Never listens to the rank again, which is to be killed. The socket stays open, or the rank would complain that its
    /// launcher has ended.
    pub fn ignore(&mut self, events: &Events) {
        self.ignored = true;
        if let Some(socket) = &self.socket {
            events.remove(socket);
        }
    }

    /// Closes the wire; what is queued is dropped.
    pub fn close(&mut self, events: &Events) {
        if let Some(socket) = self.socket.take() {
            events.remove(&socket);
        }
        self.queue.clear();
    }
}
