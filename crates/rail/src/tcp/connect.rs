//! How links come about and end: who is dialled, who is let in, and which of several connections of a pair is the one.
//!
//! Owns the rules; the sockets are those of [`super::dial`], [`super::door`] and [`super::link`].
//!
//! *Generations.* A pair of ranks has one connection over a rail at a time; each has a greater number than those before, and
//! both ends know it. Each rank counts for each peer: a new dial takes the next number; who accepts takes the next one too, at least
//! the dial's, and says so in the handshake's last flight.
//!
//! *What is too late.* Of what a peer has dialled, only attempts newer than any that has come about are heard: newer than the
//! dial that led to the last connection, or, where this rank dialled, than that connection itself, which the peer has
//! accepted and so knows. Others are attempts that the peer itself has given up.
//!
//! *What comes too early.* An attempt that is new, for a pair whose connection this rank still holds, says that the peer has lost
//! that one. It is lost here too, and the attempt stays unanswered until this rank has buried or disconnected it.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};

use super::dial::{ALONE_NS, Around, Dial, Way};
use super::door::{CLOSED_NS, Decision};
use super::link::Link;
use super::lost::{Unreachable, Why};
use super::meeting::Meeting;
use super::{Tcp, kernel};
use crate::Lost;

/// What a rank counts for a peer.
#[derive(Clone, Copy, Default)]
pub struct Pair {
    /// The greatest number used for a dial or a connection.
    last: u32,
    /// Dials of the peer up to this number are of the past.
    past: u32,
}

/// How often somebody looks whose patience may end.
const PATIENT_NS: u64 = 1_000_000_000;

impl Tcp {
    /// Says where a peer is reached. Addresses that have most in common with one of this rail are tried first.
    pub fn introduce(&mut self, peer: Rank, addresses: Vec<SocketAddr>) {
        let own: Vec<_> = self.addresses().iter().map(SocketAddr::ip).collect();
        let way = |to: SocketAddr| {
            let near = own.iter().filter(|own| own.is_ipv4() == to.is_ipv4());
            let nearest = near.min_by_key(|own| differing_bits(**own, to.ip()));
            let from = nearest.copied().filter(|own| !own.is_unspecified());
            Way { from, to }
        };
        let mut ways: Vec<_> = addresses.into_iter().map(way).collect();
        ways.sort_by_key(|way| way.from.map_or(u32::MAX, |from| differing_bits(from, way.to.ip())));
        self.ways[peer.0 as usize] = ways;
    }

    /// Begins to connect to a peer that was introduced. [`Tcp::meet`] goes on with it until [`crate::Rail::link`] knows the
    /// link or [`Tcp::take_unreachable`] says why there is none.
    pub fn open_link(&mut self, peer: Rank) {
        let place = peer.0 as usize;
        if self.links[place].is_none() && self.dials.iter().all(|dial| dial.peer != peer) {
            self.pairs[place].last += 1;
            self.dials.push(Dial::new(peer, self.pairs[place].last, self.ways[place].clone()));
            self.ready.clear();
            self.go_on_dialling(None);
        }
    }

    /// Answers who connects to this rank and goes on with connections that are being made; says whether there is a new
    /// link. One system call if nothing came: for passes that found nothing, and now and then for others. `now_ns` is any
    /// clock that goes on.
    pub fn meet(&mut self, now_ns: u64) -> bool {
        self.go_on_meeting(Some(now_ns))
    }

    pub(super) fn go_on_meeting(&mut self, now_ns: Option<u64>) -> bool {
        let links = self.incoming.len();
        self.door_watch.ready(&mut self.ready);
        self.let_in(now_ns);
        self.go_on_dialling(now_ns);
        self.incoming.len() != links
    }

    fn let_in(&mut self, now_ns: Option<u64>) {
        let Self { credentials, links, dials, lost, pairs, number, door, .. } = self;
        let (me, number) = (credentials.me, *number);
        let decide = |peer: Rank, dial: u32| {
            let (pair, link) = (&mut pairs[peer.0 as usize], &mut links[peer.0 as usize]);
            if dial <= pair.past {
                return Decision::Drop;
            }
            if me < peer && dials.iter().any(|dial| dial.peer == peer) {
                return Decision::Wait;
            }
            if let Some(link) = link {
                if let Some(why) = link.give_up(Why::Replaced) {
                    lost.push_back(Lost { link: LinkId::new(number, peer), why: why.to_string() });
                }
                return Decision::Wait;
            }
            pair.last = (pair.last + 1).max(dial);
            pair.past = dial;
            Decision::Accept(pair.last)
        };
        let mut around = Around {
            credentials,
            watch: &self.door_watch,
            keys: &mut self.keys,
            ready: &self.ready,
            now_ns,
            patience_ns: self.patience_ns,
        };
        for (peer, meeting) in door.step(&mut around, decide) {
            self.dials.retain(|dial| dial.peer != peer);
            self.add_link(peer, meeting);
        }
    }

    fn go_on_dialling(&mut self, now_ns: Option<u64>) {
        for mut dial in std::mem::take(&mut self.dials) {
            let mut around = Around {
                credentials: &self.credentials,
                watch: &self.door_watch,
                keys: &mut self.keys,
                ready: &self.ready,
                now_ns,
                patience_ns: self.patience_ns,
            };
            match dial.step(&mut around) {
                None => self.dials.push(dial),
                Some(Ok(meeting)) => {
                    let generation = meeting.handshake.generation();
                    let pair = &mut self.pairs[dial.peer.0 as usize];
                    (pair.last, pair.past) = (pair.last.max(generation), generation);
                    self.add_link(dial.peer, meeting);
                }
                Some(Err(tried)) => self.unreachable.push_back(Unreachable { peer: dial.peer, tried }),
            }
        }
    }

    fn add_link(&mut self, peer: Rank, meeting: Meeting) {
        let generation = meeting.handshake.generation();
        let socket = meeting.into_socket();
        // A kernel that does not know this holds more than it should, or notices later that a host is gone, and works.
        let _ = kernel::bound_unsent(&socket, self.sizes.max_bulk());
        let _ = kernel::keep_asking(&socket);
        self.links[peer.0 as usize] = Some(Box::new(Link::new(socket, peer, generation, self.sizes)));
        self.incoming.push(LinkId::new(self.number, peer));
    }

    pub(super) fn remove_link(&mut self, link: LinkId) -> Option<Box<Link>> {
        self.incoming.retain(|other| *other != link);
        self.lost.retain(|lost| lost.link != link);
        let link = self.links[link.peer().0 as usize].take();
        self.sent_before += link.as_ref().map_or(0, |link| link.sent());
        link
    }

    /// A peer to whom no connection could be made.
    pub fn take_unreachable(&mut self) -> Option<Unreachable> {
        self.unreachable.pop_front()
    }

    /// Connections in hand whose other end has not proven itself, and how many such were dropped so far.
    pub fn unproven(&self) -> (usize, u64) {
        (self.door.unproven(), self.door.dropped)
    }

    /// How long whoever sleeps may do so until [`Tcp::meet`] has something to do, whatever comes.
    pub fn patience(&self) -> Option<Duration> {
        let dialling = (!self.dials.is_empty()).then_some(ALONE_NS);
        let closed = self.door.is_closed().then_some(CLOSED_NS);
        let timed = self.door.is_timed().then_some(PATIENT_NS.min(self.patience_ns));
        [dialling, closed, timed].into_iter().flatten().min().map(Duration::from_nanos)
    }
}

/// How many bits of two addresses of one kind come after those they have in common.
fn differing_bits(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => 32 - (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => 128 - (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => u32::MAX,
    }
}
