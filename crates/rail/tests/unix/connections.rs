//! The making of links: attempts of this rank and connections of other ranks, until both ends have proven the
//! job's key.
//!
//! The proofs are those of [`canele_rail::tcp::handshake`], one flight in one packet. They are bound to the
//! names of the two sockets, which the kernel tells each end. A relay between two ranks has sockets with
//! other names, so it convinces neither. Names belong to one network namespace: between two namespaces a
//! relay could use both names.

use std::os::fd::OwnedFd;

use canele_rail::tcp::handshake::{Credentials, Handshake, LONGEST_FLIGHT, SocketNames};
use canele_rail::{Member, OtherRanks, Unreachable};
use canele_sys::ids::Rank;
use canele_sys::poller::Ready;
use rustix::io::Errno;

use super::link::{Limits, Link};
use super::rail::{CONNECTIONS, Unix};
use super::socket;

/// The longest time for an attempt, and for an accepted connection to prove itself.
pub const TIMEOUT_NS: u64 = 10_000_000_000;
/// The pause of accepting while the system has no descriptor left.
const PAUSE_NS: u64 = 100_000_000;
/// Accepted connections that have not proven themselves. A further one replaces one that shows no key.
pub const UNPROVEN: usize = 16;
/// The most connections accepted in one step.
const AT_ONCE: usize = 64;

/// An attempt to reach a peer.
pub struct Attempt {
    number: u32,
    /// None until the peer's queue takes the connection.
    socket: Option<(OwnedFd, Vec<u8>, Handshake)>,
    pub deadline_ns: Option<u64>,
}

impl Attempt {
    pub fn new(number: u32) -> Self {
        Self { number, socket: None, deadline_ns: None }
    }

    pub fn waits_for_queue(&self) -> bool {
        self.socket.is_none()
    }
}

/// A connection of a process that may be a peer.
pub struct Accepted {
    socket: OwnedFd,
    there: Vec<u8>,
    handshake: Handshake,
    pub deadline_ns: u64,
    /// The reason why this rank's own attempt to the peer failed; this connection replaces it.
    failure: Option<String>,
}

impl Accepted {
    pub fn is_proven(&self) -> bool {
        self.handshake.undecided().is_some()
    }
}

fn credentials(rail: u8, member: &Member, limits: Limits, listener: &[u8], initiator: &[u8]) -> Credentials {
    let Member { me, ranks, job, key } = *member;
    let Limits { cells, payload } = limits;
    let sockets = SocketNames { listener: listener.to_vec(), initiator: initiator.to_vec() };
    Credentials { me, rail, ranks, job, key, cells, payload: payload as u32, sockets }
}

/// Sends and receives the bytes that the handshake has and wants now.
fn pump(socket: &OwnedFd, handshake: &mut Handshake) -> Result<(), String> {
    loop {
        let flight = handshake.to_send().to_vec();
        if !flight.is_empty() {
            // An empty socket has room for a flight.
            socket::send_packet(socket, &[&flight]).map_err(|why| why.to_string())?;
            handshake.handle_sent(flight.len());
        }
        let wanted = handshake.wanted();
        if wanted == 0 {
            return Ok(());
        }
        let mut buffer = [0; LONGEST_FLIGHT];
        match socket::receive_packet(socket, &mut buffer) {
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(why) => return Err(why.to_string()),
            Ok(0) => return Err("it closed the connection".into()),
            Ok(len) if len == wanted => {
                let handled = handshake.handle(&buffer[..len]);
                if handled.is_err() {
                    // The other end learns the reason, if it can.
                    let _ = socket::send_packet(socket, &[handshake.to_send()]);
                }
                handled.map_err(|why| why.to_string())?;
            }
            Ok(len) => return Err(format!("it sent {len} bytes instead of {wanted}")),
        }
    }
}

/// Drops the oldest unproven connection that has shown no key so far; if all have shown it, the oldest of
/// them.
fn evict(accepted: &mut Vec<Accepted>) {
    let shows_none = |Accepted { socket, handshake, .. }: &mut Accepted| {
        !handshake.shows_key() && (pump(socket, handshake).is_err() || !handshake.shows_key())
    };
    let victim = accepted.iter_mut().position(shows_none);
    if let Some(victim) = victim.or_else(|| accepted.iter().position(|accepted| !accepted.is_proven())) {
        accepted.remove(victim);
    }
}

impl Unix {
    /// Returns the job of a peer, if it is another one.
    pub fn among(&self, peer: Rank) -> Option<OtherRanks> {
        self.others.iter().find(|others| others.theirs(peer).is_some()).copied()
    }

    /// Returns true if the peer's attempt is used rather than this rank's when both connect.
    fn yields_to(&self, peer: Rank) -> bool {
        self.among(peer).map_or(peer < self.member.me, |others| others.theirs < others.job)
    }

    /// Ends an attempt without any report.
    pub fn end_attempt(&mut self, peer: Rank) {
        self.attempts.remove(&peer);
        let of_peer =
            self.accepted.iter_mut().filter(|accepted| accepted.handshake.undecided() == Some(peer));
        of_peer.for_each(|accepted| accepted.failure = None);
    }

    pub fn progress_attempts(&mut self) -> bool {
        let peers: Vec<_> = self.attempts.keys().copied().collect();
        peers.into_iter().fold(false, |any, peer| self.progress_attempt(peer) | any)
    }

    fn progress_attempt(&mut self, peer: Rank) -> bool {
        let Some(mut attempt) = self.attempts.remove(&peer) else { return false };
        let deadline_ns = *attempt.deadline_ns.get_or_insert(self.now_ns.saturating_add(TIMEOUT_NS));
        let mut result = self.begin(peer, &mut attempt);
        if let (Ok(()), Some((socket, _, handshake))) = (&result, &mut attempt.socket) {
            result = pump(socket, handshake);
        }
        match (result, attempt.socket.take()) {
            (Ok(()), Some((socket, here, handshake))) if handshake.is_over() => {
                let there = self.introduced.get(&peer).cloned().unwrap_or_default();
                self.add_link(peer, Link::new(socket, handshake.generation(), here, there, self.limits));
                return true;
            }
            (Ok(()), socket) if self.now_ns < deadline_ns => {
                attempt.socket = socket;
                self.attempts.insert(peer, attempt);
            }
            (result, _) => self.fail(peer, result.err().unwrap_or_else(|| "it does not answer".into())),
        }
        false
    }

    fn begin(&self, peer: Rank, attempt: &mut Attempt) -> Result<(), String> {
        if attempt.socket.is_some() {
            return Ok(());
        }
        let there = self.introduced.get(&peer).ok_or("it was not introduced")?;
        let words = |why: Errno| why.to_string();
        let (socket, here) = socket::open(b"canele-unix-").map_err(words)?;
        match socket::connect_to(&socket, there) {
            Err(Errno::AGAIN) => return Ok(()),
            connected => connected.map_err(words)?,
        }
        self.poller.add(&socket, CONNECTIONS, Ready::IN).map_err(words)?;
        let own = credentials(self.number, &self.member, self.limits, there, &here);
        let nonce = socket::random().map_err(words)?;
        let handshake = Handshake::initiate_among(&own, self.among(peer), peer, attempt.number, nonce);
        attempt.socket = Some((socket, here, handshake));
        Ok(())
    }

    fn fail(&mut self, peer: Rank, why: String) {
        // The peer's own connection, which has waited for this attempt, is used instead.
        let waits = |accepted: &&mut Accepted| accepted.handshake.undecided() == Some(peer);
        if let Some(accepted) = self.accepted.iter_mut().find(waits) {
            accepted.failure = Some(why);
            return;
        }
        self.report_unreachable(peer, &why);
    }

    fn report_unreachable(&mut self, peer: Rank, why: &str) {
        let there =
            String::from_utf8_lossy(self.introduced.get(&peer).map_or(&[], Vec::as_slice)).into_owned();
        self.unreachable.push_back(Unreachable { link: self.id(peer), why: format!("@{there}: {why}") });
    }

    /// Takes new connections from the listener's queue.
    pub fn accept(&mut self) {
        if self.pause_until_ns.is_some_and(|until_ns| self.now_ns < until_ns) {
            return;
        }
        let is_paused = self.pause_until_ns.take().is_some();
        let Some((listener, here)) = &self.listener else { return };
        if is_paused {
            let _ = self.poller.set(listener, CONNECTIONS, &mut self.listener_interest, Some(Ready::IN));
        }
        for _ in 0..AT_ONCE {
            let (socket, there) = match socket::accept(listener) {
                Ok((socket, Some(there))) => (socket, there),
                Ok((_, None)) | Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(Errno::AGAIN) => return,
                Err(_) => {
                    let _ = self.poller.set(listener, CONNECTIONS, &mut self.listener_interest, None);
                    self.pause_until_ns = Some(self.now_ns.saturating_add(PAUSE_NS));
                    return;
                }
            };
            let own = credentials(self.number, &self.member, self.limits, here, &there);
            let Ok(nonce) = socket::random() else { continue };
            let handshake = Handshake::respond_to_all(&own, &self.others.as_slice().into(), nonce);
            if self.poller.add(&socket, CONNECTIONS, Ready::IN).is_err() {
                continue;
            }
            if self.accepted.iter().filter(|accepted| !accepted.is_proven()).count() == UNPROVEN {
                evict(&mut self.accepted);
            }
            let deadline_ns = self.now_ns.saturating_add(TIMEOUT_NS);
            self.accepted.push(Accepted { socket, there, handshake, deadline_ns, failure: None });
        }
    }

    pub fn progress_accepted(&mut self) -> bool {
        let mut any = false;
        for mut accepted in std::mem::take(&mut self.accepted) {
            let was_proven = accepted.is_proven();
            let is_over = match was_proven {
                // A peer that waits says nothing.
                true => socket::has_stirred(&accepted.socket),
                false => {
                    pump(&accepted.socket, &mut accepted.handshake).is_err()
                        || (!accepted.is_proven() && self.now_ns >= accepted.deadline_ns)
                }
            };
            if is_over {
                if let Some((peer, why)) = accepted.handshake.undecided().zip(accepted.failure) {
                    self.report_unreachable(peer, &why);
                }
                continue;
            }
            if let Some(peer) = accepted.handshake.undecided().filter(|_| !was_proven) {
                // Only the newest attempt of a peer is still wanted.
                let is_older = |other: &mut Accepted| other.handshake.undecided() == Some(peer);
                let older = self.accepted.extract_if(.., is_older);
                accepted.failure = older.filter_map(|older| older.failure).last();
            }
            match accepted.handshake.undecided() {
                Some(peer) if self.is_acceptable(peer) => any |= self.decide(peer, accepted),
                _ => self.accepted.push(accepted),
            }
        }
        any
    }

    fn is_acceptable(&self, peer: Rank) -> bool {
        !self.links.contains_key(&peer) && (!self.attempts.contains_key(&peer) || self.yields_to(peer))
    }

    /// Returns true if a connection of a peer waits that can be accepted now.
    pub fn has_acceptable(&self) -> bool {
        self.accepted
            .iter()
            .filter_map(|accepted| accepted.handshake.undecided())
            .any(|peer| self.is_acceptable(peer))
    }

    fn decide(&mut self, peer: Rank, accepted: Accepted) -> bool {
        let Accepted { socket, there, mut handshake, .. } = accepted;
        let last = self.generations.get(&peer).copied().unwrap_or(0);
        let generation = last.wrapping_add(1).max(handshake.dial());
        handshake.accept(generation);
        self.attempts.remove(&peer);
        // If it cannot be sent, the peer finds the connection closed, and so does this rank.
        let _ = pump(&socket, &mut handshake);
        let here = self.listener.as_ref().map(|(_, name)| name.clone()).unwrap_or_default();
        self.add_link(peer, Link::new(socket, generation, here, there, self.limits));
        true
    }

    fn add_link(&mut self, peer: Rank, mut link: Link) {
        // The poller knows the socket as one of a connection that is being made.
        let _ = self.poller.remove(&link.socket);
        let token = super::rail::LINKS + u64::from(peer.0);
        let _ = self.poller.set(&link.socket, token, &mut link.interest, Some(Ready::IN));
        self.generations.insert(peer, link.generation);
        self.links.insert(peer, link);
        self.opened.push_back(self.id(peer));
        self.list_links();
    }
}
