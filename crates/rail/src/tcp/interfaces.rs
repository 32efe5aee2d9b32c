//! The networks this machine is on: which addresses rails may listen on, and which rails of several hosts belong together.
//!
//! Owns nothing. Never decides what is reachable: that is found out by connecting.
//!
//! A rail is one interface; its addresses are alternatives for it. Addresses of one link only (`169.254/16`, `fe80::/10`) are
//! none: they mean something else on each host. Loopback is one only when it is asked for, or when there is nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use rustix::io::Errno;

use super::kernel::last_error;

/// An address, and how many of its first bits are the network's.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Net {
    /// The address.
    pub address: IpAddr,
    /// Bits of the network.
    pub bits: u8,
}

impl Net {
    /// The network: the address without the bits that tell its hosts apart.
    fn network(self) -> Self {
        let host = |width: u32| width.saturating_sub(self.bits.into());
        let address = match self.address {
            IpAddr::V4(it) => {
                Ipv4Addr::from_bits(it.to_bits() & u32::MAX.checked_shl(host(32)).unwrap_or(0)).into()
            }
            IpAddr::V6(it) => {
                Ipv6Addr::from_bits(it.to_bits() & u128::MAX.checked_shl(host(128)).unwrap_or(0)).into()
            }
        };
        Self { address, ..self }
    }
}

/// An interface that is up, with its addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Its name on this machine.
    pub name: String,
    /// Its addresses, none of which is for one link only.
    pub nets: Vec<Net>,
}

impl Interface {
    /// Its addresses, for [`super::Tcp::open`].
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.nets.iter().map(|net| net.address).collect()
    }

    fn is_loopback(&self) -> bool {
        self.nets.iter().all(|net| net.address.is_loopback())
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.nets.iter().map(|net| net.address.to_string()).collect();
        write!(f, "{} ({})", self.name, addresses.join(", "))
    }
}

/// A rail was asked for that this machine does not have.
#[derive(Debug, thiserror::Error)]
#[error("no interface that is up has the name or address {asked}; there are: {}", List(.found))]
pub struct NoSuchInterface {
    /// What was asked for.
    pub asked: String,
    /// What there is.
    pub found: Vec<Interface>,
}

struct List<'a>(&'a [Interface]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(Interface::to_string).collect();
        f.write_str(if all.is_empty() { "none".into() } else { all.join(", ") }.as_str())
    }
}

/// The interfaces that are up and have an address that can be listened on, in the order of their networks.
///
/// # Errors
/// The system does not tell.
pub fn interfaces() -> Result<Vec<Interface>, Errno> {
    let mut by_name: BTreeMap<String, Vec<Net>> = BTreeMap::new();
    for (name, net) in list()? {
        // One that is there but not ready, as while its duplicates are looked for, cannot be bound to.
        if !is_of_one_link(net.address) && UdpSocket::bind((net.address, 0)).is_ok() {
            by_name.entry(name).or_default().push(net);
        }
    }
    let mut all: Vec<_> = by_name.into_iter().map(|(name, nets)| Interface { name, nets }).collect();
    all.iter_mut().for_each(|interface| interface.nets.sort());
    all.sort_by_key(|interface| interface.nets.iter().map(|net| net.network()).min());
    Ok(all)
}

/// Those of `found` that were named, by name or address, in the order they were named in; of an interface of which
/// addresses were named, these alone. With no names: all, without loopback unless there is nothing else.
///
/// # Errors
/// A name that means nothing.
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
            let nets = interface.nets.iter().filter(|net| named || Some(net.address) == address);
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

/// The number of each interface's rail, where no names gave it: interfaces of different hosts that are on one network get
/// one number, the network of most hosts the first. One that no other host shares has none, unless its host would have
/// none at all: then its first interface counts as on the first network, which may be reached by routes. An address that
/// several hosts have, as of a bridge inside each of them, is no way from one to the other, unless there is no other: the hosts may be
/// one machine under two names.
pub fn number(hosts: &[Vec<Interface>]) -> Vec<Vec<Option<u8>>> {
    let mut owners: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for net in hosts.iter().flatten().flat_map(|interface| &interface.nets) {
        *owners.entry(net.address).or_default() += 1;
    }
    let networks = |interface: &Interface| -> BTreeSet<Net> {
        let own = interface.nets.iter().filter(|net| owners[&net.address] == 1);
        own.map(|net| net.network()).collect()
    };
    let mut members: BTreeMap<Net, BTreeSet<usize>> = BTreeMap::new();
    for (host, interfaces) in hosts.iter().enumerate() {
        for network in interfaces.iter().flat_map(networks) {
            members.entry(network).or_default().insert(host);
        }
    }
    let mut shared: Vec<_> = members.into_iter().filter(|(_, hosts)| hosts.len() > 1).collect();
    shared.sort_by_key(|(_, hosts)| std::cmp::Reverse(hosts.len()));
    let mut numbers: BTreeMap<Net, u8> = BTreeMap::new();
    let mut next = 0u8;
    for (network, _) in shared {
        // The second network of interfaces that are together already, as the newer kind of address, is no other rail.
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
        // Two interfaces of a host on one network: the first is the rail.
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

fn is_of_one_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// All addresses of interfaces that are up.
fn list() -> Result<Vec<(String, Net)>, Errno> {
    let mut first = std::ptr::null_mut();
    // SAFETY: the call writes one pointer, for which there is room.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(last_error());
    }
    let (mut found, mut next) = (Vec::new(), first);
    // SAFETY: the list is ours until it is freed below; its entries are whole, and end with a null pointer.
    while let Some(entry) = unsafe { next.as_ref() } {
        next = entry.ifa_next;
        // SAFETY: addresses in the list are null or lead to a whole address of their family.
        let read = |address| unsafe { read_address(address) };
        if entry.ifa_flags & libc::IFF_UP as u32 != 0
            && let (Some(address), Some(mask)) = (read(entry.ifa_addr), read(entry.ifa_netmask))
        {
            // SAFETY: names in the list end with a zero byte.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
            let bits = match mask {
                IpAddr::V4(mask) => mask.to_bits().count_ones(),
                IpAddr::V6(mask) => mask.to_bits().count_ones(),
            };
            found.push((name, Net { address, bits: bits as u8 }));
        }
    }
    // SAFETY: the list came from `getifaddrs`, and nothing that was read points into it.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// # Safety
/// Null, or a whole address of its family.
unsafe fn read_address(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller's word; addresses of other families are not read further than their family.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = address.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from_bits(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = address.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
