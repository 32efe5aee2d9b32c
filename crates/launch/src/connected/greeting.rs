//! The start of a link between two jobs, and its end. Owns these reactions of the launcher.

use std::os::fd::OwnedFd;
use std::time::Instant;

use canele_control::join::is_of_this_user;
use canele_control::{FromLauncher, JobNetwork, RankEnd, SpawnedWorld, VERSION};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};

use super::link::{JobLink, address, connect_with};
use super::messages::{RankSeries, ToJob};
use super::network::{HostRails, OwnRails, agree};
use super::{ATTEMPTS, HELLO_TIMEOUT, MOST_SERIES, MOST_STRANGERS, STRANGERS_AT_A_TIME, WantedConnection};
use crate::launcher::Launcher;

impl Launcher {
    pub(super) fn accept_jobs(&mut self) {
        let Some(listener) = &self.connected.listener else { return };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let mut arrived = (0..STRANGERS_AT_A_TIME).map_while(|_| accept_with(listener, flags).ok());
        let Some(socket) = arrived.find(|socket| is_of_this_user(socket)) else { return };
        let strangers = self.connected.links.iter().flatten().filter(|link| link.job.is_none()).count();
        if strangers < MOST_STRANGERS {
            // Without room for it the other job is refused, as its socket closes.
            let _ = self.add_link(socket, None);
        }
    }

    pub(super) fn add_link(&mut self, socket: OwnedFd, job: Option<u64>) -> Result<u32, Errno> {
        let place = self.connected.free_place();
        let until = Instant::now() + HELLO_TIMEOUT;
        let link = JobLink::new(canele_control::Socket::new(socket), place, job, until, &self.events)?;
        self.connected.links[place as usize] = Some(link);
        Ok(place)
    }

    /// Sends the connection requests of ranks to a job; begins a link if there is none.
    pub(super) fn begin_link(&mut self, job: u64) {
        if self.connected.link(job).is_some() {
            return self.connected.send_wanted(job);
        }
        let connected = self.check_connectable(job).map(|()| address(job).and_then(|at| connect_with(&at)));
        if matches!(connected, Ok(Err(Errno::AGAIN))) && self.connected.crowded.try_again(job, Instant::now())
        {
            return;
        }
        self.connected.crowded.forget(job);
        let begun = connected.and_then(|connected| {
            let socket = connected.map_err(|error| match error {
                Errno::CONNREFUSED => "the job of that port has ended, or runs on another machine".to_owned(),
                Errno::ACCESS => "the job of that port is of another user".to_owned(),
                error => format!("the job of that port cannot be reached: {error}"),
            })?;
            self.add_link(socket.into(), Some(job)).map_err(|error| error.to_string())
        });
        match begun {
            Ok(place) => self.say_hello(place),
            Err(why) => self.refuse_wanted(job, &why),
        }
    }

    /// Fails with the reason if this job and another one cannot be connected.
    pub(super) fn check_connectable(&self, job: u64) -> Result<(), String> {
        let known = |world: &SpawnedWorld| world.origin.is_some_and(|origin| origin.job == job);
        if !self.hosts.is_ready() {
            return Err("that job is still starting".into());
        }
        if self.ending || self.connected.listener.is_none() {
            return Err("this job takes no connection with another one".into());
        }
        match self.info().spawned.iter().any(known) {
            true => Err("the connection of both jobs was lost".into()),
            false => Ok(()),
        }
    }

    pub(super) fn say_hello(&mut self, place: u32) {
        let Some(Some(link)) = self.connected.links.get_mut(place as usize) else { return };
        let info = self.job.info();
        let at_start = info.map.runs().map(|(ranks, host)| (host, ranks.len() as u32));
        let at_start = RankSeries { first: 0, hosts: at_start.collect() };
        let own = info.spawned.iter().filter(|world| world.origin.is_none());
        let spawned = own.map(|world| RankSeries::new(world.first, world.hosts.iter().copied()));
        let hello = ToJob::Hello {
            version: VERSION,
            job: info.id,
            settings: self.job.settings().to_vec(),
            ranks: std::iter::once(at_start).chain(spawned).collect(),
            network: JobNetwork { rails: self.hosts.rails(), ..link.drawn.clone() },
        };
        link.push(hello, Vec::new());
    }

    /// Tells ranks that their requests at ports of a job are refused.
    pub(super) fn refuse_wanted(&mut self, job: u64, why: &str) {
        let refused = self.connected.wanted.extract_if(|_, wanted| wanted.port.owner.job == job);
        for (_, WantedConnection { rank, ticket, .. }) in refused.collect::<Vec<_>>() {
            let result = Err(why.to_owned());
            self.job.tell(rank, FromLauncher::Connected { ticket, result });
        }
    }

    /// Removes a link to another job that is lost or closed: the job's ranks are gone.
    pub(super) fn lose_link(&mut self, place: u32) {
        let Some(link) = self.connected.links[place as usize].take() else { return };
        let (job, was_open) = (link.job, link.is_open());
        link.close(&self.events);
        let Some(job) = job else { return };
        if self.connected.link(job).is_some() {
            return;
        }
        if was_open {
            let of_job = |rank: &u32| self.info().process(*rank).job == job;
            for rank in (0..self.info().ranks()).filter(of_job).collect::<Vec<_>>() {
                self.handle_gone_elsewhere(rank, RankEnd::JobLost);
            }
            if let Some(here) = self.hosts.here_mut() {
                here.end_questions_to(job);
            }
            self.connected.ports.forget(|caller| caller.job == Some(job));
            return self.refuse_wanted(job, "the job of that port has ended");
        }
        // The other job may have begun a link at the same time.
        let waiting = self.connected.wanted.values_mut().filter(|wanted| wanted.port.owner.job == job);
        let mut attempts = ATTEMPTS;
        for wanted in waiting {
            wanted.attempts = wanted.attempts.saturating_sub(1);
            (wanted.is_sent, attempts) = (false, attempts.min(wanted.attempts));
        }
        match attempts {
            0 => self.refuse_wanted(job, "the job of that port takes no connection"),
            ATTEMPTS => {}
            _ => self.begin_link(job),
        }
    }

    /// Agrees on the rails of this job's hosts for ranks of another job. `theirs` are the rails of that job's
    /// hosts. Returns none if both jobs are on one host. A job of one host keeps the rails that it has once
    /// agreed on.
    fn agree_on_rails(&mut self, theirs: &[HostRails]) -> Result<Option<Vec<HostRails>>, String> {
        let (hosts, taken) = (self.hosts.rails(), self.connected.rails.clone());
        let here = if hosts.len() < 2 { self.hosts.ports_of_one() } else { Vec::new() };
        let agreed = agree(&OwnRails { hosts, here, taken }, theirs)?;
        if let Some([one]) = agreed.as_deref() {
            self.connected.rails = Some(one.clone());
        }
        Ok(agreed)
    }

    /// Handles the other launcher's Hello: checks that the two jobs can be connected and opens the link.
    pub(super) fn greet(
        &mut self,
        place: u32,
        version: u32,
        (job, settings): (u64, &[(String, String)]),
        (ranks, theirs): (&[RankSeries], &JobNetwork),
    ) -> Option<()> {
        let link = self.connected.links[place as usize].as_mut()?;
        let is_ours = link.is_ours;
        if job == self.job.info().id || is_ours && link.job != Some(job) {
            return None;
        }
        if !is_ours && let Some(other) = self.connected.place(job) {
            let theirs_counts = job < self.info().id;
            let other_link = self.connected.links[other as usize].as_ref()?;
            // Both jobs have begun a link: the one that the job with the smaller number has begun is kept.
            if other_link.is_open() || !theirs_counts {
                return None;
            }
            let other_link = self.connected.links[other as usize].take()?;
            other_link.close(&self.events);
        }
        let mine = self.job.settings();
        let differs = mine.iter().zip(settings).find(|(mine, theirs)| mine != theirs);
        let agreed = match (version, differs) {
            (VERSION, None) => self.check_connectable(job).and_then(|()| self.agree_on_rails(&theirs.rails)),
            (VERSION, Some(((name, mine), (other, theirs)))) => Err(format!(
                "one of the two jobs has {name}={mine}, the other {other}={theirs}: both need the same"
            )),
            _ => Err(format!("one of the two jobs speaks version {version}, the other {VERSION}")),
        };
        let rails = match agreed {
            Ok(rails) => rails,
            Err(why) => {
                self.refuse_wanted(job, &why);
                let link = self.connected.links[place as usize].as_mut()?;
                link.push(ToJob::Refused { why }, Vec::new());
                link.is_closing = true;
                return Some(());
            }
        };
        let ascending = ranks.windows(2).all(|two| two[0].end() <= two[1].first);
        if ranks.is_empty() || ranks.len() > MOST_SERIES || !ascending {
            return None;
        }
        let link = self.connected.links[place as usize].as_mut()?;
        (link.job, link.greeting_until) = (Some(job), None);
        link.network = rails.map(|rails| link.drawn.shared(theirs, rails));
        link.has_agents = !theirs.rails.is_empty();
        if !is_ours {
            self.say_hello(place);
        }
        ranks.iter().try_for_each(|series| self.add_ranks(job, series))?;
        for (rank, how) in self.job.gone() {
            self.connected.link(job)?.push(ToJob::Gone { rank, how }, Vec::new());
        }
        self.connected.send_wanted(job);
        Some(())
    }
}
