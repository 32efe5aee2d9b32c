//! The networks of this machine: the addresses on which rails may listen, and the rails of several hosts that
//! belong together.
//!
//! Owns nothing. Never decides on reachability, which connecting shows.
//!
//! A rail is one interface; its addresses are alternatives. Link-local addresses (`169.254/16`, `fe80::/10`)
//! are not used, because they differ in meaning on each host. Loopback is used only on request, or if there
//! is no other interface.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{IpAddr, UdpSocket};

use if_addrs::IfAddr;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// An interface that is up, with its addresses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Interface {
    /// Its name on this machine.
    pub name: String,
    /// Its addresses with their prefix lengths, without link-local ones.
    pub nets: Vec<IpNet>,
}

impl Interface {
    /// Returns its addresses, as the ports of a rail ([`crate::Driver::open`]).
    pub fn ports(&self) -> Vec<String> {
        self.nets.iter().map(|net| net.addr().to_string()).collect()
    }

    /// Returns its addresses.
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.nets.iter().map(IpNet::addr).collect()
    }

    fn is_loopback(&self) -> bool {
        self.nets.iter().all(|net| net.addr().is_loopback())
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.nets.iter().map(|net| net.addr().to_string()).collect();
        write!(f, "{} ({})", self.name, addresses.join(", "))
    }
}

/// The error of a requested rail that this machine does not have.
#[derive(Debug, thiserror::Error)]
#[error("no interface that is up has the name or address {asked}; there are: {}", List(.found))]
pub struct NoSuchInterface {
    /// The requested name or address.
    pub asked: String,
    /// The interfaces of this machine.
    pub found: Vec<Interface>,
}

struct List<'a>(&'a [Interface]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(Interface::to_string).collect();
        f.write_str(if all.is_empty() { "none".into() } else { all.join(", ") }.as_str())
    }
}

/// Returns the interfaces that are up (they have a carrier) and have an address that can be listened on, in the order of their networks.
///
/// # Errors
/// The system does not list them.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut by_name: BTreeMap<String, Vec<IpNet>> = BTreeMap::new();
    for found in if_addrs::get_if_addrs()? {
        // An address that is not ready, as during duplicate detection, cannot be bound to.
        if found.is_oper_up() && !found.is_link_local() && UdpSocket::bind((found.ip(), 0)).is_ok() {
            by_name.entry(found.name).or_default().extend(net_of(&found.addr));
        }
    }
    let interface = |(name, nets): (String, Vec<IpNet>)| Interface { name, nets };
    let mut all: Vec<_> = by_name.into_iter().map(interface).filter(|it| !it.nets.is_empty()).collect();
    all.iter_mut().for_each(|interface| interface.nets.sort());
    all.sort_by_key(|interface| interface.nets.iter().map(IpNet::trunc).min());
    Ok(all)
}

/// Returns all addresses that this machine has, usable for rails or not.
///
/// # Errors
/// The system does not list them.
pub fn all_addresses() -> io::Result<Vec<IpAddr>> {
    Ok(if_addrs::get_if_addrs()?.into_iter().map(|found| found.ip()).collect())
}

/// Returns an address with its prefix length.
fn net_of(address: &IfAddr) -> Option<IpNet> {
    let bits = match address {
        IfAddr::V4(address) => address.prefixlen,
        IfAddr::V6(address) => address.prefixlen,
    };
    IpNet::new(address.ip(), bits).ok()
}

/// Returns the names and addresses of interfaces in the setting `CANELE_RAILS`, which has commas between them.
pub fn names_in(rails: &str) -> Vec<&str> {
    rails.split(',').map(str::trim).filter(|name| !name.is_empty()).collect()
}

/// Returns the interfaces named by name or address, in the order of naming. An interface named by addresses
/// has only these. Without names it returns all interfaces, without loopback unless there is no other.
///
/// # Errors
/// A name matches no interface.
pub fn choose(found: &[Interface], named: &[&str]) -> Result<Vec<Interface>, NoSuchInterface> {
    if named.is_empty() {
        let (loopback, others): (Vec<_>, Vec<_>) = found.iter().cloned().partition(Interface::is_loopback);
        return Ok(if others.is_empty() { loopback } else { others });
    }
    let mut chosen: Vec<Interface> = Vec::new();
    for asked in named {
        let address = asked.parse::<IpAddr>().ok();
        let here = found.iter().find_map(|interface| {
            let named = interface.name == *asked;
            let nets = interface.nets.iter().filter(|net| named || Some(net.addr()) == address);
            let nets: Vec<_> = nets.copied().collect();
            (!nets.is_empty()).then(|| Interface { name: interface.name.clone(), nets })
        });
        let missing = || NoSuchInterface { asked: (*asked).to_owned(), found: found.to_vec() };
        let here = here.ok_or_else(missing)?;
        match chosen.iter_mut().find(|interface| interface.name == here.name) {
            Some(interface) => {
                interface.nets.extend(here.nets);
                let mut seen = BTreeSet::new();
                interface.nets.retain(|net| seen.insert(*net));
            }
            None => chosen.push(here),
        }
    }
    Ok(chosen)
}

/// Returns the rail number of each interface if no names gave it. Interfaces of different hosts on one
/// network get one number; the network of most hosts gets the first. An interface that shares no network has
/// no number, unless its host would have none. Then the first interface of the host counts as on the first
/// network, which routers may connect. An address that several hosts have, as of a bridge inside each,
/// connects no hosts. It counts only if there is no other: the hosts may be one machine under two names.
pub fn number(hosts: &[Vec<Interface>]) -> Vec<Vec<Option<u8>>> {
    let mut owners: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for net in hosts.iter().flatten().flat_map(|interface| &interface.nets) {
        *owners.entry(net.addr()).or_default() += 1;
    }
    let networks = |interface: &Interface| -> BTreeSet<IpNet> {
        let own = interface.nets.iter().filter(|net| owners[&net.addr()] == 1);
        own.map(IpNet::trunc).collect()
    };
    let mut members: BTreeMap<IpNet, BTreeSet<usize>> = BTreeMap::new();
    for (host, interfaces) in hosts.iter().enumerate() {
        for network in interfaces.iter().flat_map(networks) {
            members.entry(network).or_default().insert(host);
        }
    }
    let mut shared: Vec<_> = members.into_iter().filter(|(_, hosts)| hosts.len() > 1).collect();
    shared.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    let mut numbers: BTreeMap<IpNet, u8> = BTreeMap::new();
    let mut next = 0u8;
    for (network, _) in shared {
        // A second network of interfaces that share a number already, as an IPv6 network beside an IPv4 one,
        // is the same rail.
        let together = hosts.iter().flatten().map(networks).filter(|all| all.contains(&network));
        let known = together.flatten().find_map(|other| numbers.get(&other).copied());
        let number = known.unwrap_or(next);
        next = next.max(number.saturating_add(1));
        numbers.insert(network, number);
    }
    let number_of =
        |interface: &Interface| networks(interface).iter().find_map(|net| numbers.get(net).copied());
    let of_host = |interfaces: &Vec<Interface>| {
        let mut taken = BTreeSet::new();
        // If two interfaces of a host are on one network, the first is the rail.
        let numbers = interfaces.iter().map(|one| number_of(one).filter(|number| taken.insert(*number)));
        let mut numbers: Vec<_> = numbers.collect();
        if numbers.iter().all(Option::is_none) && !interfaces.is_empty() {
            let first = interfaces.iter().position(|one| !networks(one).is_empty());
            numbers[first.unwrap_or(0)] = Some(0);
        }
        numbers
    };
    hosts.iter().map(of_host).collect()
}

#[cfg(test)]
mod tests;
