//! Messages from other jobs. Owns these reactions of the launcher; a message that breaks the rules closes the
//! link.

use std::os::fd::OwnedFd;

use canele_control::{
    FromLauncher, JobRank, Meeting, PortName, RankEnd, ReceiveError, SpawnedWorld, check_addresses,
};
use canele_sys::ids::LinkId;

use super::messages::{RankSeries, ToJob};
use super::ports::Caller;
use super::{AT_A_TIME, WantedConnection};
use crate::host_ranks::{HostRanks, Order};
use crate::job_elsewhere::Reachable;
use crate::launcher::Launcher;

impl Launcher {
    pub(super) fn read_job(&mut self, place: u32) {
        for _ in 0..AT_A_TIME {
            let Some(Some(link)) = self.connected.links.get_mut(place as usize) else { return };
            match link.receive() {
                Ok(None) => return,
                Ok(Some((message, descriptors))) => {
                    if self.handle_job_message(place, message, descriptors).is_none() {
                        return self.lose_link(place);
                    }
                }
                Err(ReceiveError::Closed | ReceiveError::Malformed(_) | ReceiveError::System(_)) => {
                    return self.lose_link(place);
                }
            }
        }
    }

    /// Handles a message of another job; returns none if it breaks the rules.
    fn handle_job_message(&mut self, place: u32, message: ToJob, descriptors: Vec<OwnedFd>) -> Option<()> {
        let link = self.connected.links[place as usize].as_mut()?;
        let (job, is_greeting) = (link.job, link.greeting_until.is_some());
        match message {
            _ if link.is_closing => Some(()),
            ToJob::Hello { version, job, settings, ranks, network } if is_greeting => {
                self.greet(place, version, (job, &settings), (&ranks, &network))
            }
            ToJob::Refused { why } if is_greeting => {
                self.refuse_wanted(job?, &why);
                None
            }
            _ if is_greeting => None,
            ToJob::Hello { .. } | ToJob::Refused { .. } => None,
            ToJob::Grown { ranks } => self.add_ranks(job?, &ranks),
            ToJob::Gone { rank, how } => {
                let rank = self.rank_of(job?, rank)?;
                self.handle_gone_elsewhere(rank, how);
                Some(())
            }
            ToJob::CutOff { by, of, what } => {
                let by = self.rank_of(job?, by)?;
                self.own_rank(of)?;
                self.job.tell(of, FromLauncher::CutOff { by, of, what });
                Some(())
            }
            ToJob::ConnectPort { ticket, port: PortName { owner, number }, by } => {
                let (rank, own) = (self.rank_of(job?, by)?, self.info().id);
                let caller = Caller { rank, ticket, job };
                let answers = match owner.job == own {
                    true => self.connected.ports.connect((owner.rank, number), caller),
                    false => return None,
                };
                self.tell_callers(answers);
                Some(())
            }
            ToJob::Abandon { ticket } => {
                self.connected.ports.forget(|caller| caller.job == job && caller.ticket == ticket);
                Some(())
            }
            ToJob::Connected { ticket, result } => {
                let wanted = self.connected.wanted.get(&ticket);
                if wanted.is_none_or(|wanted| Some(wanted.port.owner.job) == job) {
                    let with = |met: Meeting| Some(Meeting { with: self.rank_of(job?, met.with)?, ..met });
                    let result = match result {
                        Ok(met) => Ok(with(met)?),
                        Err(why) => Err(why),
                    };
                    // The rank that asked may have given up.
                    if let Some(WantedConnection { rank, ticket, .. }) = self.connected.wanted.remove(&ticket)
                    {
                        self.job.tell(rank, FromLauncher::Connected { ticket, result });
                    }
                    return Some(());
                }
                None
            }
            ToJob::Link { from, to } => {
                self.between(job?, from, to, |here, from, to| here.link_with(from, to))
            }
            ToJob::Reach { from, to, rails } => {
                let (peer, own) = (self.rank_of(job?, from)?, self.own_rank(to)?);
                let is_sound = self.info().is_behind_sockets(peer) && check_addresses(&rails).is_ok();
                is_sound.then(|| self.job.handle_reachable(Reachable { own, peer, rails }))
            }
            // Descriptors for which this process had no room may be missing.
            ToJob::Inbox { from, to, has_event } => self.between(job?, from, to, |here, from, to| {
                let inbox = (descriptors.len() == 1 + usize::from(has_event)).then_some(descriptors);
                here.take_inbox(from, to, inbox.unwrap_or_default())
            }),
            ToJob::Ring { from, to } => {
                let ring = descriptors.into_iter().next();
                self.between(job?, from, to, |here, from, to| here.take_ring(from, to, ring))
            }
            ToJob::FindRegion { from, owner, id } => {
                self.between(job?, from, owner, |here, from, owner| here.find_region_for(from, owner, id))
            }
            ToJob::RegionDropped { owner, to, id } => {
                self.between(job?, owner, to, |here, owner, to| here.take_dropped(owner, to, id))
            }
            ToJob::Region { owner, to, id, found } => {
                let region = descriptors.into_iter().next().filter(|_| found);
                self.between(job?, owner, to, |here, owner, to| {
                    here.take_region((owner, id), to, found, region)
                })
            }
        }
    }

    /// Adds these ranks of another job, which this one numbers after its own.
    pub(super) fn add_ranks(&mut self, job: u64, series: &RankSeries) -> Option<()> {
        let ranks = series.ranks();
        let all = u64::from(self.info().ranks()) + u64::from(ranks);
        let last = series.first.checked_add(ranks)?;
        if ranks == 0 || all > u64::from(LinkId::MOST_RANKS) {
            return None;
        }
        if (series.first..last).any(|rank| self.rank_of(job, rank).is_some()) {
            return None;
        }
        let link = self.connected.link(job)?;
        let (network, of) = (link.network.clone(), if link.has_agents { job } else { 0 });
        let own_hosts = self.info().hosts.len() as u32;
        let mut number = |host: u32| match &network {
            // All of them are on this host.
            None => 0,
            Some(_) => own_hosts + self.connected.number_host(of, host),
        };
        let hosts = series.hosts.iter().flat_map(|(host, ranks)| vec![number(*host); *ranks as usize]);
        let hosts = hosts.collect();
        let world = SpawnedWorld {
            first: self.info().ranks(),
            hosts,
            parents: Vec::new(),
            origin: Some(JobRank { job, rank: series.first }),
            network,
        };
        self.job.grow(world.clone());
        self.tell_all(&Order::Spawn { world, plans: Vec::new() });
        Some(())
    }

    /// Handles the end of a rank of another job.
    pub(super) fn handle_gone_elsewhere(&mut self, rank: u32, how: RankEnd) {
        self.job.handle_gone_elsewhere(rank, how);
        if let Some(here) = self.hosts.here_mut() {
            here.forget_keeper(rank);
        }
    }

    /// Returns the number here of a rank of another job.
    fn rank_of(&self, job: u64, rank: u32) -> Option<u32> {
        self.info().rank_of(JobRank { job, rank })
    }

    /// Returns a rank that this job has started.
    fn own_rank(&self, rank: u32) -> Option<u32> {
        self.rank_of(self.info().id, rank)
    }

    /// Runs `act` for a rank of another job, by its number there, and one of this job.
    fn between(
        &mut self,
        job: u64,
        theirs: u32,
        own: u32,
        act: impl FnOnce(&mut HostRanks, u32, u32) -> Option<()>,
    ) -> Option<()> {
        let (theirs, own) = (self.rank_of(job, theirs)?, self.own_rank(own)?);
        if self.info().is_behind_sockets(theirs) {
            return None;
        }
        // The number comes from another launcher, so it may be that of a rank of another host.
        let here = self.hosts.here_mut()?;
        if here.has(own) { act(here, theirs, own) } else { None }
    }
}
