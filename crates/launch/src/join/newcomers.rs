//! New connections at the launcher of a job that another launcher has started, until their other ends have
//! proven the job's key.
//!
//! Owns a limited number of places. Waits for none of them and starts no thread: each has a limited number of
//! bytes, one deadline, and a place that the next connection takes from the oldest one. So strangers delay an
//! agent by no more than the time that its own first flight takes to arrive.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use canele_secure::{Secret, SecureChannel};

use crate::events::{Events, Ready, Source};
use crate::remote::{Connection, GREETING, MAGIC, PREAMBLE, Version};

/// The most connections that have proven nothing.
pub const MOST_NEWCOMERS: usize = 256;
/// The time that the first flight may take.
pub const PROOF_TIME: Duration = Duration::from_secs(5);
/// The time that the first message may take after the first flight. The other end has the key, or replays a
/// flight of an end that has it.
const FIRST_MESSAGE_TIME: Duration = Duration::from_secs(60);

/// A connection that has proven nothing.
#[derive(Debug)]
struct Newcomer {
    stream: TcpStream,
    /// This end's address, to which the proof is bound.
    address: SocketAddr,
    greeting: [u8; GREETING],
    came: usize,
    until: Instant,
}

/// A connection whose first flight was made, once, by a process that has the key.
#[derive(Debug)]
pub struct Greeted {
    /// The connection.
    pub stream: TcpStream,
    /// The channel that opens and seals its frames.
    pub channel: SecureChannel,
    /// The bytes to be sent first.
    pub answer: Vec<u8>,
    /// The deadline of its first message.
    pub until: Instant,
}

/// All newcomers.
#[derive(Debug)]
pub struct Newcomers {
    secret: Secret,
    places: Vec<Option<Newcomer>>,
    /// The places of newcomers, the oldest in front. Each taken place occurs once.
    order: VecDeque<usize>,
    /// The version that another release of the command has sent, or a stranger in its name.
    pub other_version: Option<Version>,
}

/// The result of a read.
enum Progress {
    NotYet,
    Greeted(Box<Greeted>),
    Refused,
}

impl Newcomers {
    /// Returns an empty set that accepts proofs of this secret.
    pub fn new(secret: Secret) -> Newcomers {
        Newcomers { secret, places: Vec::new(), order: VecDeque::new(), other_version: None }
    }

    /// Adds a connection; mostly its first flight has already arrived.
    pub fn add(&mut self, stream: TcpStream, now: Instant, events: &Events) -> Option<Greeted> {
        if self.order.len() >= MOST_NEWCOMERS {
            self.evict_oldest(events);
        }
        let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
        let address = prepared.and_then(|()| stream.local_addr()).ok()?;
        let place = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        events.add(&stream, source(place), Ready::IN).ok()?;
        if place == self.places.len() {
            self.places.push(None);
        }
        self.places[place] =
            Some(Newcomer { stream, address, greeting: [0; GREETING], came: 0, until: now + PROOF_TIME });
        self.order.push_back(place);
        self.read(place, events)
    }

    /// Reads data at this place.
    pub fn read(&mut self, place: usize, events: &Events) -> Option<Greeted> {
        let newcomer = self.places.get_mut(place)?.as_mut()?;
        match newcomer.read(&self.secret, &mut self.other_version) {
            Progress::NotYet => None,
            Progress::Greeted(greeted) => {
                self.leave(place, events);
                Some(*greeted)
            }
            Progress::Refused => {
                self.leave(place, events);
                None
            }
        }
    }

    /// Closes the oldest newcomer to make room.
    pub fn evict_oldest(&mut self, events: &Events) {
        if let Some(place) = self.order.front().copied() {
            self.leave(place, events);
        }
    }

    fn leave(&mut self, place: usize, events: &Events) {
        if let Some(newcomer) = self.places[place].take() {
            events.remove(&newcomer.stream);
        }
        self.order.retain(|other| *other != place);
    }

    /// Returns the deadline of the oldest newcomer.
    pub fn deadline(&self) -> Option<Instant> {
        let oldest = self.order.front().and_then(|place| self.places[*place].as_ref());
        oldest.map(|newcomer| newcomer.until)
    }

    /// Closes the newcomers whose deadlines have passed.
    pub fn check(&mut self, now: Instant, events: &Events) {
        while self.deadline().is_some_and(|at| now >= at) {
            self.evict_oldest(events);
        }
    }

    /// Closes all newcomers.
    pub fn close(&mut self, events: &Events) {
        while !self.order.is_empty() {
            self.evict_oldest(events);
        }
    }
}

impl Newcomer {
    fn read(&mut self, secret: &Secret, other_version: &mut Option<Version>) -> Progress {
        while self.came < GREETING {
            match self.stream.read(&mut self.greeting[self.came..]) {
                Ok(0) => return Progress::Refused,
                Ok(count) => self.came += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Progress::Refused,
            }
        }
        let seen = self.came.min(MAGIC.len());
        if self.greeting[..seen] != MAGIC[..seen] {
            return Progress::Refused;
        }
        let (preamble, flight) =
            self.greeting.split_first_chunk().expect("a greeting begins with a preamble");
        let theirs = Version::parse(preamble);
        if self.came >= PREAMBLE && theirs != Version::own() {
            // With the preamble the other end can name both versions.
            let _ = self.stream.write(&Version::own().preamble());
            *other_version = Some(theirs);
            return Progress::Refused;
        }
        if self.came < GREETING {
            return Progress::NotYet;
        }
        match Connection::Address(self.address).answer(secret, flight) {
            Ok((channel, answer)) => match self.stream.try_clone() {
                Ok(stream) => {
                    let until = self.until + FIRST_MESSAGE_TIME;
                    Progress::Greeted(Box::new(Greeted { stream, channel, answer, until }))
                }
                Err(_) => Progress::Refused,
            },
            Err(_) => Progress::Refused,
        }
    }
}

/// Returns the source of the connection at a place; the first numbers are used for other connections.
fn source(place: usize) -> Source {
    Source::Joining(place as u32 + FIRST_PLACE)
}

/// The number of [`Source::Joining`] that the first place has.
pub const FIRST_PLACE: u32 = 1;

#[cfg(test)]
#[path = "newcomers_tests.rs"]
mod tests;
