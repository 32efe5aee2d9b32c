//! The asking side: asks all hosts at once, agrees on their rails as a job does, and makes them connect to
//! each other.
//!
//! Owns the time limits. A host that does not answer is part of the result, never an error.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::answering::{AT_ONCE, CONNECT_TIMEOUT};
use super::shells::{ShellOutput, Shells};
use super::{Attempts, Outcomes, ProbeAnswer, ProbeRequest, SUBCOMMAND, line, message};
use crate::remote::{HostRail, RemoteShell, agree, as_typed};
use crate::spec::Placement;

/// The number of hosts to which each host connects: those after it in the list, in a circle.
const MOST_PEERS: usize = 64;
/// The most shells that are started before one of them must answer.
const MOST_STARTING: usize = 64;

/// The result of the examination.
#[derive(Debug)]
pub struct Survey {
    /// The hosts, as the user named them.
    pub hosts: Vec<ProbedHost>,
    /// The rails among the hosts that answered; a host without an interface for a rail is not in it.
    pub rails: Vec<ProbedRail>,
    /// The reason why there are no rails: a host that answered, and the missing item.
    pub no_rails: Option<(usize, String)>,
    /// The results of all attempts to reach a host over a rail.
    pub links: Vec<ProbedLink>,
}

/// The result of asking a host.
#[derive(Debug)]
pub struct ProbedHost {
    /// The name, as the user gave it.
    pub name: String,
    /// The command that asked it.
    pub command: String,
    /// The host's answer, or the reason why there is none.
    pub result: Result<ProbeAnswer, ProbeFailure>,
}

/// The reason why a host did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeFailure {
    /// A description of the failure, with the output.
    pub what: String,
    /// The release that its command reports, if it is one that cannot answer.
    pub release: Option<String>,
}

/// A rail between hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedRail {
    /// The parts of the rail, one for each host that has one.
    pub parts: Vec<ProbedPart>,
}

/// A host's part of a rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedPart {
    /// The host's index.
    pub host: usize,
    /// The interface's name there.
    pub interface: String,
    /// The addresses of the interface.
    pub addresses: Vec<String>,
}

/// The result of an attempt of a host to reach another one over a rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbedLink {
    /// The index of the host that connected.
    pub from: usize,
    /// The index of the host that it tried to reach.
    pub to: usize,
    /// The index of the rail.
    pub rail: usize,
    /// The time that it took, or the reason why no address led there.
    pub result: Result<Duration, String>,
}

/// Asks the hosts of a placement, each with `request`. `names` says which interfaces are rails, as in
/// `CANELE_RAILS`.
///
/// # Errors
/// Fails with a text if the remote shell is invalid.
pub fn survey(
    placement: &Placement,
    request: impl Fn(usize) -> ProbeRequest,
    names: &str,
    timeout: Duration,
) -> Result<Survey, String> {
    let own = || std::env::current_exe().map_err(|error| format!("this executable: {error}"));
    let canele = placement.executable.clone().map_or_else(own, Ok)?;
    let shell = RemoteShell::new(placement.remote_shell.as_ref(), canele)?;
    let mut asking = Asking { hosts: Vec::new(), shells: Shells::new() };
    for (host, named) in placement.hosts.iter().enumerate() {
        asking.start(&shell, &named.name, &request(host), timeout);
    }
    asking.hear_answers(timeout);
    asking.ask_releases(&shell, timeout);
    let (rails, no_rails) = asking.agree(names);
    let links = asking.try_links(&rails);
    Ok(Survey { hosts: asking.hosts.into_iter().map(AskedHost::ended).collect(), rails, no_rails, links })
}

struct Asking {
    hosts: Vec<AskedHost>,
    shells: Shells,
}

struct AskedHost {
    name: String,
    command: String,
    /// The result; `None` while the host may still answer.
    result: Option<Result<ProbeAnswer, ProbeFailure>>,
}

impl AskedHost {
    fn ended(self) -> ProbedHost {
        let failure = || ProbeFailure { what: "did not answer".into(), release: None };
        let result = self.result.unwrap_or_else(|| Err(failure()));
        ProbedHost { name: self.name, command: self.command, result }
    }
}

impl Asking {
    fn start(&mut self, shell: &RemoteShell, name: &str, request: &ProbeRequest, timeout: Duration) {
        let waiting = |asking: &Asking| asking.hosts.iter().filter(|asked| asked.result.is_none()).count();
        let until = Instant::now() + timeout;
        while waiting(self) >= MOST_STARTING && self.hear_one(until) {}
        let command = shell.command(name, SUBCOMMAND);
        let host = self.hosts.len();
        let started = self.shells.start(&command);
        self.shells.write(host, &line(request));
        let result = started.err().map(|what| Err(ProbeFailure { what, release: None }));
        self.hosts.push(AskedHost { name: name.into(), command: as_typed(&command), result });
    }

    fn hear_answers(&mut self, timeout: Duration) {
        let until = Instant::now() + timeout;
        while self.hosts.iter().any(|asked| asked.result.is_none()) && self.hear_one(until) {}
        for host in 0..self.hosts.len() {
            if self.hosts[host].result.is_none() {
                let printed = self.shells.printed(host);
                self.fail(host, format!("did not answer within {} s{printed}", timeout.as_secs_f64()));
            }
        }
    }

    fn fail(&mut self, host: usize, what: String) {
        self.hosts[host].result = Some(Err(ProbeFailure { what, release: None }));
    }

    /// Handles one output of any host before all have answered; returns true if one came in time.
    fn hear_one(&mut self, until: Instant) -> bool {
        let Some((host, came)) = self.shells.next(until) else { return false };
        let noise = match came {
            ShellOutput::Remark(bytes) => bytes,
            ShellOutput::End if self.hosts[host].result.is_none() => {
                let ended = self.shells.how_it_ended(host).unwrap_or_else(|| "closed its output".into());
                let printed = self.shells.printed(host);
                self.fail(host, format!("{ended}{printed}"));
                return true;
            }
            ShellOutput::End => return true,
            ShellOutput::Line(text) => match message::<ProbeAnswer>(&text) {
                Some(Ok(answer)) => {
                    self.hosts[host].result.get_or_insert(Ok(answer));
                    return true;
                }
                Some(Err(_)) | None => text.into_bytes(),
            },
        };
        if self.shells.hear_noise(host, &noise) && self.hosts[host].result.is_none() {
            let printed = self.shells.printed(host);
            self.fail(host, format!("prints without end and does not answer{printed}"));
        }
        true
    }

    /// Asks hosts that did not answer for their release: an older command knows no other request than that.
    fn ask_releases(&mut self, shell: &RemoteShell, timeout: Duration) {
        let failed = |asked: &AskedHost| matches!(&asked.result, Some(Err(failure)) if failure.what.contains("status"));
        let silent: Vec<usize> = (0..self.hosts.len()).filter(|host| failed(&self.hosts[*host])).collect();
        for host in &silent {
            // A shell that cannot be started sends nothing.
            let _ = self.shells.start(&shell.command(&self.hosts[*host].name, "--version"));
        }
        let first = self.hosts.len();
        let until = Instant::now() + timeout;
        let mut open = silent.len();
        while open > 0
            && let Some((index, came)) = self.shells.next(until)
        {
            // Only output of a shell that was started here counts.
            let Some(host) = index.checked_sub(first).map(|index| silent[index]) else { continue };
            match came {
                ShellOutput::Line(text) => {
                    let release = text.trim().strip_prefix("canele ").map(str::to_owned);
                    if let Some(Err(failure)) = &mut self.hosts[host].result {
                        failure.release = failure.release.take().or(release);
                    }
                }
                ShellOutput::End => open -= 1,
                ShellOutput::Remark(_) => {}
            }
        }
    }

    fn answer(&self, host: usize) -> Option<&ProbeAnswer> {
        self.hosts[host].result.as_ref()?.as_ref().ok()
    }

    /// Agrees on the rails of the hosts that answered.
    fn agree(&self, names: &str) -> (Vec<ProbedRail>, Option<(usize, String)>) {
        let present: Vec<usize> = (0..self.hosts.len()).filter(|host| self.answer(*host).is_some()).collect();
        let interfaces = present.iter().filter_map(|host| Some(self.answer(*host)?.interfaces.clone()));
        match agree(&interfaces.collect::<Vec<_>>(), names, false) {
            Ok(parts) => (rails_of(&present, &parts), None),
            Err((at, what)) => (Vec::new(), Some((present[at], what))),
        }
    }

    /// Makes each host connect to others over every rail that both have a part in.
    fn try_links(&mut self, rails: &[ProbedRail]) -> Vec<ProbedLink> {
        let mut links = Vec::new();
        let mut waiting: Vec<VecDeque<WantedProbe>> = Vec::new();
        let mut rounds = 1;
        for host in 0..self.hosts.len() {
            let wanted = self.wanted(host, rails);
            let addresses: Vec<_> = wanted.iter().flat_map(|one| one.addresses.iter().copied()).collect();
            rounds = rounds.max(addresses.len().div_ceil(AT_ONCE) as u32);
            if !addresses.is_empty() {
                self.shells.write(host, &line(&Attempts(addresses)));
            }
            waiting.push(wanted.into());
        }
        let until = Instant::now() + 3 * CONNECT_TIMEOUT + 2 * CONNECT_TIMEOUT * rounds;
        while waiting.iter().any(|wanted| !wanted.is_empty())
            && let Some((host, came)) = self.shells.next(until)
        {
            let outcomes = match came {
                ShellOutput::Line(text) => match message::<Outcomes>(&text) {
                    Some(Ok(Outcomes(outcomes))) => outcomes,
                    _ => continue,
                },
                ShellOutput::End => Vec::new(),
                ShellOutput::Remark(_) => continue,
            };
            let mut outcomes = outcomes.into_iter();
            for wanted in waiting[host].drain(..) {
                let own = outcomes.by_ref().take(wanted.addresses.len()).collect();
                links.push(wanted.link(host, own));
            }
        }
        for (host, wanted) in waiting.into_iter().enumerate() {
            links.extend(wanted.into_iter().map(|wanted| wanted.link(host, Vec::new())));
        }
        links.sort_by_key(|link| (link.rail, link.from, link.to));
        links
    }

    /// Returns the attempts that a host must make.
    fn wanted(&self, from: usize, rails: &[ProbedRail]) -> Vec<WantedProbe> {
        let all = self.hosts.len();
        let others = (1..all).take(MOST_PEERS).map(|behind| (from + behind) % all);
        let others: Vec<usize> =
            others.filter(|to| self.answer(from).is_some() && self.answer(*to).is_some()).collect();
        let mut wanted = Vec::new();
        for (rail, of) in rails.iter().enumerate() {
            let part = |host: usize| of.parts.iter().find(|part| part.host == host);
            if part(from).is_none() {
                continue;
            }
            for &to in &others {
                let (Some(there), Some(answer)) = (part(to), self.answer(to)) else { continue };
                let is_of_rail = |address: &&SocketAddr| there.addresses.contains(&address.ip().to_string());
                let addresses = answer.listening.iter().filter(is_of_rail).copied().collect();
                wanted.push(WantedProbe { to, rail, identity: answer.identity, addresses });
            }
        }
        wanted
    }
}

/// An attempt to reach a host over a rail.
struct WantedProbe {
    to: usize,
    rail: usize,
    identity: u64,
    addresses: Vec<SocketAddr>,
}

impl WantedProbe {
    /// Combines the outcomes of all addresses: one reached address is enough.
    fn link(self, from: usize, outcomes: Vec<Result<(u64, u64), String>>) -> ProbedLink {
        let mut why = Vec::new();
        let mut fastest: Option<Duration> = None;
        for (address, outcome) in self.addresses.iter().zip(outcomes) {
            match outcome {
                Ok((identity, us)) if identity == self.identity => {
                    let took = Duration::from_micros(us);
                    fastest = Some(fastest.map_or(took, |known| known.min(took)));
                }
                Ok(_) => why.push(format!("{}: another machine answers there", address.ip())),
                Err(text) => why.push(format!("{}: {text}", address.ip())),
            }
        }
        let failure = match why.is_empty() {
            true if self.addresses.is_empty() => "it can listen on none of its addresses".into(),
            true => "the attempt did not come to an end".into(),
            false => why.join(", "),
        };
        ProbedLink { from, to: self.to, rail: self.rail, result: fastest.ok_or(failure) }
    }
}

/// Groups the hosts' parts by rail.
fn rails_of(hosts: &[usize], parts: &[Vec<HostRail>]) -> Vec<ProbedRail> {
    let count = parts.iter().map(Vec::len).max().unwrap_or(0);
    let rail = |rail: usize| {
        let part = |(host, parts): (&usize, &Vec<HostRail>)| {
            let part = parts.get(rail).filter(|part| !part.ports.is_empty())?;
            Some(ProbedPart { host: *host, interface: part.interface.clone(), addresses: part.ports.clone() })
        };
        ProbedRail { parts: hosts.iter().zip(parts).filter_map(part).collect() }
    };
    (0..count).map(rail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> WantedProbe {
        let addresses = ["10.0.0.1:7", "[fd77::1]:7"].map(|text| text.parse().unwrap()).to_vec();
        WantedProbe { to: 1, rail: 0, identity: 5, addresses }
    }

    #[test]
    fn one_address_that_leads_to_the_host_is_enough_and_another_machines_is_none() {
        let link = wanted().link(0, vec![Ok((6, 3)), Ok((5, 40))]);
        assert_eq!(link, ProbedLink { from: 0, to: 1, rail: 0, result: Ok(Duration::from_micros(40)) });
        let text = wanted().link(0, vec![Ok((6, 3)), Err("refused".into())]).result.unwrap_err();
        assert_eq!(text, "10.0.0.1: another machine answers there, fd77::1: refused");
        assert!(wanted().link(0, Vec::new()).result.unwrap_err().contains("did not come to an end"));
    }

    #[test]
    fn rails_have_the_parts_of_hosts_that_have_any() {
        let part = |interface: &str, address: &str| HostRail {
            interface: interface.into(),
            ports: vec![address.into()],
        };
        let parts = [
            vec![part("a", "10.1.0.1"), HostRail::default()],
            vec![part("b", "10.1.0.2"), part("c", "10.2.0.2")],
        ];
        let rails = rails_of(&[0, 3], &parts);
        let hosts = |rail: &ProbedRail| rail.parts.iter().map(|part| part.host).collect::<Vec<_>>();
        assert_eq!(rails.iter().map(hosts).collect::<Vec<_>>(), [vec![0, 3], vec![3]]);
    }
}
