//! The report of this rank's links, for a user who looks at the job.
//!
//! Owns the choice of reported links: an answer is one message, for any number of links.

use std::collections::BTreeMap;

use canele_rail::{LinkReport, Rail, Set};
use canele_sys::ids::LinkId;

use canele_control::{Links, SocketLink, ToLauncher};

use crate::connect::connections::Connections;

/// The most links that fit in a message with the reasons of them all.
const MOST: usize = 256;

/// Makes the answer to a launcher that asks for `most` links over sockets.
pub(super) fn report(rails: &Set, connections: &Connections, most: u32) -> ToLauncher {
    let (sockets, left_out) = choose_links(network_links(rails, connections), MOST.min(most as usize));
    let mut shm = series_of(rails.host_links().iter().map(|link| link.peer().0).collect());
    let neighbours = shm.iter().map(|(first, last)| last - first + 1).sum();
    shm.truncate(Links::MOST_SERIES);
    ToLauncher::Links(Links { neighbours, shm, sockets, left_out })
}

/// Returns all links of the peers that got most bytes, `most` links at most, by peer; and the number of
/// omitted peers.
fn choose_links(links: Vec<SocketLink>, most: usize) -> (Vec<SocketLink>, u32) {
    let mut by_peer: BTreeMap<u32, Vec<SocketLink>> = BTreeMap::new();
    for link in links {
        by_peer.entry(link.peer).or_default().push(link);
    }
    let mut peers: Vec<_> = by_peer.into_values().collect();
    // The sort is stable: among peers whose links carried nothing, the first ones are reported.
    let moved = |links: &Vec<SocketLink>| links.iter().map(|link| link.sent + link.received).sum::<u64>();
    peers.sort_by_key(|links| std::cmp::Reverse(moved(links)));
    let (mut chosen, mut sum) = (0, 0);
    while peers.get(chosen).is_some_and(|links| sum + links.len() <= most) {
        sum += peers[chosen].len();
        chosen += 1;
    }
    let left_out = (peers.len() - chosen) as u32;
    peers.truncate(chosen);
    peers.sort_by_key(|links| links[0].peer);
    (peers.into_iter().flatten().collect(), left_out)
}

/// Returns all links over sockets that are open or being made, by rail.
fn network_links(rails: &Set, connections: &Connections) -> Vec<SocketLink> {
    let open = |(link, report): (LinkId, LinkReport)| {
        let LinkReport { here, there, sent, received, under_way, measured } = report;
        let (round_trip_ns, bytes_per_s) = measured.unwrap_or_default();
        SocketLink {
            open: true,
            here,
            there,
            round_trip_ns,
            bytes_per_s,
            sent,
            received,
            under_way,
            ..closed(link, "")
        }
    };
    let mut links: Vec<_> = rails.report_links().map(open).collect();
    let is_open = |link: LinkId| rails.incoming().contains(&link);
    links.extend(
        connections.failures().filter(|(link, _)| !is_open(*link)).map(|(link, why)| closed(link, why)),
    );
    links.sort_by_key(|link| link.rail);
    links
}

/// Splits `ranks` into series of neighbouring numbers, each with its first and last.
fn series_of(mut ranks: Vec<u32>) -> Vec<(u32, u32)> {
    let mut series: Vec<(u32, u32)> = Vec::new();
    ranks.sort_unstable();
    for rank in ranks {
        match series.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => series.push((rank, rank)),
        }
    }
    series
}

/// Makes the report of a link that is not open.
fn closed(link: LinkId, why: &str) -> SocketLink {
    SocketLink {
        peer: link.peer().0,
        rail: link.rail(),
        open: false,
        trouble: why[..why.floor_char_boundary(Links::MOST_TROUBLE)].to_owned(),
        here: String::new(),
        there: String::new(),
        round_trip_ns: 0,
        bytes_per_s: 0,
        sent: 0,
        received: 0,
        under_way: 0,
    }
}

#[cfg(test)]
mod tests {
    use canele_sys::ids::Rank;

    use super::*;

    #[test]
    fn ranks_are_told_in_series() {
        assert_eq!(series_of(vec![]), []);
        assert_eq!(series_of(vec![7, 1, 2, 0, 5, 4]), [(0, 2), (4, 5), (7, 7)]);
    }

    #[test]
    fn the_links_that_carried_most_are_told_and_all_of_a_peer_or_none() {
        let link = |peer, rail, sent| SocketLink { sent, ..closed(LinkId::new(rail, Rank(peer)), "") };
        let links = vec![link(1, 1, 0), link(2, 1, 5), link(2, 2, 5), link(3, 1, 20)];
        let told = |most| {
            let (links, left_out) = choose_links(links.clone(), most);
            (links.iter().map(|link| (link.peer, link.rail)).collect::<Vec<_>>(), left_out)
        };
        assert_eq!(told(4), (vec![(1, 1), (2, 1), (2, 2), (3, 1)], 0));
        assert_eq!(told(3), (vec![(2, 1), (2, 2), (3, 1)], 1));
        assert_eq!(told(2), (vec![(3, 1)], 2), "one link of two of a peer says too little");
        assert_eq!(told(0), (vec![], 3));
    }
}
