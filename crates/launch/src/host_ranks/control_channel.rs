//! The host's end of a control socket of a rank or of one of its lanes, with the messages that the rank has
//! not read.
//!
//! Owns the queue. Never waits for the rank: while too many messages are queued, messages of the rank are not
//! read. So a rank that asks without reading the answers fills only its own socket.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use canele_control::{
    FromLauncher, MOST_INBOXES, MessageAndHanded, ReceiveError, SendError, Socket, ToLauncher,
};
use canele_rail::shm::InboxNotifier;

use crate::events::{Events, Ready, Source};

/// The number of queued messages for a rank beyond which messages of the rank are not read.
const QUEUE_LIMIT: usize = 1024;

/// A queue of messages with their descriptors.
type Queue = VecDeque<(FromLauncher, Vec<Rc<OwnedFd>>)>;

/// One rank's channel.
#[derive(Debug)]
pub struct ControlChannel {
    source: Source,
    socket: Option<Socket>,
    queue: Queue,
    interest: Ready,
    /// True if the rank's messages are no longer read.
    ignored: bool,
    /// True while nothing is sent to the rank, so that it does not join the job before a debugger attaches to
    /// it.
    is_held: bool,
}

impl ControlChannel {
    /// Takes over the host's end and watches it as this source.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does.
    pub fn new(source: Source, socket: Socket, events: &Events) -> Result<ControlChannel, rustix::io::Errno> {
        events.add(&socket, source, Ready::IN)?;
        Ok(ControlChannel {
            source,
            socket: Some(socket),
            queue: VecDeque::new(),
            interest: Ready::IN,
            ignored: false,
            is_held: false,
        })
    }

    /// Returns the channel of a rank that has no process.
    pub fn closed(rank: u32) -> ControlChannel {
        let source = Source::Rank(rank);
        ControlChannel {
            source,
            socket: None,
            queue: VecDeque::new(),
            interest: Ready::empty(),
            ignored: true,
            is_held: false,
        }
    }

    /// Holds the rank before it joins the job: queued messages are sent only after [`admit`](Self::admit).
    pub fn hold(&mut self) {
        self.is_held = true;
    }

    /// Lets the rank join the job, if it was held.
    pub fn admit(&mut self) {
        self.is_held = false;
    }

    /// Queues a message; [`flush`](Self::flush) sends it. Consecutive inboxes are handed over in one message.
    pub fn push(&mut self, message: FromLauncher, descriptors: Vec<Rc<OwnedFd>>) {
        if self.socket.is_none() {
            return;
        }
        if let FromLauncher::Peers { peers: more } = &message
            && let Some((FromLauncher::Peers { peers }, before)) = self.queue.back_mut()
            && peers.len() + more.len() <= MOST_INBOXES
        {
            peers.extend(more);
            before.extend(descriptors);
            return;
        }
        self.queue.push_back((message, descriptors));
    }

    /// Sends messages until the socket is full, then notifies the rank (invariant I19). While
    /// `reading_paused`, it does not watch for messages of the rank. Returns true if more can be sent only
    /// once descriptors under way have been received, which no event reports.
    pub fn flush(&mut self, notifier: Option<&InboxNotifier>, reading_paused: bool, events: &Events) -> bool {
        let Some(socket) = &self.socket else { return false };
        // A held rank gets nothing yet.
        let mut none = VecDeque::new();
        let queue = if self.is_held { &mut none } else { &mut self.queue };
        let Sent { any, held_back } = send_queued(queue, |message, fds| socket.try_send(message, fds));
        if any && let Some(notifier) = notifier {
            notifier.notify();
        }
        let mut interest = Ready::empty();
        interest.set(Ready::OUT, !queue.is_empty() && !held_back);
        interest.set(Ready::IN, self.queue.len() < QUEUE_LIMIT && !reading_paused);
        if interest != self.interest {
            self.interest = interest;
            events.change(socket, self.source, interest);
        }
        held_back
    }

    /// Returns true if the rank's messages may be read now.
    pub fn listens(&self) -> bool {
        self.socket.is_some() && !self.ignored && self.queue.len() < QUEUE_LIMIT
    }

    /// Returns the rank's next message, if there is one. The flag is true if this process had no room for one
    /// of its descriptors.
    ///
    /// # Errors
    /// Fails as [`Socket::try_receive_truncated`] does; after `Closed` the channel is closed.
    pub fn receive(
        &mut self,
        events: &Events,
    ) -> Result<Option<(MessageAndHanded<ToLauncher>, bool)>, ReceiveError> {
        let Some(socket) = &self.socket else { return Ok(None) };
        let received = socket.try_receive_truncated();
        if matches!(received, Err(ReceiveError::Closed | ReceiveError::System(_))) {
            self.close(events);
        }
        received
    }

    /// Drops the queued messages of a rank that has ended; messages of the rank can still be received.
    pub fn mute(&mut self) {
        self.queue.clear();
    }

    /// Stops reading messages of a rank that is about to be killed. The socket stays open, or the rank would
    /// report that its launcher has ended.
    pub fn ignore(&mut self, events: &Events) {
        self.ignored = true;
        if let Some(socket) = &self.socket {
            events.remove(socket);
        }
    }

    /// Closes the channel and drops queued messages.
    pub fn close(&mut self, events: &Events) {
        if let Some(socket) = self.socket.take() {
            events.remove(&socket);
        }
        self.queue = VecDeque::new();
    }
}

/// The result of sending a queue.
#[derive(Debug, PartialEq, Eq)]
struct Sent {
    /// True if a message was sent.
    any: bool,
    /// True if the rest waits until descriptors under way have been received.
    held_back: bool,
}

/// Sends the messages of `queue` in order, until one must wait.
fn send_queued(
    queue: &mut Queue,
    mut try_send: impl FnMut(&FromLauncher, &[BorrowedFd]) -> Result<(), SendError>,
) -> Sent {
    let mut any = false;
    while let Some((message, descriptors)) = queue.front() {
        let fds: Vec<_> = descriptors.iter().map(|descriptor| descriptor.as_fd()).collect();
        match try_send(message, &fds) {
            Ok(()) => any = true,
            Err(SendError::Full) => return Sent { any, held_back: false },
            Err(SendError::DescriptorsUnderWay) => return Sent { any, held_back: true },
            // The rank no longer reads; the end of its process reports that. No message is too large.
            Err(SendError::Closed | SendError::TooLarge(_) | SendError::System(_)) => {}
        }
        queue.pop_front();
    }
    Sent { any, held_back: false }
}

#[cfg(test)]
mod tests {
    use canele_control::RankEnd;

    use super::*;

    #[test]
    fn messages_held_back_by_descriptors_under_way_are_sent_later_in_their_order() {
        let gone = |rank| FromLauncher::Gone { rank, how: RankEnd::Finished };
        let memory = Rc::new(OwnedFd::from(std::fs::File::open("/dev/null").unwrap()));
        let message = |rank| (gone(rank), if rank == 1 { vec![Rc::clone(&memory)] } else { Vec::new() });
        let mut queue: Queue = (0..3).map(message).collect();
        let (mut refusals, mut taken) = (3, Vec::new());
        let mut sends = Vec::new();
        while !queue.is_empty() {
            sends.push(send_queued(&mut queue, |message, fds| {
                if !fds.is_empty() && refusals > 0 {
                    refusals -= 1;
                    return Err(SendError::DescriptorsUnderWay);
                }
                taken.push((message.clone(), fds.len()));
                Ok(())
            }));
        }
        assert_eq!(taken, [(gone(0), 0), (gone(1), 1), (gone(2), 0)]);
        let sent = |any, held_back| Sent { any, held_back };
        assert_eq!(sends, [sent(true, true), sent(false, true), sent(false, true), sent(true, false)]);
        assert_eq!(Rc::strong_count(&memory), 1);
    }

    #[test]
    fn a_full_socket_holds_nothing_back_and_a_closed_one_takes_all() {
        let message = || (FromLauncher::ShowLinks { most: 1 }, Vec::new());
        let mut queue: Queue = [message(), message()].into();
        let full = send_queued(&mut queue, |_, _| Err(SendError::Full));
        assert_eq!((full, queue.len()), (Sent { any: false, held_back: false }, 2));
        let closed = send_queued(&mut queue, |_, _| Err(SendError::Closed));
        assert_eq!((closed, queue.len()), (Sent { any: false, held_back: false }, 0));
    }

    #[test]
    fn a_held_rank_is_sent_nothing_before_it_is_admitted() {
        let (events, (own, its)) = (Events::new().unwrap(), Socket::pair().unwrap());
        let mut channel = ControlChannel::new(Source::Rank(0), own, &events).unwrap();
        let heard_after_flush = |channel: &mut ControlChannel| {
            channel.flush(None, false, &events);
            its.try_receive_many::<FromLauncher>().unwrap().map(|(message, _)| message)
        };
        channel.hold();
        channel.push(FromLauncher::Over, Vec::new());
        assert_eq!(heard_after_flush(&mut channel), None);
        channel.admit();
        assert_eq!(heard_after_flush(&mut channel), Some(FromLauncher::Over));
    }
}
