//! Unauthenticated connections: accepted connections whose other end has not proven its identity.
//!
//! Owns a bounded table of them and chooses the connection to evict when the table is full. Connections whose
//! first flight shows the key have a limit of their own. None of them is evicted while there is another
//! connection. Among the others the network with most connections loses one, so that one attacker does not
//! displace a peer of another network. The victim is random, so that no stranger can predict it. Received
//! data of a connection is read before its eviction: strangers that are silent never displace a peer that has
//! sent its first flight.

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

/// Most connections that are checked before one is evicted in any case.
const CHANCES: usize = 4;

/// Ratio of the limits for connections that show the key and for others, because many peers connect at once.
const SHOWING: usize = 16;

/// The table.
pub struct Unauthenticated {
    table: Slab<Handshaking>,
    /// Number of connections of each network in the table.
    by_network: HashMap<IpAddr, u32>,
    most: usize,
    random: u64,
}

impl Unauthenticated {
    /// Makes an empty table for `most` connections.
    pub fn new(most: usize) -> Result<Self, Errno> {
        let mut seed = [0; 8];
        getrandom(&mut seed, GetRandomFlags::empty())?;
        let random = u64::from_ne_bytes(seed) | 1;
        Ok(Self { table: Slab::new(), by_network: HashMap::new(), most, random })
    }

    /// Returns the number of connections.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Returns true if the table has one connection too many.
    pub fn is_too_full(&self) -> bool {
        let showing = self.table.iter().filter(|(_, at)| at.handshake.shows_key()).count();
        self.table.len() - showing > self.most || showing > SHOWING * self.most
    }

    /// Returns the connection in a slot, if there is one.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Handshaking> {
        self.table.get_mut(place)
    }

    /// Adds a connection; returns its slot.
    pub fn insert(&mut self, mut handshaking: Handshaking) -> usize {
        let entry = self.table.vacant_entry();
        let place = entry.key();
        handshaking.token = Token::Accepted(place);
        *self.by_network.entry(network(handshaking.address.ip())).or_default() += 1;
        entry.insert(handshaking);
        place
    }

    /// Removes the connection in a slot.
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

    /// Drops connections that have lasted too long; returns their number.
    pub fn expire(&mut self, context: &Context<'_>) -> u64 {
        let old = |(place, handshaking): (usize, &mut Handshaking)| {
            handshaking.is_too_old(context).then_some(place)
        };
        let old: Vec<_> = self.table.iter_mut().filter_map(old).collect();
        old.iter().for_each(|place| drop(self.remove(*place)));
        old.len() as u64
    }

    /// Drops one connection without notifying its other end. Returns true if there was one.
    pub fn evict(&mut self, context: &Context<'_>) -> bool {
        for chance in 1..=CHANCES {
            let Some(place) = self.victim() else { return false };
            let handshaking = &mut self.table[place];
            let spoke = !handshaking.handshake.shows_key()
                && handshaking.hear_first(context.poller).is_ok()
                && handshaking.handshake.shows_key();
            if !spoke || chance == CHANCES {
                let handshaking = self.remove(place);
                // Resets the connection, so that the kernel keeps no state of it.
                let _ = sockopt::set_socket_linger(handshaking.as_fd(), Some(Duration::ZERO));
                break;
            }
        }
        true
    }

    /// Returns the slot of the next connection to evict.
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

/// Returns the network that counts as one attacker: an IPv4 address, or the IPv6 prefix of a host.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !0 << 64).into(),
    }
}
