//! The hosts of a job and the number of ranks on each: `--hosts`, `--hostfile` and `-n` together.
//!
//! Owns the syntax and the placement. Looks no name up: the remote shell does.

use std::collections::HashSet;

use canele_control::{Host, RankMap};

/// A host as the user named it, with the number of ranks given for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedHost {
    /// The name of the host, as the remote shell takes it.
    pub name: String,
    /// The number of its ranks; `None`: the ranks are spread evenly.
    pub ranks: Option<u32>,
    /// The most ranks that it takes once all hosts have their number; `None`: it takes no more than its
    /// number.
    pub most: Option<u32>,
}

/// The order in which ranks are assigned to hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RankOrder {
    /// One host is filled after the other, or has an even share: its ranks are consecutive.
    #[default]
    ByHost,
    /// Each host gets one rank in turn, while it has room.
    InTurn,
    /// Each rank goes to the host that is given for it, by the host's index.
    Listed(Vec<u32>),
}

/// Reads `h0:2,h1:2` or `h0,h1`; IPv6 addresses in brackets.
///
/// # Errors
/// Fails with a text that describes the error.
pub fn read_list(text: &str) -> Result<Vec<NamedHost>, String> {
    text.split(',').map(|word| read_one(word.trim())).collect()
}

/// Reads a host file: on each line `host`, `host:ranks` or `host slots=ranks max_slots=most`; a `#` starts a
/// comment.
///
/// # Errors
/// Fails with a text that describes the error and names the line.
pub fn read_file(text: &str) -> Result<Vec<NamedHost>, String> {
    let mut hosts = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let wrong = |text: String| format!("line {number}: {text}");
        let mut host = read_one(first).map_err(wrong)?;
        for word in words {
            read_slots(word, line, &mut host).map_err(wrong)?;
        }
        host.ranks = host.ranks.or(host.most);
        if host.most < host.ranks.filter(|_| host.most.is_some()) {
            return Err(wrong(format!("`{line}`: max_slots is below the number of ranks")));
        }
        hosts.push(host);
    }
    Ok(hosts)
}

/// Reads a word that follows a host.
fn read_slots(word: &str, line: &str, host: &mut NamedHost) -> Result<(), String> {
    let Some((name, number)) = word.split_once('=') else {
        return Err(format!("nothing is expected after `{}`, but there is `{word}`", host.name));
    };
    let place = match name {
        "slots" => &mut host.ranks,
        "max_slots" | "max-slots" => &mut host.most,
        _ => return Err(format!("`{line}`: a host is written `h0`, `h0:2` or `h0 slots=2 max_slots=4`")),
    };
    if place.is_some() {
        return Err(format!("`{line}`: the host has two numbers"));
    }
    *place = Some(read_ranks(number, line)?);
    Ok(())
}

fn read_one(word: &str) -> Result<NamedHost, String> {
    let bracket = word.rfind(']').map(|at| at + 1);
    let (name, rest) = word.split_at(bracket.or(word.find(':')).unwrap_or(word.len()));
    if rest.matches(':').count() > 1 {
        return Err(format!("`{word}`: an IPv6 address is written in brackets, as [fd77::1]:2"));
    }
    let allowed = |c: char| c.is_alphanumeric() || "._-@[]:%".contains(c);
    // A name that begins with a dash would be an option of the remote shell.
    let bracketed = name.contains('[') == bracket.is_some() && !name.contains("[]");
    if name.is_empty() || !bracketed || name.starts_with('-') || !name.chars().all(allowed) {
        return Err(format!("`{word}` is no host: one is written `h0` or `h0:2`"));
    }
    let ranks = match rest.strip_prefix(':') {
        Some(number) => Some(read_ranks(number, word)?),
        None if rest.is_empty() => None,
        None => return Err(format!("`{word}` is no host: one is written `h0` or `h0:2`")),
    };
    Ok(NamedHost { name: name.to_owned(), ranks, most: None })
}

fn read_ranks(number: &str, word: &str) -> Result<u32, String> {
    match number.parse() {
        Ok(ranks) if ranks > 0 => Ok(ranks),
        _ => Err(format!("`{word}`: {number:?} is no number of ranks, which is at least 1")),
    }
}

/// Returns the number of ranks of all hosts together, if each gives its number.
///
/// # Errors
/// Fails with a text that describes the error: no hosts, one twice, numbers for some only.
pub fn capacity(hosts: &[NamedHost]) -> Result<Option<u32>, String> {
    if hosts.is_empty() {
        return Err("no host is named".into());
    }
    let mut seen = HashSet::new();
    if let Some(twice) = hosts.iter().find(|host| !seen.insert(&host.name)) {
        return Err(format!("host {} is named twice: name it once, with all its ranks", twice.name));
    }
    let numbers: Vec<u32> = hosts.iter().filter_map(|host| host.ranks).collect();
    if !numbers.is_empty() && numbers.len() < hosts.len() {
        return Err("either every host has a number of ranks, as in h0:2,h1:2, or none has".into());
    }
    let sum = numbers.iter().fold(0_u32, |sum, ranks| sum.saturating_add(*ranks));
    Ok((!numbers.is_empty()).then_some(sum))
}

/// Places `size` ranks, at least 1. It fills the hosts up to their numbers, then up to their maximum. Without
/// numbers it spreads the ranks evenly. A host that gets no rank here has none until one is spawned there.
///
/// # Errors
/// Fails with a text that describes the error.
pub fn place(hosts: &[NamedHost], size: u32, order: &RankOrder) -> Result<(Vec<Host>, RankMap), String> {
    let has_numbers = capacity(hosts)?.is_some();
    let all = hosts.iter().fold(0_u32, |sum, host| sum.saturating_add(most(host)));
    if has_numbers && size > all {
        return Err(format!(
            "{size} ranks do not fit: the hosts take {all} in all (raise their numbers, or name more hosts)"
        ));
    }
    let map = match order {
        RankOrder::ByHost => RankMap::in_blocks(shares(hosts, size)),
        RankOrder::InTurn => dealt(hosts, size),
        RankOrder::Listed(list) => RankMap::new(list.iter().copied().take(size as usize)),
    };
    let ranks = map.by_host(hosts.len());
    let placed =
        hosts.iter().zip(ranks).map(|(host, own)| Host { name: host.name.clone(), ranks: own.len() });
    Ok((placed.collect(), map))
}

/// Returns the number of ranks on each host if one is filled after the other.
fn shares(hosts: &[NamedHost], size: u32) -> Vec<u32> {
    let count = hosts.len() as u32;
    let mut left = size;
    let share = |(index, host): (u32, &NamedHost)| {
        let ranks = host.ranks.unwrap_or(size / count + u32::from(index < size % count)).min(left);
        left -= ranks;
        ranks
    };
    let mut placed: Vec<u32> = (0..).zip(hosts).map(share).collect();
    for (ranks, host) in placed.iter_mut().zip(hosts) {
        let more = left.min(most(host) - *ranks);
        *ranks += more;
        left -= more;
    }
    placed
}

/// Deals ranks to the hosts in turn, up to their numbers first; there is room for all.
fn dealt(hosts: &[NamedHost], size: u32) -> RankMap {
    let mut placed = vec![0_u32; hosts.len()];
    let mut of_ranks = Vec::new();
    let up_to_numbers = |host: &NamedHost| host.ranks.unwrap_or(u32::MAX);
    for limit in [up_to_numbers, most] {
        let mut dealt = usize::MAX;
        while dealt > 0 && of_ranks.len() < size as usize {
            let before = of_ranks.len();
            for ((index, host), ranks) in (0..).zip(hosts).zip(&mut placed) {
                if *ranks < limit(host) && of_ranks.len() < size as usize {
                    *ranks += 1;
                    of_ranks.push(index);
                }
            }
            dealt = of_ranks.len() - before;
        }
    }
    RankMap::new(of_ranks)
}

/// Returns the most ranks that a host takes.
fn most(host: &NamedHost) -> u32 {
    host.most.or(host.ranks).unwrap_or(u32::MAX)
}

/// Returns true if a name means this host, which needs no remote shell.
pub fn is_here(name: &str) -> bool {
    let own = rustix::system::uname();
    let own = own.nodename().to_string_lossy().into_owned();
    let first = own.split('.').next().unwrap_or_default();
    ["localhost", "127.0.0.1", "[::1]", &own, first].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(list: &str, size: u32) -> Vec<(String, u32)> {
        let (hosts, _) = place(&read_list(list).unwrap(), size, &RankOrder::ByHost).unwrap();
        hosts.into_iter().map(|host| (host.name, host.ranks)).collect()
    }

    fn expect(pairs: &[(&str, u32)]) -> Vec<(String, u32)> {
        pairs.iter().map(|&(name, ranks)| (name.to_owned(), ranks)).collect()
    }

    #[test]
    fn ranks_fill_numbers_in_order_or_are_spread_in_blocks() {
        assert_eq!(placed("h0:2,h1:2", 4), expect(&[("h0", 2), ("h1", 2)]));
        assert_eq!(placed("h0:2,h1:2", 3), expect(&[("h0", 2), ("h1", 1)]));
        assert_eq!(placed("h0:2, h1:2", 2), expect(&[("h0", 2), ("h1", 0)]));
        assert_eq!(placed("a,b,c", 8), expect(&[("a", 3), ("b", 3), ("c", 2)]));
        assert_eq!(placed("a,b", 1), expect(&[("a", 1), ("b", 0)]));
        assert_eq!(placed("[fd77:1::1]:2,me@[::1]:1", 1).len(), 2);
        for order in [RankOrder::ByHost, RankOrder::InTurn, RankOrder::Listed(vec![0; 5])] {
            assert!(
                place(&read_list("h0:2,h1:2").unwrap(), 5, &order).unwrap_err().contains("take 4 in all")
            );
        }
    }

    #[test]
    fn ranks_go_to_hosts_in_turn_or_where_they_are_named() {
        let of_ranks = |list: &str, size, order: RankOrder| {
            let (hosts, map) = place(&read_list(list).unwrap(), size, &order).unwrap();
            assert!(map.ranks() == size && map.is_sound(hosts.iter().map(|host| host.ranks)));
            (0..size).map(|rank| map.host_of(rank).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of_ranks("a,b", 5, RankOrder::InTurn), [0, 1, 0, 1, 0]);
        assert_eq!(of_ranks("a:1,b:3,c:2", 6, RankOrder::InTurn), [0, 1, 2, 1, 2, 1]);
        assert_eq!(of_ranks("a:1,b:3,c:2", 2, RankOrder::InTurn), [0, 1]);
        assert_eq!(of_ranks("a:2,b:2", 3, RankOrder::Listed(vec![1, 0, 1, 0])), [1, 0, 1]);
        let more = read_file("a slots=1 max_slots=3\nb slots=2\n").unwrap();
        let (hosts, map) = place(&more, 5, &RankOrder::InTurn).unwrap();
        assert_eq!((0..5).map(|rank| map.host_of(rank).unwrap()).collect::<Vec<_>>(), [0, 1, 1, 0, 0]);
        assert_eq!(hosts.iter().map(|host| host.ranks).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn addresses_of_both_kinds_and_users_are_hosts() {
        let named = |name: &str, ranks| NamedHost { name: name.into(), ranks, most: None };
        assert_eq!(
            read_list("[fd77::1]:2,[fd77::2],10.0.0.1:3,me@h1.example.org:1").unwrap(),
            [
                named("[fd77::1]", Some(2)),
                named("[fd77::2]", None),
                named("10.0.0.1", Some(3)),
                named("me@h1.example.org", Some(1))
            ]
        );
    }

    #[test]
    fn nonsense_is_refused_with_a_text() {
        for text in [
            "", ",", "h0,", "h0:", "h0:x", "h0:0", "h0:-1", "fd77::1", "[fd77::1", "[]", "-oProxy", "a b",
            "a;b", "[::1]2",
        ] {
            assert!(read_list(text).is_err(), "{text:?}");
        }
        for list in ["a:1,b", "a,a", "a:1,a:2"] {
            assert!(capacity(&read_list(list).unwrap()).is_err(), "{list}");
        }
        assert_eq!(capacity(&read_list("a:4000000000,b:4000000000").unwrap()), Ok(Some(u32::MAX)));
    }

    #[test]
    fn a_file_names_a_host_on_each_line() {
        let hosts = read_file("# cluster\n\nh0:2   # first\nh1 slots=3\n  [fd77::2]:1\n").unwrap();
        assert_eq!(capacity(&hosts), Ok(Some(6)));
        assert_eq!(hosts[1], NamedHost { name: "h1".into(), ranks: Some(3), most: None });
        for (text, words) in [
            ("h0\nh1 x=2", "line 2"),
            ("h0:1 slots=2", "line 1"),
            ("h0 slots=3 max_slots=2", "below"),
            ("h0 max_slots=2 max_slots=2", "two numbers"),
            ("h0 slots=2 y", "`y`"),
            ("h0 slots=no", "no"),
        ] {
            let error = read_file(text).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(capacity(&read_file("# none\n").unwrap()).is_err());
    }

    #[test]
    fn hosts_take_more_than_their_numbers_once_all_are_full() {
        let hosts = read_file("h0 slots=1 max_slots=3\nh1 slots=2\nh2 max-slots=2\n").unwrap();
        assert_eq!(capacity(&hosts), Ok(Some(5)));
        let ranks = |size| {
            let placed = place(&hosts, size, &RankOrder::ByHost);
            placed.map(|(placed, _)| placed.iter().map(|host| host.ranks).collect())
        };
        assert_eq!(ranks(4), Ok(vec![1, 2, 1]));
        assert_eq!(ranks(6), Ok(vec![2, 2, 2]));
        assert_eq!(ranks(7), Ok(vec![3, 2, 2]));
        assert!(ranks(8).unwrap_err().contains("take 7 in all"));
    }
}
