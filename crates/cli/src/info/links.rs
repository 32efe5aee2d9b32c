//! The links of a job's ranks, in words: the rail to each peer, and the state of each link over sockets.
//!
//! Owns the form and amount of the output: a job may have more links than a user reads. Sends no request.

use std::net::SocketAddr;

use canele_control::SocketLink;
use canele_launch::{JobReport, RailReport, RankReport, amount};
use canele_sys::printable;

use crate::jobs::{PROTOCOLS, counter};

/// Most peers over sockets whose links are printed for each of several ranks; those that moved most.
const MOST_PEERS: usize = 8;
/// Most hosts of a rail that are named.
const MOST_HOSTS: usize = 8;

/// Returns the number of links of a rank over each driver, in a few words.
pub fn count(rank: &RankReport) -> String {
    let Some(links) = &rank.links else { return "-".into() };
    let shm = links.neighbours;
    let tcp = links.sockets.iter().filter(|link| link.open).count();
    let more = if links.left_out > 0 { "more than " } else { "" };
    let words = [(shm, format!("{shm} shm")), (tcp as u32, format!("{more}{tcp} tcp"))];
    let words: Vec<_> = words.into_iter().filter(|(count, _)| *count > 0).map(|(_, text)| text).collect();
    if words.is_empty() { "none yet".into() } else { words.join(", ") }
}

/// Returns one line for each rail between hosts: its interfaces.
pub fn rails(rails: &[RailReport]) -> Vec<String> {
    let line = |rail: &RailReport| {
        let part = |part: &canele_launch::PartReport| {
            let addresses: Vec<&str> = part.addresses.iter().map(String::as_str).collect();
            format!("{} on {} ({})", part.interface, part.host, addresses.join(", "))
        };
        let parts: Vec<_> = rail.hosts.iter().take(MOST_HOSTS).map(part).collect();
        let left = rail.hosts.len().saturating_sub(MOST_HOSTS);
        let more = if left > 0 { format!(" and on {left} more hosts") } else { String::new() };
        format!("tcp {}: {}{more}", rail.rail, parts.join(", "))
    };
    rails.iter().map(line).collect()
}

/// Returns a line with the protocols of a rank's messages, once it has sent any.
pub fn protocols(rank: &RankReport) -> Option<String> {
    let used = PROTOCOLS.into_iter().filter_map(|protocol| {
        let messages = counter(rank, &format!("{protocol}_sent"));
        let size = amount(counter(rank, &format!("{protocol}_sent_bytes")).checked_div(messages)?);
        Some(format!("{messages} {protocol} of {size}"))
    });
    let used: Vec<_> = used.collect();
    (!used.is_empty()).then(|| format!("{:>8} messages sent, with their mean sizes: {}", "", used.join(", ")))
}

/// Returns the lines of one rank: its peers in shared memory, and each link to each peer over sockets; of
/// `all` such peers or of some.
pub fn of_rank(job: &JobReport, rank: &RankReport, all: bool) -> Vec<String> {
    let Some(links) = &rank.links else { return without_links(rank) };
    let mut lines = Vec::new();
    if !links.shm.is_empty() {
        let told: u32 = links.shm.iter().map(|(first, last)| last - first + 1).sum();
        let left = links.neighbours.saturating_sub(told);
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        lines.push(format!("{:>8} {:<10} shm", "", series(&links.shm) + &more));
    }
    let mut peers: Vec<&[SocketLink]> = links.sockets.chunk_by(|one, other| one.peer == other.peer).collect();
    let left_out = if all { 0 } else { peers.len().saturating_sub(MOST_PEERS) };
    if left_out > 0 {
        let moved = |links: &[SocketLink]| {
            links.iter().fold(0_u64, |sum, link| sum.saturating_add(link.sent).saturating_add(link.received))
        };
        peers.sort_by_key(|links| std::cmp::Reverse(moved(links)));
        peers.truncate(MOST_PEERS);
        peers.sort_by_key(|links| links[0].peer);
    }
    for links in peers {
        let mut name = format!("rank {}", links[0].peer);
        for link in links {
            lines.push(format!("{:>8} {name:<10} {}", "", words(job, rank, link)));
            name.clear();
        }
    }
    let left_out = left_out as u32 + links.left_out;
    if left_out > 0 {
        lines.push(format!("{:>8} {left_out} more peers over tcp, which moved less; in all:", ""));
        lines.extend(totals(rank));
    }
    lines
}

/// Returns the lines of a rank that reported no links.
fn without_links(rank: &RankReport) -> Vec<String> {
    if rank.counters.is_empty() || rank.state != "initialised" {
        return Vec::new();
    }
    let mut lines =
        vec![format!("{:>8} (it did not come by to tell its links; as it last counted them:)", "")];
    lines.extend(totals(rank));
    lines
}

/// Returns the state of a link, or the reason why there is none.
fn words(job: &JobReport, rank: &RankReport, link: &SocketLink) -> String {
    let rail = job.rails.iter().find(|rail| rail.rail == link.rail);
    let part = rail.and_then(|rail| rail.hosts.iter().find(|part| part.host == rank.host));
    let interface = part.map_or("", |part| &part.interface);
    let name = format!("tcp {} {interface:<6}", link.rail);
    if !link.open {
        let why = if link.trouble.is_empty() { "it is being made" } else { &link.trouble };
        return format!("{name} not open: {why}");
    }
    let address = |end: &str| match end.parse::<SocketAddr>() {
        Ok(socket) => socket.ip().to_string(),
        Err(_) if end.is_empty() => "?".into(),
        Err(_) => printable::line(end).into_owned(),
    };
    let pace = match (link.round_trip_ns, link.bytes_per_s) {
        (0, _) => "speed not measured yet".into(),
        (ns, rate) => format!("{} MB/s, round trip {}", rate / 1_000_000, crate::bench::time(ns as f64)),
    };
    let [sent, received, under_way] = [link.sent, link.received, link.under_way].map(amount);
    format!(
        "{name} {} to {}: open, {pace}, {sent} sent, {received} received, {under_way} under way",
        address(&link.here),
        address(&link.there)
    )
}

/// Returns one line for each rail to other hosts, over all its links.
fn totals(rank: &RankReport) -> Vec<String> {
    let of = |rail: u32, name: &str| counter(rank, &format!("rail{rail}_{name}"));
    let used = (1..=4).filter(|rail| of(*rail, "links") > 0 || of(*rail, "sent") > 0);
    let line = |rail: u32| {
        let [links, speed] = ["links", "speed"].map(|name| of(rail, name));
        let [sent, under_way] = ["sent", "under_way"].map(|name| amount(of(rail, name)));
        let trip = crate::bench::time(of(rail, "round_trip") as f64);
        format!(
            "{:>10} tcp {rail}: {links} links, the fastest {speed} MB/s, round trip {trip}, {sent} sent, {under_way} under way",
            ""
        )
    };
    used.map(line).collect()
}

/// Returns a text like `rank 3`, or `ranks 0-3, 5`.
fn series(runs: &[(u32, u32)]) -> String {
    let run = |(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    };
    let plural = if runs.len() > 1 || runs[0].0 != runs[0].1 { "s" } else { "" };
    format!("rank{plural} {}", runs.iter().map(run).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use canele_control::Links;

    use super::*;

    fn link(peer: u32, rail: u8, sent: u64) -> SocketLink {
        SocketLink {
            peer,
            rail,
            open: true,
            trouble: String::new(),
            here: "10.0.1.1:7000".into(),
            there: "10.0.1.2:9".into(),
            round_trip_ns: 120_000,
            bytes_per_s: 118_000_000,
            sent,
            received: 0,
            under_way: 0,
        }
    }

    fn job(sockets: Vec<SocketLink>, left_out: u32) -> JobReport {
        let rank = serde_json::json!({
            "rank": 0, "host": "h0", "pid": 7, "state": "initialised", "doing": "", "current": true,
            "counters": {"rail1_links": 12, "rail1_sent": 5},
            "links": Links { neighbours: 4, shm: vec![(1, 3), (5, 5)], sockets, left_out },
        });
        let part = serde_json::json!({"host": "h0", "interface": "eth7", "addresses": ["10.0.1.1"]});
        let job = serde_json::json!({
            "job": 1, "version": "", "command": "", "size": 4, "seconds": 0.0, "ranks": [rank],
            "rails": [{"rail": 1, "hosts": [part]}],
        });
        serde_json::from_value(job).unwrap()
    }

    #[test]
    fn a_link_is_shown_with_interface_addresses_and_what_it_does() {
        let closed = SocketLink { open: false, trouble: "No route".into(), ..link(9, 2, 0) };
        let job = job(vec![link(9, 1, 12_300_000), closed], 0);
        let lines = of_rank(&job, &job.ranks[0], false);
        let squeezed: Vec<_> =
            lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(
            squeezed,
            [
                "ranks 1-3, 5 shm",
                "rank 9 tcp 1 eth7 10.0.1.1 to 10.0.1.2: open, 118 MB/s, round trip 120.00 µs, 12.3 MB sent, 0 B \
                 received, 0 B under way",
                "tcp 2 not open: No route",
            ]
        );
        assert_eq!(count(&job.ranks[0]), "4 shm, 1 tcp");
        assert_eq!(rails(&job.rails), ["tcp 1: eth7 on h0 (10.0.1.1)"]);
    }

    #[test]
    fn the_protocols_in_use_are_named_with_what_they_carried() {
        let mut rank = job(Vec::new(), 0).ranks.remove(0);
        assert_eq!(protocols(&rank), None);
        for (name, value) in
            [("short_sent", 10), ("short_sent_bytes", 80), ("eager_sent", 2), ("eager_sent_bytes", 40_000)]
        {
            rank.counters.insert(name.into(), value.into());
        }
        let line = protocols(&rank).unwrap();
        assert_eq!(line.trim(), "messages sent, with their mean sizes: 10 short of 8 B, 2 eager of 20 KB");
    }

    #[test]
    fn of_many_peers_those_that_moved_most_are_shown_and_the_others_counted() {
        let job = job((0..20).map(|peer| link(peer, 1, u64::from(peer))).collect(), 5);
        let lines = of_rank(&job, &job.ranks[0], false);
        assert!(lines[1].contains("rank 12 ") && lines[8].contains("rank 19 "), "{lines:?}");
        assert!(lines[9].contains("17 more peers") && lines[10].contains("12 links"), "{lines:?}");
        let all = of_rank(&job, &job.ranks[0], true);
        assert!(all.len() == 23 && all[21].contains("5 more peers"), "{all:?}");
    }
}
