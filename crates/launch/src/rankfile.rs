//! Files that give each rank its host and its processors, in Open MPI's syntax: `rank 0=h0 slot=0-1`.
//!
//! Owns the syntax.

use crate::binding::Slots;
use crate::hosts::{NamedHost, read_list};

/// The content of such a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankFile {
    /// The hosts with their numbers of ranks, in the order of their first ranks.
    pub hosts: Vec<NamedHost>,
    /// The host of each rank, by its index.
    pub host_of: Vec<u32>,
    /// The processors of each rank.
    pub slots: Vec<Slots>,
}

/// Reads a file of ranks; a `#` starts a comment.
///
/// # Errors
/// Fails with a text that describes the error and names the line.
pub fn read(text: &str) -> Result<RankFile, String> {
    let mut ranks: Vec<(u32, String, Slots)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            ranks.push(read_line(line).map_err(|text| format!("line {number}: {text}"))?);
        }
    }
    ranks.sort_by_key(|(rank, ..)| *rank);
    if let Some((expected, (rank, ..))) = (0..).zip(&ranks).find(|(expected, (rank, ..))| expected != rank) {
        return Err(match *rank < expected {
            true => format!("rank {rank} is named twice"),
            false => format!("rank {expected} is missing: the file names each rank from 0"),
        });
    }
    let mut file = RankFile { hosts: Vec::new(), host_of: Vec::new(), slots: Vec::new() };
    for (_, host, slots) in ranks {
        file.slots.push(slots);
        let index = file.hosts.iter().position(|known| known.name == host).unwrap_or(file.hosts.len());
        file.host_of.push(index as u32);
        match file.hosts.get_mut(index) {
            Some(known) => known.ranks = known.ranks.map(|ranks| ranks + 1),
            None => file.hosts.push(NamedHost { name: host, ranks: Some(1), most: None }),
        }
    }
    if file.hosts.is_empty() {
        return Err("no rank is named".into());
    }
    Ok(file)
}

fn read_line(line: &str) -> Result<(u32, String, Slots), String> {
    let wrong = || format!("`{line}`: a rank is written `rank 0=host slot=0-1`");
    let rest =
        line.strip_prefix("rank").filter(|rest| rest.starts_with(char::is_whitespace)).ok_or_else(wrong)?;
    let (rank, rest) = rest.split_once('=').ok_or_else(wrong)?;
    let rank = rank.trim().parse().map_err(|_| wrong())?;
    let mut words = rest.split_whitespace();
    let host = words.next().ok_or_else(wrong)?;
    if host.starts_with('+') {
        return Err(format!("`{host}`: hosts are named here, not counted"));
    }
    let named = read_list(host)?;
    let [NamedHost { name, ranks: None, .. }] = &named[..] else { return Err(wrong()) };
    let slots: String = words.collect();
    let slots = slots.strip_prefix("slot=").or(slots.strip_prefix("slots=")).ok_or_else(wrong)?;
    Ok((rank, name.clone(), slots.parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_hosts_and_processors() {
        let file =
            read("# two hosts\nrank 1=h0 slot=1:0-1\nrank 0=h0 slot=0\n\nrank 2 = h1 slot=p4,6 # last\n")
                .unwrap();
        let hosts: Vec<_> = file.hosts.iter().map(|host| (&*host.name, host.ranks)).collect();
        assert_eq!(hosts, [("h0", Some(2)), ("h1", Some(1))]);
        assert_eq!(file.slots, ["0", "1:0-1", "p4,6"].map(|slots| slots.parse().unwrap()));
    }

    #[test]
    fn ranks_of_a_host_need_not_follow_each_other() {
        let file = read("rank 0=a slot=0\nrank 1=b slot=0\nrank 2=a slot=1").unwrap();
        let hosts: Vec<_> = file.hosts.iter().map(|host| (&*host.name, host.ranks)).collect();
        assert_eq!((hosts, file.host_of), (vec![("a", Some(2)), ("b", Some(1))], vec![0, 1, 0]));
    }

    #[test]
    fn nonsense_is_refused_with_a_text() {
        for (text, words) in [
            ("", "no rank"),
            ("rank 0=h0", "line 1"),
            ("rank 0=h0 slot=0\nrank 0=h0 slot=1", "twice"),
            ("rank 1=h0 slot=0", "rank 0 is missing"),
            ("rank 0=+n0 slot=0", "+n0"),
            ("rank 0=a slot=x", "`x`"),
            ("rank 0=a slot=3-1", "backwards"),
            ("rank 0=a:2 slot=1", "rank 0=host"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
