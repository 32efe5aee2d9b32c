//! Encodes the addresses on which a rank listens, and selects the addresses that lead to a peer's host.
//!
//! A bridge has the same address on every host, and so has loopback. A rank that connects to such an address
//! reaches its own host, where any process may listen and relay the handshake. So a rank sends the network
//! namespace in which it listens. Its peers on other hosts leave out the addresses that they have themselves.
//!
//! *Form.* Lines of text: the namespace's number or `-`, then one socket address per line.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use canele_sys::namespace::network_namespace;

use super::interfaces::all_addresses;
use crate::MAX_ADDRESS;

/// Encodes sockets of this process's network namespace for peers; as many sockets as fit.
pub fn encode(sockets: &[SocketAddr]) -> Vec<u8> {
    encode_in(network_namespace(), sockets)
}

fn encode_in(namespace: Option<u64>, sockets: &[SocketAddr]) -> Vec<u8> {
    if sockets.is_empty() {
        return Vec::new();
    }
    let mut text = namespace.map_or("-".into(), |namespace| namespace.to_string());
    for line in sockets.iter().map(|socket| format!("\n{socket}")) {
        if text.len() + line.len() <= MAX_ADDRESS {
            text += &line;
        }
    }
    text.into_bytes()
}

/// Decodes the namespace and the sockets of a peer; none if the bytes have another form.
fn decode(bytes: &[u8]) -> Option<(Option<u64>, Vec<SocketAddr>)> {
    if bytes.len() > MAX_ADDRESS {
        return None;
    }
    let mut lines = std::str::from_utf8(bytes).ok()?.split('\n');
    let namespace = match lines.next()? {
        "-" => None,
        number => Some(number.parse().ok()?),
    };
    Some((namespace, lines.map(|line| line.parse().ok()).collect::<Option<_>>()?))
}

/// The addresses of this host.
#[derive(Debug)]
pub(super) struct OwnAddresses {
    namespace: Option<u64>,
    /// None if they cannot be read: then any address may be one of them.
    addresses: Option<HashSet<IpAddr>>,
}

impl OwnAddresses {
    /// Finds the present addresses; loopback always counts as one.
    pub fn find() -> OwnAddresses {
        let addresses = all_addresses().ok().map(|all| all.into_iter().collect());
        OwnAddresses { namespace: network_namespace(), addresses }
    }

    /// Returns the sockets of a peer that do not lead to this host. Within one network namespace all of them
    /// lead to the peer, as when two hosts of a job are one machine.
    pub fn take_foreign(&self, address: &[u8]) -> Vec<SocketAddr> {
        let Some((namespace, mut sockets)) = decode(address) else { return Vec::new() };
        if namespace.is_none() || namespace != self.namespace {
            sockets.retain(|socket| {
                let ip = socket.ip().to_canonical();
                let is_own = self.addresses.as_ref().is_none_or(|own| own.contains(&ip));
                !(ip.is_loopback() || ip.is_unspecified() || is_own)
            });
        }
        sockets
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sockets(of: &[&str]) -> Vec<SocketAddr> {
        of.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn an_address_that_this_host_has_too_leads_to_another_host_never() {
        let own =
            OwnAddresses { namespace: Some(1), addresses: Some(HashSet::from([[172, 17, 0, 1].into()])) };
        let all = sockets(&[
            "172.17.0.1:7",
            "[::ffff:172.17.0.1]:7",
            "127.0.0.1:7",
            "[::1]:7",
            "10.0.0.2:7",
            "172.17.0.1:8",
        ]);
        assert_eq!(own.take_foreign(&encode_in(Some(1), &all)), all);
        for elsewhere in [None, Some(2)] {
            assert_eq!(own.take_foreign(&encode_in(elsewhere, &all)), sockets(&["10.0.0.2:7"]));
        }
        let unknown = OwnAddresses { addresses: None, ..own };
        assert_eq!(unknown.take_foreign(&encode_in(Some(2), &all)), []);
    }

    #[test]
    fn loopback_is_a_hosts_own() {
        let own = OwnAddresses::find();
        assert!(own.addresses.as_ref().unwrap().contains(&IpAddr::from([127, 0, 0, 1])));
        let loopback = sockets(&["127.0.0.1:7"]);
        assert_eq!(own.take_foreign(&encode(&loopback)), loopback);
    }

    #[test]
    fn an_address_is_bounded_however_many_sockets_there_are() {
        let many: Vec<SocketAddr> = (0..1000).map(|port| SocketAddr::from(([1; 8], port))).collect();
        let bytes = encode(&many);
        assert!(bytes.len() <= MAX_ADDRESS);
        let (_, told) = decode(&bytes).expect("it is whole");
        assert!(told.len() > 10 && many.starts_with(&told));
        assert_eq!(encode(&[]), []);
        assert_eq!(decode(&vec![b'-'; MAX_ADDRESS + 1]), None);
    }

    proptest! {
        #[test]
        fn what_is_told_is_what_is_heard(ports in proptest::collection::vec(any::<u16>(), 1..20), namespace: Option<u64>) {
            let sockets: Vec<_> = ports.iter().map(|port| SocketAddr::from(([10, 0, 0, 1], *port))).collect();
            prop_assert_eq!(decode(&encode_in(namespace, &sockets)), Some((namespace, sockets)));
        }

        #[test]
        fn any_bytes_are_an_address_or_none(bytes: Vec<u8>) {
            let _ = OwnAddresses { namespace: None, addresses: None }.take_foreign(&bytes);
        }
    }
}
