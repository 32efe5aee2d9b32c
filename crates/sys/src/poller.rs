//! A descriptor that becomes ready when any of many does.
//!
//! Owns an epoll instance, not the watched descriptors. A closed descriptor leaves the set by itself. Never
//! decides what a token means.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{self, PollFd, PollFlags, Timespec, epoll};
use rustix::io::Errno;

pub use rustix::event::epoll::EventFlags as Ready;

/// The number of descriptors that one call reports; the next call reports further ones.
const AT_ONCE: usize = 64;

/// A descriptor that is ready.
#[derive(Clone, Copy, Debug)]
pub struct ReadyDescriptor {
    /// The token under which the descriptor was added.
    pub token: u64,
    /// The events for which it is ready.
    pub ready: Ready,
}

/// The events for which a descriptor is watched, and its token; none while it is not watched.
#[derive(Default, Debug)]
pub struct Interest(Option<(Ready, u64)>);

/// A set of descriptors to wait for, each with a token.
#[derive(Debug)]
pub struct Poller(OwnedFd);

impl Poller {
    /// Creates an empty set.
    ///
    /// # Errors
    /// Fails as epoll_create1(2) does.
    pub fn new() -> Result<Self, Errno> {
        epoll::create(epoll::CreateFlags::CLOEXEC).map(Self)
    }

    /// Adds a descriptor that is not in the set.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does: `PERM` for a regular file, which is always ready.
    pub fn add(&self, descriptor: impl AsFd, token: u64, wanted: Ready) -> Result<(), Errno> {
        epoll::add(&self.0, descriptor, epoll::EventData::new_u64(token), wanted)
    }

    /// Changes the events for which a descriptor of the set is watched.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does: `NOENT` for a descriptor that is not in the set.
    pub fn change(&self, descriptor: impl AsFd, token: u64, wanted: Ready) -> Result<(), Errno> {
        epoll::modify(&self.0, descriptor, epoll::EventData::new_u64(token), wanted)
    }

    /// Removes a descriptor from the set.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does: `NOENT` for a descriptor that is not in the set.
    pub fn remove(&self, descriptor: impl AsFd) -> Result<(), Errno> {
        epoll::delete(&self.0, descriptor)
    }

    /// Adds, changes or removes a descriptor so that it is watched for `wanted`. Makes no system call if it
    /// is watched so already.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does.
    pub fn set(
        &self,
        descriptor: impl AsFd,
        token: u64,
        interest: &mut Interest,
        wanted: Option<Ready>,
    ) -> Result<(), Errno> {
        let wanted = wanted.map(|ready| (ready, token));
        if interest.0 == wanted {
            return Ok(());
        }
        match (interest.0, wanted) {
            (None, Some((ready, _))) => self.add(descriptor, token, ready)?,
            (Some(_), Some((ready, _))) => self.change(descriptor, token, ready)?,
            _ => self.remove(descriptor)?,
        }
        interest.0 = wanted;
        Ok(())
    }

    /// Waits until a descriptor is ready, the time is over or a signal comes. Reports at most 64 ready
    /// descriptors and returns true if more may be ready.
    pub fn wait(&self, at_most: Option<Duration>, report: impl FnMut(ReadyDescriptor)) -> bool {
        // A duration that the kernel cannot express is longer than any run: no limit.
        let limit = at_most.and_then(|time| Timespec::try_from(time).ok());
        let mut room = [const { MaybeUninit::<epoll::Event>::uninit() }; AT_ONCE];
        let Ok((found, _)) = epoll::wait(&self.0, &mut room, limit.as_ref()) else { return false };
        let ready = |event: &epoll::Event| ReadyDescriptor { token: event.data.u64(), ready: event.flags };
        found.iter().map(ready).for_each(report);
        found.len() == AT_ONCE
    }

    /// Waits until a descriptor of one of these sets is ready or the time is over. Returns true if one is
    /// ready or a signal came.
    pub fn wait_for_any(sets: &[&Self], at_most: Option<Duration>) -> bool {
        let limit = at_most.and_then(|time| Timespec::try_from(time).ok());
        let mut sets: Vec<_> = sets.iter().map(|set| PollFd::new(&set.0, PollFlags::IN)).collect();
        event::poll(&mut sets, limit.as_ref()) != Ok(0)
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ready_now(poller: &Poller) -> Vec<u64> {
        let mut tokens = Vec::new();
        while poller.wait(Some(Duration::ZERO), |found| tokens.push(found.token)) {}
        tokens
    }

    #[test]
    fn a_descriptor_is_reported_for_what_it_is_watched_for() {
        let poller = Poller::new().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let mut interest = Interest::default();
        poller.set(&reader, 7, &mut interest, Some(Ready::IN)).unwrap();
        assert_eq!(ready_now(&poller), []);
        rustix::io::write(&writer, &[1]).unwrap();
        assert_eq!(ready_now(&poller), [7]);
        poller.set(&reader, 8, &mut interest, Some(Ready::IN)).unwrap();
        assert_eq!(ready_now(&poller), [8], "under its latest token");
        poller.set(&reader, 8, &mut interest, None).unwrap();
        assert_eq!(ready_now(&poller), []);
        assert_eq!(poller.change(&reader, 8, Ready::IN), Err(Errno::NOENT));
    }

    #[test]
    fn more_than_one_call_reports_are_said_to_be_left() {
        let poller = Poller::new().unwrap();
        let pipes: Vec<_> =
            (0..=AT_ONCE as u64).map(|token| (token, rustix::pipe::pipe().unwrap())).collect();
        for (token, (reader, writer)) in &pipes {
            poller.add(reader, *token, Ready::IN | Ready::ET).unwrap();
            rustix::io::write(writer, &[1]).unwrap();
        }
        let mut first = Vec::new();
        assert!(poller.wait(Some(Duration::ZERO), |found| first.push(found.token)));
        assert_eq!(first.len(), AT_ONCE);
        let mut all = [first, ready_now(&poller)].concat();
        all.sort_unstable();
        assert_eq!(all, (0..=AT_ONCE as u64).collect::<Vec<_>>());
    }

    #[test]
    fn any_set_of_several_ends_a_wait() {
        let sets = [(); 3].map(|()| Poller::new().unwrap());
        let pipes = [(); 3].map(|()| rustix::pipe::pipe().unwrap());
        sets.iter().zip(&pipes).for_each(|(set, (reader, _))| set.add(reader, 0, Ready::IN).unwrap());
        let all = sets.each_ref();
        assert!(!Poller::wait_for_any(&all, Some(Duration::ZERO)));
        for at in [2, 0] {
            rustix::io::write(&pipes[at].1, &[1]).unwrap();
            assert!(Poller::wait_for_any(&all, None));
            assert_eq!(ready_now(&sets[at]), [0], "it stays ready");
            rustix::io::read(&pipes[at].0, &mut [0]).unwrap();
        }
        assert!(!Poller::wait_for_any(&all, Some(Duration::ZERO)));
    }

    #[test]
    fn what_is_closed_is_no_longer_watched() {
        let poller = Poller::new().unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        poller.add(&reader, 1, Ready::IN).unwrap();
        rustix::io::write(&writer, &[1]).unwrap();
        drop(reader);
        assert_eq!(ready_now(&poller), []);
    }
}
