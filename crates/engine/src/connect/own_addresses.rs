//! Which addresses of another host lead there. Owns what this host's own are.
//!
//! A bridge has one address on every host, and each has its 127.0.0.1. A rank that connects to such an address reaches its own host, where
//! anybody may listen and pass on what the two ends say.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use canele_control::RailAddresses;
use canele_rail::tcp::interfaces::all_addresses;
use canele_sys::namespace::network_namespace;

/// The addresses of this host.
#[derive(Debug)]
pub struct OwnAddresses {
    namespace: Option<u64>,
    /// Nothing if they cannot be read: then any address may be one.
    addresses: Option<HashSet<IpAddr>>,
}

impl OwnAddresses {
    /// Those that there are now; loopback is one in any case.
    pub fn find() -> OwnAddresses {
        let addresses = all_addresses().ok().map(|all| all.into_iter().collect());
        OwnAddresses { namespace: network_namespace(), addresses }
    }

    /// Takes out of the addresses of a peer those that are this host's own, unless both are in one network namespace, as two hosts of
    /// a job that are one machine.
    pub fn take_foreign(&self, peer: RailAddresses) -> Vec<Vec<SocketAddr>> {
        let mut rails = peer.rails;
        if peer.namespace.is_none() || peer.namespace != self.namespace {
            let is_foreign = |address: &SocketAddr| {
                let ip = address.ip().to_canonical();
                let is_own = self.addresses.as_ref().is_none_or(|own| own.contains(&ip));
                !(ip.is_loopback() || ip.is_unspecified() || is_own)
            };
            rails.iter_mut().for_each(|addresses| addresses.retain(is_foreign));
        }
        rails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_this_host_has_too_leads_to_another_host_never() {
        let address = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let own =
            OwnAddresses { namespace: Some(1), addresses: Some(HashSet::from([[172, 17, 0, 1].into()])) };
        let rails = vec![
            ["172.17.0.1:7", "[::ffff:172.17.0.1]:7", "127.0.0.1:7", "[::1]:7"].map(address).to_vec(),
            ["10.0.0.2:7", "172.17.0.1:8"].map(address).to_vec(),
        ];
        let foreign = |namespace| own.take_foreign(RailAddresses { namespace, rails: rails.clone() });
        assert_eq!(foreign(Some(1)), rails);
        for elsewhere in [None, Some(2)] {
            assert_eq!(foreign(elsewhere), [vec![], vec![address("10.0.0.2:7")]]);
        }
        let unknown = OwnAddresses { addresses: None, ..own };
        let foreign = unknown.take_foreign(RailAddresses { namespace: Some(2), rails });
        assert_eq!(foreign, [vec![], vec![]]);
    }

    #[test]
    fn loopback_is_a_hosts_own() {
        let own = OwnAddresses::find();
        assert!(own.addresses.as_ref().unwrap().contains(&IpAddr::from([127, 0, 0, 1])));
        let rails = vec![vec!["127.0.0.1:7".parse().unwrap()]];
        assert_eq!(own.take_foreign(RailAddresses::here(rails.clone())), rails);
    }
}
