//! One descriptor that becomes ready when any of many does.
//!
//! Owns an epoll instance, not what it watches. Level-triggered, so that nothing is lost by looking late: what is ready stays so
//! until somebody has dealt with it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

pub use epoll::EventFlags as Flags;

/// Events taken by one look; further ones come with the next.
const AT_ONCE: usize = 64;
const NOW: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// What a socket is watched for; nothing while it is not watched.
#[derive(Default)]
pub struct Interest(Option<Flags>);

/// Many descriptors to wait for.
pub struct Watch(OwnedFd);

impl Watch {
    pub fn new() -> Result<Self, Errno> {
        epoll::create(epoll::CreateFlags::CLOEXEC).map(Self)
    }

    /// From now on `socket` is watched for `wanted`, or not at all. A socket that is closed is forgotten by itself.
    pub fn set(
        &self,
        socket: BorrowedFd<'_>,
        key: u64,
        interest: &mut Interest,
        wanted: Option<Flags>,
    ) -> Result<(), Errno> {
        if interest.0 == wanted {
            return Ok(());
        }
        let data = epoll::EventData::new_u64(key);
        match (interest.0, wanted) {
            (None, Some(flags)) => epoll::add(&self.0, socket, data, flags)?,
            (Some(_), Some(flags)) => epoll::modify(&self.0, socket, data, flags)?,
            _ => epoll::delete(&self.0, socket)?,
        }
        interest.0 = wanted;
        Ok(())
    }

    /// The keys of sockets that are ready.
    pub fn ready(&self, keys: &mut Vec<u64>) {
        keys.clear();
        let mut events =
            [const { epoll::Event { flags: Flags::empty(), data: epoll::EventData::new_u64(0) } }; AT_ONCE];
        let ready = epoll::wait(&self.0, &mut events[..], Some(&NOW)).unwrap_or(0);
        keys.extend(events[..ready].iter().map(|event| event.data.u64()));
    }

    /// Sleeps until one is ready or the time is over. A signal ends the sleep too; whoever sleeps looks again anyway.
    pub fn sleep(&self, at_most: Option<&Timespec>) {
        let mut events = [epoll::Event { flags: Flags::empty(), data: epoll::EventData::new_u64(0) }];
        let _ = epoll::wait(&self.0, &mut events[..], at_most);
    }
}

impl AsFd for Watch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
