//! The rank's end of the control socket.
//!
//! Owns the inherited descriptor (closed on exec from here on, so that no child of the program holds it) and
//! waits on it when asked. Never interprets messages: the engine does.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_sys::copies::CannotShare;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::environment::RankPlace;
use crate::from_launcher::FromLauncher;
use crate::join::JoinError;
use crate::messages::{MAX_MESSAGE, ToLauncher};
use crate::socket::{ReceiveError, SendError, Socket, send_until_taken};

/// The reason why the launcher cannot be reached, or why the program refuses to start without one.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A launcher of another system has started this process, and the process cannot join its job.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A variable that `canele run` sets is missing or invalid.
    #[error("{name}={value:?} makes no sense: start the program with `canele run`, which sets it")]
    Variable {
        /// The variable.
        name: &'static str,
        /// The value, empty if missing.
        value: String,
    },
    /// The process has joined its job before, through the same interface.
    #[error(
        "this process has joined its job already: a program starts its job once and keeps it, beside MPI through one library of \
         the native interface"
    )]
    JoinedAlready,
    /// The process has joined its job through another library, which cannot share the job with this one.
    #[error("this process has joined its job already, {0}")]
    CannotShare(#[from] CannotShare),
    /// The inherited descriptor is not the socket it should be.
    #[error(
        "descriptor {fd} (CANELE_CONTROL_FD) is not the socket to the launcher ({source}). A child of a rank that has joined the job itself is \
         no rank: start it with MPI_Comm_spawn, or by `canele run -n 1`, as a job of its own. Otherwise start the \
         program with `canele run`, and let no wrapper close inherited descriptors"
    )]
    Descriptor {
        /// The descriptor's number.
        fd: i32,
        /// The system's error for it.
        source: io::Error,
    },
    /// The launcher has ended; so will the job.
    #[error("the launcher has ended")]
    LauncherGone,
    /// The launcher sent bytes that are no message: it is of another version, or broken.
    #[error("the launcher sent what cannot be understood ({0}): use `canele run` of the same release")]
    Malformed(String),
    /// The description of the job cannot be read or written.
    #[error("the description of the job cannot be passed on: {0}")]
    Job(io::Error),
    /// The environment and the description of the job disagree.
    #[error(
        "what the launcher says of the job cannot be right: {0}. Start the program with `canele run`, and change none of \
         the variables that it sets"
    )]
    Place(String),
    /// A message larger than the socket carries.
    #[error("a control message of {0} bytes exceeds the limit of {MAX_MESSAGE}")]
    TooLarge(usize),
    /// The system refused.
    #[error("the socket to the launcher failed: {0}")]
    System(#[from] Errno),
}

/// A message and those of its descriptors that this process has room for, in order.
pub type MessageWithDescriptors = (FromLauncher, Vec<OwnedFd>);

/// The rank's end of the socket to its launcher.
#[derive(Debug)]
pub struct Control {
    socket: Socket,
    place: RankPlace,
}

impl Control {
    /// Takes over the socket named by the environment. Returns `Ok(None)` if no launcher of Canelé has
    /// started this process.
    ///
    /// # Errors
    /// Fails with a [`ControlError`] if the environment is invalid, or names a descriptor that is not the
    /// socket. A process can take its socket over only once.
    pub fn from_env() -> Result<Option<Control>, ControlError> {
        let get = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let Some((place, number)) = RankPlace::read(get)? else { return Ok(None) };
        let fd = canele_sys::spawn::adopt_socket(number).map_err(|source| match source.kind() {
            io::ErrorKind::ResourceBusy => ControlError::JoinedAlready,
            _ => ControlError::Descriptor { fd: number, source },
        })?;
        Ok(Some(Control::new(place, fd)))
    }

    /// Returns the control of a rank at `place` over `fd`, a connected `SOCK_SEQPACKET` socket.
    pub fn new(place: RankPlace, fd: OwnedFd) -> Control {
        Control { socket: Socket::new(fd), place }
    }

    /// Returns the rank's place in the job, as the launcher gave it in the environment.
    pub fn place(&self) -> RankPlace {
        self.place
    }

    /// Sends a message. Waits while the launcher's queue is full (not for long, because the launcher always
    /// reads) or too many descriptors are under way.
    ///
    /// # Errors
    /// Fails with `LauncherGone`, `TooLarge` or `System`; nothing was sent then.
    pub fn send(&self, message: &ToLauncher, descriptors: &[BorrowedFd]) -> Result<(), ControlError> {
        let attempt = || self.socket.try_send(message, descriptors);
        send_until_taken(attempt, || self.wait(PollFlags::OUT, None)).map_err(|error| match error {
            SendError::Closed => ControlError::LauncherGone,
            SendError::TooLarge(bytes) => ControlError::TooLarge(bytes),
            SendError::System(errno) => errno.into(),
            SendError::Full | SendError::DescriptorsUnderWay => {
                unreachable!("tried again until it was taken")
            }
        })
    }

    /// Sends a message unless the launcher's queue is full; returns false if it is. If the launcher is gone,
    /// the next call that receives from it reports that.
    pub fn try_tell(&self, message: &ToLauncher) -> bool {
        !matches!(self.socket.try_send(message, &[]), Err(SendError::Full))
    }

    /// Returns the next message, if there is one; never waits.
    ///
    /// # Errors
    /// Fails with `LauncherGone`, `Malformed` or `System`.
    pub fn try_receive(&mut self) -> Result<Option<MessageWithDescriptors>, ControlError> {
        self.socket.try_receive_any().map_err(|error| match error {
            ReceiveError::Closed => ControlError::LauncherGone,
            ReceiveError::Malformed(text) => ControlError::Malformed(text),
            ReceiveError::System(errno) => errno.into(),
        })
    }

    /// Waits for the next message until `deadline`, for ever without one. Returns `Ok(None)` if the deadline
    /// passed.
    ///
    /// # Errors
    /// Fails as [`try_receive`](Self::try_receive) does.
    pub fn receive(
        &mut self,
        deadline: Option<Instant>,
    ) -> Result<Option<MessageWithDescriptors>, ControlError> {
        loop {
            if let Some(received) = self.try_receive()? {
                return Ok(Some(received));
            }
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(None);
            }
            self.wait(PollFlags::IN, left)?;
        }
    }

    fn wait(&self, events: PollFlags, at_most: Option<Duration>) -> Result<(), Errno> {
        let timeout = at_most.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut [PollFd::new(&self.socket, events)], timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno),
        }
    }
}

impl AsFd for Control {
    /// Returns the descriptor for event loops: it is readable when a message from the launcher waits.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RankEnd, VERSION};

    fn connected() -> (Control, Socket) {
        let (rank, launcher) = Socket::pair().unwrap();
        (Control::new(RankPlace::ALONE, rank.into()), launcher)
    }

    #[test]
    fn a_deadline_passes_and_a_message_is_still_received_after_it() {
        let (mut control, launcher) = connected();
        assert!(control.receive(Some(Instant::now() + Duration::from_millis(1))).unwrap().is_none());
        launcher.try_send(&FromLauncher::Gone { rank: 0, how: RankEnd::Finished }, &[]).unwrap();
        assert!(control.receive(None).unwrap().is_some());
        assert!(control.try_receive().unwrap().is_none());
    }

    #[test]
    fn a_full_queue_delays_the_sender_until_it_is_read() {
        let (control, launcher) = connected();
        let message = ToLauncher::Publish { name: "n".into(), value: vec![7; 4000] };
        let sender = std::thread::spawn(move || {
            for _ in 0..1000 {
                control.send(&message, &[]).unwrap();
            }
        });
        let mut received = 0;
        let started = Instant::now();
        while received < 1000 && started.elapsed() < Duration::from_secs(30) {
            match launcher.try_receive::<ToLauncher>() {
                Ok(Some(_)) => received += 1,
                _ => std::thread::yield_now(),
            }
        }
        sender.join().unwrap();
        assert_eq!(received, 1000);
    }

    #[test]
    fn a_launcher_that_ended_is_named() {
        let (mut control, launcher) = connected();
        drop(launcher);
        assert!(matches!(control.try_receive(), Err(ControlError::LauncherGone)));
        let hello = ToLauncher::Hello { version: VERSION };
        assert!(matches!(control.send(&hello, &[]), Err(ControlError::LauncherGone)));
    }
}
