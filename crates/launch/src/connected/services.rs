//! Names that other jobs of the user find: each is a listener of the launcher, at an address made of the name.
//!
//! Owns the listeners and the questions that are under way. The kernel forgets such an address with its launcher, so nothing is left of a job
//! that was killed. Who listens, and who asks, has to be this user; of a name that several jobs announce one is found.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::Socket;
use canele_control::join::is_of_this_user;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use serde::{Deserialize, Serialize};

use super::link::connect_with;
use crate::events::{Events, Ready, Source};

/// As many jobs can announce one name at the same time.
const MOST_JOBS: u32 = 16;
/// Questions that may wait at one listener.
const BACKLOG: i32 = 64;
/// How long an announcing launcher has to answer: one that is stopped does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a launcher says of a name.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    name: String,
    value: Vec<u8>,
}

/// The names that this job has announced, and those that it looks for.
#[derive(Debug, Default)]
pub struct Services {
    announced: Vec<Option<(OwnedFd, Announced)>>,
    searches: Vec<Option<Search>>,
}

/// A name that is looked for.
#[derive(Debug)]
struct Search {
    to: (u32, u64),
    name: String,
    /// Of the jobs that may announce it, the next to ask.
    next: u32,
    /// The one that was asked.
    asked: Option<(Socket, Instant)>,
}

/// Who asked for a name, and what was found.
pub type Found = ((u32, u64), Option<Vec<u8>>);

/// The address of the `number`th job that announces a name.
fn address(name: &str, number: u32) -> Result<SocketAddrUnix, Errno> {
    let user = rustix::process::getuid().as_raw();
    // FNV-1a: the same in all builds; the answer has the whole name.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    SocketAddrUnix::new_abstract_name(format!("canele-name-{user}-{hash:016x}-{number}").as_bytes())
}

/// The first place that is free, or a new one.
fn free_place<T>(places: &mut Vec<Option<T>>) -> usize {
    let free = places.iter().position(Option::is_none);
    free.unwrap_or_else(|| {
        places.push(None);
        places.len() - 1
    })
}

impl Services {
    /// Lets other jobs find a name.
    ///
    /// # Errors
    /// As bind(2): `ADDRINUSE` if too many jobs have announced it.
    pub fn announce(&mut self, name: &str, value: &[u8], events: &Events) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        let mut numbers = 0..MOST_JOBS;
        loop {
            match bind(&listener, &address(name, numbers.next().ok_or(Errno::ADDRINUSE)?)?) {
                Ok(()) => break,
                Err(Errno::ADDRINUSE) => {}
                Err(error) => return Err(error),
            }
        }
        listen(&listener, BACKLOG)?;
        let place = free_place(&mut self.announced);
        events.add(&listener, Source::Announced(place as u32), Ready::IN)?;
        let announced = Announced { name: name.to_owned(), value: value.to_vec() };
        self.announced[place] = Some((listener, announced));
        Ok(())
    }

    /// Lets nobody find a name any more.
    pub fn withdraw(&mut self, name: &str, events: &Events) {
        for place in &mut self.announced {
            if let Some((listener, _)) = place.take_if(|(_, announced)| announced.name == name) {
                events.remove(&listener);
            }
        }
    }

    /// Answers whoever asks at a listener.
    pub fn answer(&mut self, place: u32) {
        let Some(Some((listener, announced))) = self.announced.get(place as usize) else { return };
        while let Ok(to) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            if is_of_this_user(&to) {
                // A fresh socket has room for it.
                let _ = Socket::new(to).try_send(announced, &[]);
            }
        }
    }

    /// Looks for a name on behalf of a rank. Returns what was found if that is known at once.
    pub fn find(&mut self, to: (u32, u64), name: String, events: &Events) -> Option<Found> {
        let place = free_place(&mut self.searches);
        self.searches[place] = Some(Search { to, name, next: 0, asked: None });
        self.proceed(place, events)
    }

    /// Something is ready of a search. Returns what was found, once that is known.
    pub fn handle(&mut self, place: u32, events: &Events) -> Option<Found> {
        let search = self.searches.get_mut(place as usize)?.as_mut()?;
        let (socket, _) = search.asked.as_ref()?;
        let value = match socket.try_receive::<Announced>() {
            Ok(None) => return None,
            Ok(Some((announced, _))) if announced.name == search.name => Some(announced.value),
            _ => None,
        };
        let (socket, _) = search.asked.take()?;
        events.remove(&socket);
        match value {
            Some(value) => {
                let to = search.to;
                self.searches[place as usize] = None;
                Some((to, Some(value)))
            }
            None => self.proceed(place as usize, events),
        }
    }

    /// Asks the next job that may have announced it.
    fn proceed(&mut self, place: usize, events: &Events) -> Option<Found> {
        let search = self.searches[place].as_mut()?;
        while search.next < MOST_JOBS {
            let at = address(&search.name, search.next);
            search.next += 1;
            if let Ok(socket) = at.and_then(|at| connect_with(&at))
                && events.add(&socket, Source::Search(place as u32), Ready::IN).is_ok()
            {
                search.asked = Some((socket, Instant::now() + PATIENCE));
                return None;
            }
        }
        let to = search.to;
        self.searches[place] = None;
        Some((to, None))
    }

    /// When [`check`](Self::check) next has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.searches.iter().flatten().filter_map(|search| Some(search.asked.as_ref()?.1)).min()
    }

    /// Gives up waiting for launchers that do not answer.
    pub fn check(&mut self, now: Instant, events: &Events) -> Vec<Found> {
        let mut found = Vec::new();
        for place in 0..self.searches.len() {
            let late = |search: &mut Search| search.asked.take_if(|(_, until)| now >= *until);
            if let Some((socket, _)) = self.searches[place].as_mut().and_then(late) {
                events.remove(&socket);
                found.extend(self.proceed(place, events));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks for a name as one job, while the others answer.
    fn look(name: &str, others: &mut [(Services, &Events)]) -> Option<Vec<u8>> {
        let (mut services, events) = (Services::default(), Events::new().unwrap());
        let mut found = services.find((3, 4), name.to_owned(), &events);
        while found.is_none() {
            for (other, events) in &mut *others {
                for (source, _) in events.wait(Some(Instant::now())) {
                    let Source::Announced(place) = source else { panic!("{source:?}") };
                    other.answer(place);
                }
            }
            for (source, _) in events.wait(Some(Instant::now())) {
                let Source::Search(place) = source else { panic!("{source:?}") };
                found = services.handle(place, &events);
            }
        }
        let (to, value) = found.unwrap();
        assert_eq!(to, (3, 4));
        value
    }

    #[test]
    fn a_name_is_found_while_a_job_announces_it() {
        let name = format!("a name of {}", std::process::id());
        let (first, second) = (Events::new().unwrap(), Events::new().unwrap());
        let mut jobs = [(Services::default(), &first), (Services::default(), &second)];
        assert_eq!(look(&name, &mut jobs), None);
        jobs[0].0.announce(&name, &[1], &first).unwrap();
        jobs[1].0.announce(&name, &[2], &second).unwrap();
        assert_eq!(look(&name, &mut jobs), Some(vec![1]));
        jobs[0].0.withdraw(&name, &first);
        assert_eq!(look(&name, &mut jobs), Some(vec![2]));
        jobs[1].0.withdraw(&name, &second);
        assert_eq!(look(&name, &mut jobs), None);
    }

    #[test]
    fn a_launcher_that_does_not_answer_is_passed_over() {
        let name = format!("another name of {}", std::process::id());
        let (mut silent, events) = (Services::default(), Events::new().unwrap());
        silent.announce(&name, &[1], &events).unwrap();
        let mut services = Services::default();
        assert!(services.find((0, 1), name, &events).is_none());
        let until = services.deadline().expect("it waits for an answer");
        assert!(services.check(until - PATIENCE / 2, &events).is_empty());
        assert_eq!(services.check(until, &events), [((0, 1), None)]);
    }
}
