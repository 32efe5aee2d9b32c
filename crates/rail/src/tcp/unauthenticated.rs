//! Unauthenticated connections: those that were accepted, and whose other end has not proven itself.
//!
//! Owns a bounded table of them, in which those that show the key have places of their own, and the choice of the one that is evicted
//! when there is one too many. A connection whose
//! first flight shows the key stays as long as there is another. Among the others the network with most connections yields, so
//! that one attacker does not displace a peer of another network, and of its connections a random one, so that no stranger can
//! foresee which. What has come on a connection is looked at before it is evicted: a peer that has spoken is never displaced by
//! strangers that have not.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::rand::{GetRandomFlags, getrandom};
use slab::Slab;

use super::connector::Context;
use super::handshaking::Handshaking;
use super::token::Token;

/// Connections that are looked at before one is evicted in any case.
const CHANCES: usize = 4;

/// Connections that show the key may be so many times as many as the others: peers that connect at once.
const SHOWING: usize = 16;

/// The table.
pub struct Unauthenticated {
    table: Slab<Handshaking>,
    /// How many connections each network has in the table.
    by_network: HashMap<IpAddr, u32>,
    most: usize,
    random: u64,
}

impl Unauthenticated {
    /// An empty table for `most` connections.
    pub fn new(most: usize) -> Result<Self, Errno> {
        let mut seed = [0; 8];
        getrandom(&mut seed, GetRandomFlags::empty())?;
        let random = u64::from_ne_bytes(seed) | 1;
        Ok(Self { table: Slab::new(), by_network: HashMap::new(), most, random })
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True if there is one more than there may be.
    pub fn is_too_full(&self) -> bool {
        let showing = self.table.iter().filter(|(_, at)| at.handshake.shows_key()).count();
        self.table.len() - showing > self.most || showing > SHOWING * self.most
    }

    /// The connection at a place, if there is one.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Handshaking> {
        self.table.get_mut(place)
    }

    /// Adds a connection; returns its place.
    pub fn insert(&mut self, mut handshaking: Handshaking) -> usize {
        let entry = self.table.vacant_entry();
        let place = entry.key();
        handshaking.token = Token::Accepted(place);
        *self.by_network.entry(network(handshaking.address.ip())).or_default() += 1;
        entry.insert(handshaking);
        place
    }

    /// Takes the connection at a place out of the table.
    pub fn remove(&mut self, place: usize) -> Handshaking {
        let handshaking = self.table.remove(place);
        let network = network(handshaking.address.ip());
        if let Some(count) = self.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
        handshaking
    }

    /// Drops connections that have lasted too long; returns how many.
    pub fn expire(&mut self, context: &Context<'_>) -> u64 {
        let old = |(place, handshaking): (usize, &mut Handshaking)| {
            handshaking.is_too_old(context).then_some(place)
        };
        let old: Vec<_> = self.table.iter_mut().filter_map(old).collect();
        old.iter().for_each(|place| drop(self.remove(*place)));
        old.len() as u64
    }

    /// Drops one connection, without a word to its other end; says whether there was one.
    pub fn evict(&mut self, context: &Context<'_>) -> bool {
        for chance in 1..=CHANCES {
            let Some(place) = self.victim() else { return false };
            let handshaking = &mut self.table[place];
            let spoke = !handshaking.handshake.shows_key()
                && handshaking.hear_first(context.poller).is_ok()
                && handshaking.handshake.shows_key();
            if !spoke || chance == CHANCES {
                let handshaking = self.remove(place);
                // Resets the connection, which leaves nothing of it in the kernel.
                let _ = sockopt::set_socket_linger(handshaking.as_fd(), Some(Duration::ZERO));
                break;
            }
        }
        true
    }

    /// The place of the connection that is evicted next.
    fn victim(&mut self) -> Option<usize> {
        let (mut best, mut victim, mut equals) = ((false, 0), None, 0);
        for (place, handshaking) in &self.table {
            let of_network = self.by_network.get(&network(handshaking.address.ip()));
            let claim = (!handshaking.handshake.shows_key(), of_network.copied().unwrap_or(0));
            if claim > best {
                (best, equals) = (claim, 0);
            }
            if claim == best {
                equals += 1;
                self.random ^= self.random << 13;
                self.random ^= self.random >> 7;
                self.random ^= self.random << 17;
                if self.random.is_multiple_of(equals) {
                    victim = Some(place);
                }
            }
        }
        victim
    }
}

/// What counts as one attacker: an address, or as much of one as a host usually has.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 64).into(),
    }
}
