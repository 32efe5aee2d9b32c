//! The control path to ranks of other hosts, over all networks. A network's links have its number, from 1.

use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};

use super::Set;
use crate::{Driver, LinkReport, Member, Network, OpenError, OtherRanks, Rail, Totals, Unreachable};

impl<N: Driver> Set<N> {
    /// Opens the rails to other hosts, one for each list of ports, the host's ports of one network. A rail
    /// without a usable port is down for this rank. That is no error while there is another rail.
    ///
    /// # Errors
    /// No rail can be used, or the system has no descriptor or memory left.
    pub fn open_networks(&mut self, member: Member, ports: &[Vec<String>]) -> Result<(), OpenError> {
        let mut refused = None;
        for (ports, number) in ports.iter().zip(1..) {
            let mut network = N::open(number, member, ports, self.listen_ports)?;
            refused = refused.or(network.take_refused());
            self.networks.push(network);
        }
        self.list_links();
        let is_reachable = self.networks.iter().any(|network| !network.own_address().is_empty());
        refused.filter(|_| !is_reachable).map_or(Ok(()), Err)
    }
}

impl<N: Network> Set<N> {
    /// Lets ranks of another job be reached over the networks.
    pub fn add_others(&mut self, others: OtherRanks) {
        self.networks.iter_mut().for_each(|network| network.add_others(others));
    }

    /// Returns true if there is a rail beside shared memory.
    #[inline(always)]
    pub fn has_networks(&self) -> bool {
        !self.networks.is_empty()
    }

    /// Returns the number of rails to other hosts.
    pub fn networks(&self) -> usize {
        self.networks.len()
    }

    /// Returns the number of links to other hosts.
    #[inline]
    pub fn network_links(&self) -> usize {
        self.incoming.len() - self.shm.incoming().len()
    }

    /// Returns this rank's address on each network: the driver's name, and the address in its bytes.
    pub fn own_addresses(&self) -> Vec<(&'static str, Vec<u8>)> {
        self.networks.iter().map(|network| (N::DRIVER, network.own_address())).collect()
    }

    /// Notes a peer's address on each network, as its [`Set::own_addresses`] returned it. Returns true if one
    /// of them is valid.
    pub fn introduce<'a>(
        &mut self,
        peer: Rank,
        addresses: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> bool {
        let introduce = |(network, (driver, address)): (&mut N, (&str, &[u8]))| {
            driver == N::DRIVER && !address.is_empty() && network.introduce(peer, address)
        };
        self.networks.iter_mut().zip(addresses).fold(false, |any, one| introduce(one) | any)
    }

    /// Returns the possible links to a peer of another host, one for each network that both are on.
    pub fn routes(&self, peer: Rank) -> Vec<LinkId> {
        let introduced = self.networks.iter().zip(1..).filter(|(network, _)| network.is_introduced(peer));
        introduced.map(|(_, rail)| LinkId::new(rail, peer)).collect()
    }

    /// Begins to make a link to an introduced peer, if there is none.
    pub fn connect(&mut self, link: LinkId) {
        self.network(link).connect(link.peer());
        self.note_links();
    }

    /// Returns the links with unacknowledged data whose peer's host is silent, each with the duration of the
    /// silence.
    pub fn silent_links(&self) -> Vec<(LinkId, Duration)> {
        self.networks.iter().flat_map(Network::silent_links).collect()
    }

    /// Returns true if data sent to another host is unacknowledged.
    pub fn has_unacknowledged(&self) -> bool {
        self.networks.iter().any(Network::has_unacknowledged)
    }

    /// Advances connection attempts, by a few system calls.
    pub fn progress_connections(&mut self) {
        self.wake_sleeper();
        let now_ns = self.now_ns();
        for network in &mut self.networks {
            network.progress_connections(now_ns);
        }
        self.note_links();
    }

    /// Returns true if [`Set::progress_connections`] probably has work.
    pub fn has_connection_events(&self) -> bool {
        self.networks.iter().any(Network::has_connection_events)
    }

    /// Returns true if this link to another host is open.
    pub fn has_link(&self, link: LinkId) -> bool {
        self.networks[link.rail() as usize - 1].link(link.peer()).is_some()
    }

    /// Takes a new link to another host, which can be used from now on.
    pub fn take_opened(&mut self) -> Option<LinkId> {
        self.networks.iter_mut().find_map(Network::take_opened)
    }

    /// Takes a failed attempt to reach a peer, with its reason. Arrived packets can still be polled; then the
    /// link must be disconnected.
    pub fn take_unreachable(&mut self) -> Option<Unreachable> {
        self.networks.iter_mut().find_map(Network::take_unreachable)
    }

    /// Returns true if no data is unacknowledged on links where leaving could lose it. Otherwise
    /// [`Set::has_settled`] later reports that it is acknowledged.
    pub fn is_settled(&mut self) -> bool {
        let settled = !self.has_unacknowledged();
        self.unsettled = !settled;
        settled
    }

    /// Returns true if a thread waits for acknowledgements and all have arrived.
    pub fn has_settled(&mut self) -> bool {
        self.unsettled && self.is_settled()
    }

    /// Tells the peers on other hosts that this rank has finished.
    pub fn finish(&mut self) {
        self.networks.iter_mut().for_each(Network::finish);
    }

    /// Returns current and accumulated figures of each network.
    pub fn totals(&self) -> impl Iterator<Item = Totals> {
        self.networks.iter().map(Network::totals)
    }

    /// Describes the open links to other hosts, rail by rail.
    pub fn report_links(&self) -> impl Iterator<Item = (LinkId, LinkReport)> {
        let of_network = |network: &'_ N| -> Vec<(LinkId, LinkReport)> {
            let links = network.incoming().iter();
            links.filter_map(|link| Some((*link, network.report_link(link.peer())?))).collect()
        };
        self.networks.iter().flat_map(of_network)
    }

    /// Forgets a peer's links over networks, and attempts to connect to it.
    pub fn forget_network_links(&mut self, peer: Rank) {
        for rail in 1..=self.networks.len() as u8 {
            self.disconnect(LinkId::new(rail, peer));
        }
    }
}
