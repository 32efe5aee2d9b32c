//! The rails over which the ranks of two jobs reach each other, unless they share the memory of one host.
//! Owns the decision.
//!
//! A job with agents has numbered the rails of its hosts at its start; a job without agents has no rails yet.
//! A rail has the same number on all hosts of both jobs. A job of several hosts keeps its own numbers. It
//! must share a host with the other job: at that host the two numberings are compared. A job of one host
//! takes the numbers of the other job.

/// The ports of each rail of a host, as the rail's driver writes them.
pub type HostRails = Vec<Vec<String>>;

/// The rails and ports of this job.
#[derive(Debug, Default)]
pub struct OwnRails {
    /// The rails of each host of this job; empty for a job without agents.
    pub hosts: Vec<HostRails>,
    /// All ports of this host, if the job has one host.
    pub here: Vec<String>,
    /// The rails on which the ranks of its one host already listen, because of another connection.
    pub taken: Option<HostRails>,
}

const NOTHING_IN_COMMON: &str = "the two jobs have no host in common: start both with the same `--hosts`, or one of them on the host of the other";
const DIFFERENT: &str = "the hosts of the two jobs have different networks in common: start both with the same `--hosts`, or with the same \
     interfaces in CANELE_RAILS";

/// Agrees on the rails of each host of this job, which is connected with another one. `theirs` are the rails
/// of the other job's hosts. Returns none if both jobs are on one host.
///
/// # Errors
/// Fails with the reason why they are not connected, and a remedy.
pub fn agree(own: &OwnRails, theirs: &[HostRails]) -> Result<Option<Vec<HostRails>>, String> {
    let offered = match (&own.hosts[..], theirs) {
        ([], []) => return Ok(None),
        ([one], []) => one,
        ([one], [other]) if one != other => return Err(NOTHING_IN_COMMON.into()),
        ([] | [_], _) => {
            let is_here = |host: &&HostRails| {
                let mut addresses = host.iter().flatten().peekable();
                addresses.peek().is_some() && addresses.all(|address| own.here.contains(address))
            };
            theirs.iter().find(is_here).ok_or(NOTHING_IN_COMMON)?
        }
        // The other job checks that its host is among these.
        (_, [] | [_]) => return Ok(Some(own.hosts.clone())),
        _ => return of_several(&own.hosts, theirs).map(Some),
    };
    match &own.taken {
        Some(taken) if taken != offered => Err(DIFFERENT.into()),
        _ => Ok(Some(vec![offered.clone()])),
    }
}

fn of_several(own: &[HostRails], theirs: &[HostRails]) -> Result<Vec<HostRails>, String> {
    let has_one_of = |one: &HostRails, other: &HostRails| {
        one.iter().flatten().any(|address| other.iter().flatten().any(|of_other| of_other == address))
    };
    let pairs = own.iter().flat_map(|one| theirs.iter().map(move |other| (one, other)));
    let mut common = pairs.filter(|(one, other)| has_one_of(one, other)).peekable();
    if common.peek().is_none() {
        return Err(NOTHING_IN_COMMON.into());
    }
    match common.all(|(one, other)| one == other) {
        true => Ok(own.to_vec()),
        false => Err(DIFFERENT.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(addresses: &[&str]) -> HostRails {
        addresses.iter().map(|address| vec![(*address).to_owned()]).collect()
    }

    fn several(hosts: &[&HostRails]) -> OwnRails {
        OwnRails { hosts: hosts.iter().map(|host| (*host).clone()).collect(), ..OwnRails::default() }
    }

    fn one(hosts: &[&HostRails], here: &[&str]) -> OwnRails {
        let here = here.iter().map(|address| (*address).to_owned()).collect();
        OwnRails { here, ..several(hosts) }
    }

    #[test]
    fn a_job_of_one_host_takes_the_rails_of_one_that_has_it_too() {
        let (a, b) = (host(&["10.1.0.1", "10.2.0.1"]), host(&["10.1.0.2", "10.2.0.2"]));
        let mut here = one(&[], &["172.17.0.1", "10.2.0.1", "10.1.0.1"]);
        assert_eq!(agree(&here, &[]), Ok(None));
        assert_eq!(agree(&here, &[b.clone(), a.clone()]), Ok(Some(vec![a.clone()])));
        assert!(agree(&here, std::slice::from_ref(&b)).unwrap_err().contains("no host in common"));
        assert_eq!(agree(&several(&[&a, &b]), &[]), Ok(Some(vec![a.clone(), b.clone()])));
        here.taken = Some(host(&["10.2.0.1"]));
        assert!(agree(&here, &[a, b]).unwrap_err().contains("CANELE_RAILS"));
    }

    #[test]
    fn two_jobs_of_one_host_each_are_on_the_same() {
        let (a, b) = (host(&["10.1.0.1"]), host(&["10.1.0.2"]));
        let with_agents = one(&[&a], &["10.1.0.1"]);
        assert_eq!(agree(&with_agents, &[]), Ok(Some(vec![a.clone()])));
        assert_eq!(agree(&one(&[], &["10.1.0.1"]), std::slice::from_ref(&a)), Ok(Some(vec![a.clone()])));
        assert_eq!(agree(&with_agents, std::slice::from_ref(&a)), Ok(Some(vec![a])));
        assert!(agree(&with_agents, &[b]).is_err());
    }

    #[test]
    fn jobs_of_several_hosts_share_one_whose_rails_have_the_same_numbers() {
        let (a, b, c) = (host(&["10.1.0.1"]), host(&["10.1.0.2"]), host(&["10.1.0.3"]));
        let own = several(&[&a, &b]);
        assert_eq!(agree(&own, &[b.clone(), c.clone()]), Ok(Some(own.hosts.clone())));
        assert!(agree(&own, &[c.clone(), c.clone()]).unwrap_err().contains("no host in common"));
        let other = host(&["10.2.0.2", "10.1.0.2"]);
        assert!(agree(&own, &[other, c]).unwrap_err().contains("CANELE_RAILS"));
    }
}
