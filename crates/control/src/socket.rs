//! One end of a control socket: sends and receives whole messages, and never blocks.
//!
//! Owns the descriptor and the encoding. Never waits and never keeps a message: it refuses a message that
//! does not fit with [`SendError::Full`], and the caller decides.

use std::cell::RefCell;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::{Serialize, de::DeserializeOwned};

use crate::messages::MAX_MESSAGE;

/// The pause after [`SendError::DescriptorsUnderWay`] before the next attempt.
pub const SEND_AGAIN: Duration = Duration::from_millis(2);

/// The most descriptors of one message.
pub const MOST_DESCRIPTORS: usize = 32;

thread_local! {
    /// The buffer into which messages are received. It is allocated once and reused, since most messages are
    /// short.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One end of a control socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
}

/// The descriptors of a message: memory, and the event that wakes an inbox's owner if that owner sleeps on
/// descriptors.
#[derive(Debug)]
pub struct Handed {
    /// The memory of an inbox or a region.
    pub memory: OwnedFd,
    /// The event that wakes the owner of the inbox.
    pub event: Option<OwnedFd>,
}

impl Handed {
    /// Returns the descriptors in the order in which they are sent.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        std::iter::once(&self.memory).chain(&self.event).map(OwnedFd::as_fd).collect()
    }
}

impl From<OwnedFd> for Handed {
    fn from(memory: OwnedFd) -> Self {
        Self { memory, event: None }
    }
}

impl AsFd for Handed {
    /// Returns the descriptor of the memory.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.memory.as_fd()
    }
}

/// A message and its descriptors.
pub type MessageAndHanded<T> = (T, Option<Handed>);

/// The reason why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The other side has not read enough yet; nothing was sent.
    #[error("the other end does not read")]
    Full,
    /// The system takes no more descriptors of this user until some that are under way are received; nothing
    /// was sent. No event of the socket reports when it takes more.
    #[error("too many descriptors are under way")]
    DescriptorsUnderWay,
    /// The other side is gone.
    #[error("the other end is closed")]
    Closed,
    /// The encoded message is larger than [`MAX_MESSAGE`].
    #[error("a message of {0} bytes; the limit is {MAX_MESSAGE}")]
    TooLarge(usize),
    /// The system refused.
    #[error("{0}")]
    System(#[from] Errno),
}

/// The reason why nothing was received.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The other side is gone and everything it sent has been received.
    #[error("the other end is closed")]
    Closed,
    /// The received bytes are no message: the sender's fault.
    #[error("{0}")]
    Malformed(String),
    /// The system refused.
    #[error("{0}")]
    System(#[from] Errno),
}

/// Attempts to send until the message is sent or the attempt fails. While the socket is full, `wait_for_room`
/// waits. While too many descriptors are under way, which no event reports, this function sleeps.
///
/// # Errors
/// Fails with the errors of `attempt` but for `Full` and `DescriptorsUnderWay`, and with those of
/// `wait_for_room`.
pub fn send_until_taken(
    mut attempt: impl FnMut() -> Result<(), SendError>,
    mut wait_for_room: impl FnMut() -> Result<(), Errno>,
) -> Result<(), SendError> {
    loop {
        match attempt() {
            Err(SendError::Full) => wait_for_room()?,
            Err(SendError::DescriptorsUnderWay) => std::thread::sleep(SEND_AGAIN),
            answer => return answer,
        }
    }
}

impl Socket {
    /// Takes over a connected `SOCK_SEQPACKET` descriptor.
    pub fn new(fd: OwnedFd) -> Socket {
        Socket { fd }
    }

    /// Creates two connected ends, both closed on exec.
    ///
    /// # Errors
    /// Fails as socketpair(2) does, most often because of too many open descriptors.
    pub fn pair() -> Result<(Socket, Socket), Errno> {
        let (one, other) =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Socket::new(one), Socket::new(other)))
    }

    /// Sends `message` with `descriptors`, or nothing at all.
    ///
    /// # Errors
    /// Fails with a [`SendError`]. Then nothing was sent.
    pub fn try_send<T: Serialize>(&self, message: &T, descriptors: &[BorrowedFd]) -> Result<(), SendError> {
        let bytes = postcard::to_stdvec(message).expect("control messages have no unencodable part");
        if bytes.len() > MAX_MESSAGE {
            return Err(SendError::TooLarge(bytes.len()));
        }
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(SendError::System(Errno::INVAL));
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        loop {
            return match rustix::net::sendmsg(&self.fd, &[IoSlice::new(&bytes)], &mut ancillary, flags) {
                Ok(_) => Ok(()),
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN | Errno::NOBUFS) => Err(SendError::Full),
                Err(Errno::TOOMANYREFS) => Err(SendError::DescriptorsUnderWay),
                Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => Err(SendError::Closed),
                Err(errno) => Err(SendError::System(errno)),
            };
        }
    }

    /// Receives the next message if there is one, with at most two descriptors.
    ///
    /// # Errors
    /// Fails with a [`ReceiveError`]. After `Malformed` the socket can still be read.
    pub fn try_receive<T: DeserializeOwned>(&self) -> Result<Option<MessageAndHanded<T>>, ReceiveError> {
        self.try_receive_many()?.map(handed).transpose()
    }

    /// Receives the next message if there is one, with at most two descriptors. Also returns true if this
    /// process had no room for one of them, which is lost.
    ///
    /// # Errors
    /// Fails with a [`ReceiveError`]. After `Malformed` the socket can still be read.
    pub fn try_receive_truncated<T: DeserializeOwned>(
        &self,
    ) -> Result<Option<(MessageAndHanded<T>, bool)>, ReceiveError> {
        match self.receive()? {
            Some((message, descriptors, lost)) => Ok(Some((handed((message, descriptors))?, lost))),
            None => Ok(None),
        }
    }

    /// Receives the next message if there is one, with as many of its descriptors as this process has room
    /// for, in order.
    ///
    /// # Errors
    /// Fails with a [`ReceiveError`]. After `Malformed` the socket can still be read.
    pub fn try_receive_any<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>)>, ReceiveError> {
        Ok(self.receive()?.map(|(message, descriptors, _)| (message, descriptors)))
    }

    /// Receives the next message if there is one, with all its descriptors, in order.
    ///
    /// # Errors
    /// Fails with a [`ReceiveError`]. After `Malformed` the socket can still be read.
    pub fn try_receive_many<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>)>, ReceiveError> {
        match self.receive()? {
            Some((_, _, true)) => Err(ReceiveError::Malformed(
                "a descriptor that could not be taken over: too many, or `ulimit -n` is too small".into(),
            )),
            Some((message, descriptors, false)) => Ok(Some((message, descriptors))),
            None => Ok(None),
        }
    }

    /// Returns the next message, its descriptors, and true if some of them are missing.
    fn receive<T: DeserializeOwned>(&self) -> Result<Option<(T, Vec<OwnedFd>, bool)>, ReceiveError> {
        let receive = |buffer: &mut Vec<u8>| {
            buffer.resize(MAX_MESSAGE, 0);
            self.receive_into(buffer)
        };
        // A thread that exits has no buffer any more. The first thread of the process has none when functions
        // of atexit(3) run.
        BUFFER
            .try_with(|buffer| receive(&mut buffer.borrow_mut()))
            .unwrap_or_else(|_| receive(&mut Vec::new()))
    }

    fn receive_into<T: DeserializeOwned>(
        &self,
        bytes: &mut [u8],
    ) -> Result<Option<(T, Vec<OwnedFd>, bool)>, ReceiveError> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received = loop {
            match rustix::net::recvmsg(&self.fd, &mut [IoSliceMut::new(bytes)], &mut ancillary, flags) {
                Ok(received) => break received,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(None),
                // The other end closed before it read all messages of this end. The system reports this once,
                // before earlier messages of the other end.
                Err(Errno::CONNRESET) => {}
                Err(errno) => return Err(ReceiveError::System(errno)),
            }
        };
        let descriptors: Vec<OwnedFd> = ancillary
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(fds) => Some(fds),
                _ => None,
            })
            .flatten()
            .collect();
        if received.flags.contains(ReturnFlags::TRUNC) {
            return Err(ReceiveError::Malformed(format!("a message larger than {MAX_MESSAGE} bytes")));
        }
        if received.bytes == 0 {
            return Err(ReceiveError::Closed);
        }
        match postcard::take_from_bytes(&bytes[..received.bytes]) {
            Ok((message, [])) => {
                Ok(Some((message, descriptors, received.flags.contains(ReturnFlags::CTRUNC))))
            }
            Ok((_, rest)) => Err(ReceiveError::Malformed(format!("{} bytes too many", rest.len()))),
            Err(error) => Err(ReceiveError::Malformed(format!("an undecodable message: {error}"))),
        }
    }
}

/// Converts a message with at most two descriptors.
fn handed<T>((message, descriptors): (T, Vec<OwnedFd>)) -> Result<MessageAndHanded<T>, ReceiveError> {
    let count = descriptors.len();
    let mut descriptors = descriptors.into_iter();
    let handed = descriptors.next().map(|memory| Handed { memory, event: descriptors.next() });
    match descriptors.next() {
        None => Ok((message, handed)),
        Some(_) => Err(ReceiveError::Malformed(format!("{count} descriptors at once"))),
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl From<Socket> for OwnedFd {
    fn from(socket: Socket) -> OwnedFd {
        socket.fd
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FromLauncher, RankEnd, ToLauncher};

    fn send_raw(socket: &Socket, bytes: &[u8]) {
        rustix::net::send(socket, bytes, SendFlags::empty()).unwrap();
    }

    #[test]
    fn messages_and_their_descriptor_arrive_in_order() {
        let (a, b) = Socket::pair().unwrap();
        let file = std::fs::File::open("/proc/self/status").unwrap();
        a.try_send(&ToLauncher::Region { id: 1 }, &[file.as_fd()]).unwrap();
        a.try_send(&ToLauncher::Finished, &[]).unwrap();
        let (message, fd) = b.try_receive::<ToLauncher>().unwrap().unwrap();
        assert_eq!(message, ToLauncher::Region { id: 1 });
        let flags = rustix::io::fcntl_getfd(fd.unwrap()).unwrap();
        assert!(flags.contains(rustix::io::FdFlags::CLOEXEC));
        let (message, fd) = b.try_receive::<ToLauncher>().unwrap().unwrap();
        assert_eq!(message, ToLauncher::Finished);
        assert!(fd.is_none());
        assert!(b.try_receive::<ToLauncher>().unwrap().is_none());
    }

    #[test]
    fn a_closed_end_is_told_apart_from_silence() {
        let (a, b) = Socket::pair().unwrap();
        b.try_send(&FromLauncher::Gone { rank: 1, how: RankEnd::Killed(9) }, &[]).unwrap();
        a.try_send(&ToLauncher::Finished, &[]).unwrap();
        drop(a);
        assert_eq!(b.try_receive::<ToLauncher>().unwrap().unwrap().0, ToLauncher::Finished);
        assert!(matches!(b.try_receive::<ToLauncher>(), Err(ReceiveError::Closed)));
        assert!(matches!(b.try_send(&ToLauncher::Finished, &[]), Err(SendError::Closed)));
    }

    #[test]
    fn garbage_is_malformed_and_the_next_message_still_arrives() {
        let (a, b) = Socket::pair().unwrap();
        send_raw(&a, &[0xff; 40]);
        send_raw(&a, &vec![0; MAX_MESSAGE + 1]);
        let mut trailing = postcard::to_stdvec(&ToLauncher::Finished).unwrap();
        trailing.push(0);
        send_raw(&a, &trailing);
        let file = std::fs::File::open("/proc/self/status").unwrap();
        a.try_send(&ToLauncher::Region { id: 1 }, &[file.as_fd(); 3]).unwrap();
        a.try_send(&ToLauncher::Connect { peers: vec![3] }, &[]).unwrap();
        for _ in 0..4 {
            assert!(matches!(b.try_receive::<ToLauncher>(), Err(ReceiveError::Malformed(_))));
        }
        assert_eq!(b.try_receive::<ToLauncher>().unwrap().unwrap().0, ToLauncher::Connect { peers: vec![3] });
    }

    #[test]
    fn a_message_is_sent_once_however_often_it_is_refused_for_the_moment() {
        let mut answers = vec![
            Ok(()),
            Err(SendError::DescriptorsUnderWay),
            Err(SendError::Full),
            Err(SendError::DescriptorsUnderWay),
            Err(SendError::DescriptorsUnderWay),
        ];
        let mut waits = 0;
        let wait = || {
            waits += 1;
            Ok(())
        };
        send_until_taken(|| answers.pop().expect("one attempt for each answer"), wait).unwrap();
        assert_eq!((answers.len(), waits), (0, 1));
        let mut answers = vec![Err(SendError::Closed), Err(SendError::DescriptorsUnderWay)];
        let refused = send_until_taken(|| answers.pop().expect("two attempts"), || Ok(()));
        assert!(matches!(refused, Err(SendError::Closed)));
        let full = || Err(SendError::Full);
        assert!(matches!(send_until_taken(full, || Err(Errno::NOMEM)), Err(SendError::System(Errno::NOMEM))));
    }

    #[test]
    fn a_reader_that_does_not_read_makes_it_full_not_stuck() {
        let (a, _b) = Socket::pair().unwrap();
        let message = ToLauncher::Publish { name: "x".into(), value: vec![0; 1000] };
        let sent = (0..100_000).take_while(|_| a.try_send(&message, &[]).is_ok()).count();
        assert!(sent > 0 && sent < 100_000);
        assert!(matches!(a.try_send(&message, &[]), Err(SendError::Full)));
        let large = ToLauncher::Publish { name: "x".into(), value: vec![0; MAX_MESSAGE] };
        assert!(matches!(a.try_send(&large, &[]), Err(SendError::TooLarge(_))));
    }

    #[test]
    fn random_bytes_never_panic() {
        let (a, b) = Socket::pair().unwrap();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..2000 {
            let mut bytes = vec![0; 1 + (state % 60) as usize];
            for byte in &mut bytes {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                *byte = (state >> 56) as u8 % 24;
            }
            send_raw(&a, &bytes);
            assert!(!matches!(b.try_receive::<ToLauncher>(), Ok(None) | Err(ReceiveError::Closed)));
        }
    }
}
