//! What this rank tells of its links when somebody looks at the job.
//!
//! Owns which of them are told: an answer is one message, however many there are. Never waits: an answer that finds no room is
//! given when the launcher rings next.

use std::collections::BTreeMap;

use canele_rail::Rail;
use canele_sys::ids::{LinkId, Rank};

use crate::control::{Links, SocketLink, ToLauncher};
use crate::core::Core;

/// More would not fit in a message with the reasons of them all.
const MOST: usize = 256;

impl Core {
    /// Answers the launcher if it asked.
    pub fn show_links(&mut self) {
        let (Some(most), Some(control)) = (self.links_wanted, &self.control) else { return };
        let answer = ToLauncher::Links(self.links(MOST.min(most as usize)));
        self.counts.system_calls += 1;
        if control.try_tell(&answer) {
            self.links_wanted = None;
        }
    }

    fn links(&self, most: usize) -> Links {
        let mut by_peer: BTreeMap<u32, Vec<SocketLink>> = BTreeMap::new();
        for link in self.socket_links() {
            by_peer.entry(link.peer).or_default().push(link);
        }
        let mut peers: Vec<_> = by_peer.into_values().collect();
        // Stable: of those that carried nothing the first.
        let moved = |links: &Vec<SocketLink>| links.iter().map(|link| link.sent + link.received).sum::<u64>();
        peers.sort_by_key(|links| std::cmp::Reverse(moved(links)));
        let (mut told, mut sum) = (0, 0);
        while peers.get(told).is_some_and(|links| sum + links.len() <= most) {
            sum += peers[told].len();
            told += 1;
        }
        let left_out = (peers.len() - told) as u32;
        peers.truncate(told);
        peers.sort_by_key(|links| links[0].peer);
        let mut shm = self.shared_peers();
        let neighbours = shm.iter().map(|(first, last)| last - first + 1).sum();
        shm.truncate(Links::MOST_SERIES);
        Links { neighbours, shm, sockets: peers.into_iter().flatten().collect(), left_out }
    }

    /// All that are open or being made, by rail.
    fn socket_links(&self) -> Vec<SocketLink> {
        let mut links = Vec::new();
        for (tcp, rail) in self.rails.tcp.iter().zip(1..) {
            let open = tcp.incoming().iter().filter_map(|link| Some((link.peer(), tcp.seen(link.peer())?)));
            links.extend(open.map(|(peer, seen)| {
                let (round_trip_ns, bytes_per_s) = seen.measured.unwrap_or_default();
                SocketLink {
                    open: true,
                    here: seen.here,
                    there: seen.there,
                    round_trip_ns,
                    bytes_per_s,
                    sent: seen.sent,
                    received: seen.received,
                    under_way: seen.under_way,
                    ..closed(LinkId::new(rail, peer), "")
                }
            }));
        }
        let is_open = |link: LinkId| self.rails.incoming().contains(&link);
        links.extend(
            self.network.attempts().filter(|(link, _)| !is_open(*link)).map(|(link, why)| closed(link, why)),
        );
        links.sort_by_key(|link| link.rail);
        links
    }

    /// The series of ranks to which there are links in shared memory.
    fn shared_peers(&self) -> Vec<(u32, u32)> {
        let mut series: Vec<(u32, u32)> = Vec::new();
        let linked = |peer: &u32| Rail::link(&self.rails.shm, Rank(*peer)).is_some();
        for peer in (0..self.proto.ranks() as u32).filter(linked) {
            match series.last_mut() {
                Some((_, last)) if *last + 1 == peer => *last = peer,
                _ => series.push((peer, peer)),
            }
        }
        series
    }
}

/// A link that is not open.
fn closed(link: LinkId, why: &str) -> SocketLink {
    SocketLink {
        peer: link.peer().0,
        rail: link.rail(),
        open: false,
        trouble: why[..why.floor_char_boundary(Links::MOST_TROUBLE)].to_owned(),
        here: None,
        there: None,
        round_trip_ns: 0,
        bytes_per_s: 0,
        sent: 0,
        received: 0,
        under_way: 0,
    }
}
