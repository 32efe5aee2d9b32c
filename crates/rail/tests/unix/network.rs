//! The control path, and opening a rail. In this network a port is the beginning of its sockets' names.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use canele_rail::{
    Driver, LinkReport, Member, Network, OpenError, OtherRanks, Rail, Speed, Totals, Unreachable,
};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::poller::Ready;
use canele_sys::port_range::PortRange;
use rustix::net::listen;

use super::connections::{Attempt, TIMEOUT_NS};
use super::link::Limits;
use super::rail::{CONNECTIONS, Unix};
use super::socket;

/// The time before an attempt tries a full queue again.
const RETRY: Duration = Duration::from_millis(10);
/// Connections that the kernel queues for a listener.
const BACKLOG: i32 = 128;

impl Unix {
    /// Opens a rail with these limits. It listens at the first port that can be used.
    pub fn listen(number: u8, member: Member, ports: &[String], limits: Limits) -> Result<Self, OpenError> {
        let mut rail = Self::new(number, member, limits)?;
        for port in ports {
            let opened = socket::open(port.as_bytes()).and_then(|(socket, name)| {
                listen(&socket, BACKLOG)?;
                rail.poller.set(&socket, CONNECTIONS, &mut rail.listener_interest, Some(Ready::IN))?;
                Ok((socket, name))
            });
            match opened {
                Ok(listener) => {
                    rail.listener = Some(listener);
                    break;
                }
                Err(why) => {
                    rail.refused = Some(OpenError::Address { address: port.clone(), source: why.into() });
                }
            }
        }
        Ok(rail)
    }

    fn may_be_peer(&self, peer: Rank) -> bool {
        peer != self.member.me && (peer.0 < self.member.ranks || self.among(peer).is_some())
    }
}

impl Network for Unix {
    const DRIVER: &'static str = "unix";

    fn own_address(&self) -> Vec<u8> {
        self.listener.as_ref().map(|(_, name)| name.clone()).unwrap_or_default()
    }

    fn introduce(&mut self, peer: Rank, address: &[u8]) -> bool {
        self.introduced.remove(&peer);
        let is_name = (1..=socket::MAX_NAME).contains(&address.len()) && address != self.own_address();
        let leads = is_name && self.may_be_peer(peer) && self.listener.is_some();
        if leads {
            self.introduced.insert(peer, address.to_vec());
        }
        leads
    }

    fn is_introduced(&self, peer: Rank) -> bool {
        self.introduced.contains_key(&peer)
    }

    fn connect(&mut self, peer: Rank) {
        if self.links.contains_key(&peer) || self.attempts.contains_key(&peer) {
            return;
        }
        let last = self.generations.entry(peer).or_default();
        *last = last.wrapping_add(1);
        self.attempts.insert(peer, Attempt::new(*last));
        self.has_events = true;
    }

    fn progress_connections(&mut self, now_ns: u64) -> bool {
        self.now_ns = now_ns;
        self.has_events = false;
        self.accept();
        let any = self.progress_attempts();
        self.progress_accepted() | any
    }

    fn has_connection_events(&self) -> bool {
        self.has_events || self.has_acceptable()
    }

    fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn next_timeout(&self) -> Option<Duration> {
        let left = |until_ns: u64| Duration::from_nanos(until_ns.saturating_sub(self.now_ns));
        let attempts = self.attempts.values().map(|attempt| {
            let deadline = attempt.deadline_ns.map_or(Duration::from_nanos(TIMEOUT_NS), left);
            if attempt.waits_for_queue() { deadline.min(RETRY) } else { deadline }
        });
        let unproven = self.accepted.iter().filter(|accepted| !accepted.is_proven());
        let unproven = unproven.map(|accepted| left(accepted.deadline_ns));
        attempts.chain(unproven).chain(self.pause_until_ns.map(left)).min()
    }

    fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    fn take_opened(&mut self) -> Option<LinkId> {
        self.opened.pop_front()
    }

    fn take_unreachable(&mut self) -> Option<Unreachable> {
        self.unreachable.pop_front()
    }

    fn has_unacknowledged(&self) -> bool {
        self.links.values().any(|link| link.has_unacknowledged())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.as_fd())
    }

    fn add_ranks(&mut self, ranks: u32) {
        self.member.ranks = self.member.ranks.max(ranks);
    }

    fn add_others(&mut self, others: OtherRanks) {
        self.others.push(others);
    }

    fn finish(&mut self) {
        self.links.values_mut().for_each(|link| link.finish());
    }

    fn totals(&self) -> Totals {
        let under_way = self.links.values().map(|link| link.under_way()).sum();
        let speed = Speed {
            round_trip_ns: 2 * self.caps.latency_ns,
            bytes_per_us: self.caps.bytes_per_us,
            under_way,
        };
        let sent = self.links.values().fold(self.sent_before, |sum, link| sum + link.sent);
        Totals { links: self.links.len() as u32, sent, speed }
    }

    fn report_link(&self, peer: Rank) -> Option<LinkReport> {
        let link = self.open_link(self.link(peer)?)?;
        let text = |name: &[u8]| format!("@{}", String::from_utf8_lossy(name));
        Some(LinkReport {
            here: text(&link.here),
            there: text(&link.there),
            sent: link.sent,
            received: link.received,
            under_way: link.under_way() as u64,
            measured: None,
        })
    }
}

impl Driver for Unix {
    fn open(number: u8, member: Member, ports: &[String], _: PortRange) -> Result<Self, OpenError> {
        Self::listen(number, member, ports, Limits { cells: 64, payload: 256 << 10 })
    }

    fn take_refused(&mut self) -> Option<OpenError> {
        self.refused.take()
    }
}
