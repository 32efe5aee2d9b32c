//! The hosts of the ranks: lists and files of hosts as other launchers read them, in the words of `canele
//! run`.

use canele_sys::bounded_read::{self, MOST_SETTINGS};

use super::command_line::MpiexecOptions;
use crate::hosts::{self, NamedHost, RankOrder};

/// The hosts and ranks that the options choose.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct HostChoice {
    /// The value of `--hosts`; without it, the ranks run here.
    pub hosts: Option<String>,
    /// The number of ranks if no option gives it.
    pub ranks: Option<u32>,
    /// True if the hosts have numbers of ranks, also if they come from an allocation.
    pub says_ranks: bool,
}

/// Combines hosts, host file and ranks per host.
pub fn resolve(wanted: &MpiexecOptions, in_allocation: bool) -> Result<HostChoice, String> {
    if wanted.mapping.rankfile.is_some() {
        return Ok(HostChoice::default());
    }
    let (named, typed) = match (&wanted.hosts, &wanted.hostfile) {
        (None, None) => {
            if wanted.mapping.no_local {
                return Err("nolocal leaves no host: -hosts names others than this one".into());
            }
            return Ok(HostChoice {
                ranks: wanted.per_host,
                says_ranks: in_allocation,
                ..HostChoice::default()
            });
        }
        (Some(_), Some(file)) => {
            let file = file.to_string_lossy();
            return Err(format!("hosts are named in the list as well as in the file {file}: one is enough"));
        }
        (Some(list), None) => (hosts::read_list(list), format!("hosts {list}")),
        (None, Some(file)) => {
            let typed = format!("host file {}", file.to_string_lossy());
            let text =
                bounded_read::read_text(file, MOST_SETTINGS).map_err(|error| format!("{typed}: {error}"))?;
            (hosts::read_file(&text), typed)
        }
    };
    let mut named = merged(named.map_err(|text| format!("{typed}: {text}"))?, wanted.per_host);
    if wanted.mapping.no_local && !named.is_empty() {
        named.retain(|host| !hosts::is_here(&host.name));
        if named.is_empty() {
            return Err(format!("{typed}: without this host none is left"));
        }
    }
    if named.is_empty() {
        return Err(format!("{typed}: no host is named"));
    }
    if named.iter().all(|host| hosts::is_here(&host.name)) {
        return Ok(HostChoice { ranks: sum(&named), ..HostChoice::default() });
    }
    // By default each host gets one rank.
    let said = wanted.programs.iter().any(|program| program.ranks.is_some());
    let named = if said { named } else { numbered(named) };
    let asked = wanted.programs.iter().map(|program| program.ranks.unwrap_or(1)).sum();
    let named = filled(named, asked)?;
    let words: Vec<String> = named.iter().map(word).collect();
    Ok(HostChoice { hosts: Some(words.join(",")), ranks: None, says_ranks: sum(&named).is_some() })
}

/// Merges the entries of each host. An entry without a number means one rank if its host has several entries,
/// or if another entry has a number.
fn merged(named: Vec<NamedHost>, per_host: Option<u32>) -> Vec<NamedHost> {
    let mut hosts: Vec<NamedHost> = Vec::new();
    let counts = named.iter().any(|host| host.ranks.is_some());
    let named = if counts { numbered(named) } else { named };
    for host in named {
        match hosts.iter_mut().find(|known| known.name == host.name) {
            Some(known) => {
                known.ranks = Some(known.ranks.unwrap_or(1).saturating_add(host.ranks.unwrap_or(1)))
            }
            None => hosts.push(host),
        }
    }
    if hosts.iter().any(|host| host.ranks.is_some()) {
        hosts = numbered(hosts);
    }
    if per_host.is_some() {
        hosts.iter_mut().for_each(|host| (host.ranks, host.most) = (per_host, None));
    }
    hosts
}

/// Gives hosts that take more than their numbers the ranks that the programs ask for.
fn filled(named: Vec<NamedHost>, asked: u32) -> Result<Vec<NamedHost>, String> {
    if sum(&named).is_none_or(|numbers| asked <= numbers) || named.iter().all(|host| host.most.is_none()) {
        return Ok(named);
    }
    let (placed, _) = hosts::place(&named, asked, &RankOrder::ByHost)?;
    Ok(placed
        .into_iter()
        .map(|host| NamedHost { name: host.name, ranks: Some(host.ranks), most: None })
        .collect())
}

fn numbered(mut hosts: Vec<NamedHost>) -> Vec<NamedHost> {
    hosts.iter_mut().for_each(|host| host.ranks = host.ranks.or(Some(1)));
    hosts
}

/// Returns the number of ranks that the hosts have room for; none if they do not say it.
fn sum(hosts: &[NamedHost]) -> Option<u32> {
    hosts.iter().try_fold(0_u32, |sum, host| Some(sum.saturating_add(host.ranks?)))
}

fn word(host: &NamedHost) -> String {
    match host.ranks {
        Some(ranks) => format!("{}:{ranks}", host.name),
        None => host.name.clone(),
    }
}
