//! [`crate::Network`] and [`crate::Driver`] for [`Tcp`].

use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank};
use canele_sys::port_range::PortRange;

use super::address::{self, OwnAddresses};
use super::connector::Connector;
use super::{Pair, Tcp, TcpLimits};
use crate::{Driver, LinkReport, Member, Network, OpenError, OtherRanks, Rail, Totals, Unreachable};

impl Driver for Tcp {
    /// Opens a rail on ports that are addresses of this host
    /// ([`Interface::ports`](super::interfaces::Interface::ports)).
    fn open(
        number: u8,
        member: Member,
        ports: &[String],
        listen_ports: PortRange,
    ) -> Result<Self, OpenError> {
        let addresses: Vec<IpAddr> = ports.iter().filter_map(|port| port.parse().ok()).collect();
        Tcp::listen(number, member, &addresses, TcpLimits::of_jobs(listen_ports))
    }

    fn take_refused(&mut self) -> Option<OpenError> {
        self.acceptor.take_refused()
    }
}

impl Network for Tcp {
    const DRIVER: &'static str = "tcp";

    fn own_address(&self) -> Vec<u8> {
        address::encode(self.acceptor.addresses())
    }

    fn introduce(&mut self, peer: Rank, address: &[u8]) -> bool {
        let Some(place) = self.routes.get(peer.0 as usize).map(|_| peer.0 as usize) else { return false };
        // A rank that listens nowhere on this network is not part of it.
        if peer == self.me() || self.acceptor.addresses().is_empty() {
            return false;
        }
        let foreign = self.own.get_or_insert_with(OwnAddresses::find).take_foreign(address);
        self.routes[place] = self.order_routes(foreign);
        self.is_introduced(peer)
    }

    fn is_introduced(&self, peer: Rank) -> bool {
        self.routes.get(peer.0 as usize).is_some_and(|routes| !routes.is_empty())
    }

    fn connect(&mut self, peer: Rank) {
        let place = peer.0 as usize;
        let has_link = self.links.get(place).is_none_or(Option::is_some);
        if !has_link && !self.connectors.contains_key(&peer) {
            self.pairs[place].last += 1;
            let connector = Connector::new(peer, self.pairs[place].last, self.routes[place].clone());
            self.connectors.insert(peer, connector);
            self.step_connector(peer, None);
        }
    }

    fn progress_connections(&mut self, now_ns: u64) -> bool {
        self.now_ns = Some(now_ns);
        self.step_connections()
    }

    fn has_connection_events(&self) -> bool {
        self.acceptor.has_more() || self.handshakes_ready
    }

    fn set_time(&mut self, now_ns: u64) {
        self.now_ns = Some(now_ns);
    }

    fn next_timeout(&self) -> Option<Duration> {
        self.connection_timeout()
    }

    fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    fn take_opened(&mut self) -> Option<LinkId> {
        self.opened.pop_front()
    }

    fn take_unreachable(&mut self) -> Option<Unreachable> {
        let failure = self.take_failure()?;
        Some(Unreachable { link: LinkId::new(self.number, failure.peer), why: failure.to_string() })
    }

    fn has_unacknowledged(&self) -> bool {
        self.lists.unacknowledged > 0
    }

    /// Returns the silent links, with one system call for each link with unacknowledged packets.
    fn silent_links(&self) -> Vec<(LinkId, Duration)> {
        let silence = |id: &LinkId| Some((*id, self.links[id.peer().0 as usize].as_ref()?.silence()?));
        self.incoming.iter().filter_map(silence).collect()
    }

    /// Returns the one descriptor for all sockets.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }

    fn add_ranks(&mut self, ranks: u32) {
        if ranks > self.credentials.ranks {
            self.credentials.ranks = ranks;
            self.routes.resize_with(ranks as usize, Vec::new);
            self.pairs.resize(ranks as usize, Pair::default());
            self.links.resize_with(ranks as usize, || None);
        }
    }

    fn add_others(&mut self, others: OtherRanks) {
        self.add_ranks(others.here.0 + others.ranks);
        self.others = self.others.iter().copied().chain([others]).collect();
    }

    fn finish(&mut self) {
        for at in 0..self.incoming.len() {
            let id = self.incoming[at];
            if let Some(link) = self.links[id.peer().0 as usize].as_deref_mut() {
                link.finish();
                self.lists.note(id, link);
            }
        }
    }

    fn totals(&self) -> Totals {
        let mut totals = Totals { sent: self.sent_before, ..Totals::default() };
        for (id, link) in
            self.incoming.iter().filter_map(|id| Some((id, self.links[id.peer().0 as usize].as_ref()?)))
        {
            let speed = self.speed(*id);
            let shortest = if totals.links == 0 { u32::MAX } else { totals.speed.round_trip_ns };
            totals.links += 1;
            totals.sent += link.sent();
            totals.speed.bytes_per_us = totals.speed.bytes_per_us.max(speed.bytes_per_us);
            totals.speed.round_trip_ns = shortest.min(speed.round_trip_ns);
            totals.speed.under_way += speed.under_way;
        }
        totals
    }

    /// Describes the link to a peer, with two system calls.
    fn report_link(&self, peer: Rank) -> Option<LinkReport> {
        let link = self.links.get(peer.0 as usize)?.as_ref()?;
        let [here, there] = link.ends().map(|end| end.map_or(String::new(), |end| end.to_string()));
        let (sent, received) = (link.sent(), link.received());
        let (under_way, measured) = (link.outgoing.under_way(), link.outgoing.pace.measured());
        Some(LinkReport { here, there, sent, received, under_way, measured })
    }
}
