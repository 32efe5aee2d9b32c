//! Names that other jobs of the user find: each is a listener of the launcher, at an address made of the name
//! and a nonce.
//!
//! Owns the listeners and the pending requests. The kernel forgets such an address with its launcher, so a
//! killed job leaves none behind. No process can take an address before its launcher, because only the
//! launcher knows the nonce. A launcher that searches finds the address in the kernel's list. Both launchers
//! must be of one user. If several jobs announce a name, a search finds one of them.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::join::is_of_this_user;
use canele_control::{Socket, draw_job_id};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
};
use serde::{Deserialize, Serialize};

use super::link::connect_with;
use crate::abstract_names::{Kind, parse_nonce, visit_listeners};
use crate::events::{Events, Ready, Source};

/// The most listeners that a search for one name asks.
const MOST_LISTENERS: usize = 1 << 16;
/// The most requests that wait at one listener; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The time in which an announcing launcher must answer: a stopped launcher does not.
const ANNOUNCER_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause before a listener whose queue is full is asked again.
const AGAIN: Duration = Duration::from_millis(10);
/// The most connections of other users that are closed in a row.
const STRANGERS_AT_A_TIME: usize = 64;

/// A launcher's answer about a name.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    name: String,
    value: Vec<u8>,
}

/// The names that this job has announced, and those that it looks for.
#[derive(Debug, Default)]
pub struct Services {
    announced: Vec<Option<(OwnedFd, Announced)>>,
    searches: Vec<Option<ServiceSearch>>,
}

/// A search for a name.
#[derive(Debug)]
struct ServiceSearch {
    to: (u32, u64),
    name: String,
    /// Listeners that are not asked yet, by their nonces.
    listeners: VecDeque<u64>,
    /// The launcher that was asked, and the deadline for its answer.
    asked: Option<(Socket, Instant)>,
    /// The end of attempts at full queues, and the time of the next one.
    again: Option<(Instant, Instant)>,
}

/// The rank and ticket that asked for a name, and the value found.
pub type FoundName = ((u32, u64), Option<Vec<u8>>);

/// Returns the start of all addresses of a name.
fn prefix(name: &str) -> String {
    let user = rustix::process::getuid().as_raw();
    // FNV-1a gives the same hash in all builds. The announcing launcher's answer has the whole name.
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("canele-name-{user}-{hash:016x}-")
}

fn address(name: &str, nonce: u64) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("{}{nonce:016x}", prefix(name)).as_bytes())
}

/// Returns the listeners at addresses of a name.
fn listeners(name: &str) -> VecDeque<u64> {
    let mut found = VecDeque::new();
    let add = |nonce: &str| {
        if found.len() < MOST_LISTENERS {
            found.extend(parse_nonce(nonce));
        }
    };
    // Without the list no name of another job is known.
    let _ = visit_listeners(Kind::SeqPacket, &prefix(name), add);
    found
}

/// Returns the first free place, or a new one.
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
    /// Fails as socket(2), bind(2), epoll_ctl(2) and getrandom(2) do.
    pub fn announce(&mut self, name: &str, value: &[u8], events: &Events) -> Result<(), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        bind(&listener, &address(name, draw_job_id()?)?)?;
        listen(&listener, BACKLOG)?;
        let place = free_place(&mut self.announced);
        events.add(&listener, Source::Announced(place as u32), Ready::IN)?;
        let announced = Announced { name: name.to_owned(), value: value.to_vec() };
        self.announced[place] = Some((listener, announced));
        Ok(())
    }

    /// Withdraws a name, so that no launcher finds it any more.
    pub fn withdraw(&mut self, name: &str, events: &Events) {
        for place in &mut self.announced {
            if let Some((listener, _)) = place.take_if(|(_, announced)| announced.name == name) {
                events.remove(&listener);
            }
        }
    }

    /// Answers the launchers that ask at a listener.
    pub fn answer(&mut self, place: u32) {
        let Some(Some((listener, announced))) = self.announced.get(place as usize) else { return };
        for _ in 0..STRANGERS_AT_A_TIME {
            let Ok(to) = accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) else { return };
            if is_of_this_user(&to) {
                // A new socket has room for the answer.
                let _ = Socket::new(to).try_send(announced, &[]);
            }
        }
    }

    /// Looks for a name on behalf of a rank. Returns the result if it is known at once.
    pub fn find(&mut self, to: (u32, u64), name: String, events: &Events) -> Option<FoundName> {
        let place = free_place(&mut self.searches);
        let listeners = listeners(&name);
        self.searches[place] = Some(ServiceSearch { to, name, listeners, asked: None, again: None });
        self.proceed(place, events)
    }

    /// Handles a ready socket of a search. Returns the result once it is known.
    pub fn handle(&mut self, place: u32, events: &Events) -> Option<FoundName> {
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

    /// Asks the next launcher that may have announced the name.
    fn proceed(&mut self, place: usize, events: &Events) -> Option<FoundName> {
        let search = self.searches[place].as_mut()?;
        for _ in 0..search.listeners.len() {
            let nonce = search.listeners.pop_front()?;
            match address(&search.name, nonce).and_then(|at| connect_with(&at)) {
                Ok(socket) => {
                    if events.add(&socket, Source::Search(place as u32), Ready::IN).is_ok() {
                        search.asked = Some((socket, Instant::now() + ANNOUNCER_TIMEOUT));
                        return None;
                    }
                }
                // Other users may fill the queue of a launcher.
                Err(Errno::AGAIN) => search.listeners.push_back(nonce),
                // The launcher has ended, or is not one of this user.
                Err(_) => {}
            }
        }
        if search.wait_for_room() {
            return None;
        }
        let to = search.to;
        self.searches[place] = None;
        Some((to, None))
    }

    /// Returns the next time at which [`check`](Self::check) has work.
    pub fn deadline(&self) -> Option<Instant> {
        self.searches.iter().flatten().filter_map(ServiceSearch::deadline).min()
    }

    /// Gives up waiting for launchers that do not answer, and asks again those whose queue was full.
    pub fn check(&mut self, now: Instant, events: &Events) -> Vec<FoundName> {
        let mut found = Vec::new();
        for place in 0..self.searches.len() {
            let Some(search) = &mut self.searches[place] else { continue };
            if search.deadline().is_none_or(|at| now < at) {
                continue;
            }
            if let Some((socket, _)) = search.asked.take() {
                events.remove(&socket);
            }
            found.extend(self.proceed(place, events));
        }
        found
    }
}

impl ServiceSearch {
    fn deadline(&self) -> Option<Instant> {
        match &self.asked {
            Some((_, until)) => Some(*until),
            None => self.again.map(|(_, next)| next),
        }
    }

    /// Notes the time of the next attempt at full queues; returns true if there is one.
    fn wait_for_room(&mut self) -> bool {
        let now = Instant::now();
        let until = self.again.map_or(now + ANNOUNCER_TIMEOUT, |(until, _)| until);
        self.again = (!self.listeners.is_empty() && now < until).then_some((until, now + AGAIN));
        self.again.is_some()
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
        // Either may be found: their names are drawn.
        assert!([Some(vec![1]), Some(vec![2])].contains(&look(&name, &mut jobs)));
        jobs[0].0.withdraw(&name, &first);
        assert_eq!(look(&name, &mut jobs), Some(vec![2]));
        jobs[1].0.withdraw(&name, &second);
        assert_eq!(look(&name, &mut jobs), None);
    }

    #[test]
    fn strangers_neither_take_a_name_nor_hide_it() {
        let name = format!("a wanted name of {}", std::process::id());
        let stranger = |nonce: String| {
            let listener =
                socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
            let address = SocketAddrUnix::new_abstract_name((prefix(&name) + &nonce).as_bytes()).unwrap();
            bind(&listener, &address).unwrap();
            listener
        };
        // A stranger takes all addresses that can be guessed, or listens at some of the right form and
        // answers nothing.
        let _guessed: Vec<_> = (0..16).map(|number| stranger(number.to_string())).collect();
        let full: Vec<_> = (0..4).map(|number| stranger(format!("{number:016x}"))).collect();
        full.iter().for_each(|listener| listen(listener, 0).unwrap());
        let places = (0..8).map(|number| address(&name, number / 2).unwrap());
        let _filled: Vec<_> = places.map(|at| connect_with(&at).ok()).collect();
        let events = Events::new().unwrap();
        let mut jobs = [(Services::default(), &events)];
        jobs[0].0.announce(&name, &[1], &events).unwrap();
        assert_eq!(look(&name, &mut jobs), Some(vec![1]));
    }

    #[test]
    fn a_launcher_that_does_not_answer_is_passed_over() {
        let name = format!("another name of {}", std::process::id());
        let (mut silent, events) = (Services::default(), Events::new().unwrap());
        silent.announce(&name, &[1], &events).unwrap();
        let mut services = Services::default();
        assert!(services.find((0, 1), name, &events).is_none());
        let until = services.deadline().expect("it waits for an answer");
        assert!(services.check(until - ANNOUNCER_TIMEOUT / 2, &events).is_empty());
        assert_eq!(services.check(until, &events), [((0, 1), None)]);
    }
}
