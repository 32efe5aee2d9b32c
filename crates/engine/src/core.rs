//! The state that the lock of an engine protects: the parts of the engine, each of which owns its own state.

use std::sync::Arc;
use std::time::Instant;

use canele_collective::{Algorithm, CollectiveCosts, Hosts, Team};
use canele_control::{Control, ControlError, Host, JobInfo, ToLauncher};
use canele_profile::Profile;
use canele_proto::{Proto, Settings, choice};
use canele_rail::{Member, Set};
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;
use canele_trace::Tracer;

use crate::Error;
use crate::collective::Collectives;
use crate::connect::connections::Connections;
use crate::connect::other_jobs::{add_others, own_addresses};
use crate::lane::Lane;
use crate::lanes::unexpected_bytes_of_lane;
use crate::membership::{Launcher, Membership};
use crate::rma::Rma;
use crate::stats::Stats;
use crate::survivors::Survivors;
use crate::traced::MessageRecorder;

/// The state of one rank's engine. A part that needs the rails or the protocols gets the lane as an argument.
pub(crate) struct Core {
    pub lane: Lane,
    pub connections: Connections,
    pub membership: Membership,
    pub rma: Rma,
    pub collectives: Collectives,
    pub survivors: Survivors,
    pub stats: Stats,
    /// The recorder of events, if this rank is traced.
    pub tracer: Option<Arc<Tracer>>,
}

impl Core {
    /// Opens the rails of the lane of this number and informs the launcher of them. `traced_as` is the
    /// recorder of another lane, if there is one.
    pub fn open(
        number: u8,
        tunables: &Tunables,
        control: Option<Control>,
        traced_as: Option<&Tracer>,
    ) -> Result<Self, Error> {
        let mut launcher = Launcher::new(control);
        let place = launcher.place();
        let job = launcher.introduce()?.unwrap_or_else(job_alone);
        let me = Rank(place.rank);
        let host = job.host_of(place.rank);
        // Ranks that are spawned later must agree with those at the start. By now there may be more or fewer
        // ranks than processors.
        let here = job.ranks_of(host);
        let (crowded_at_start, alone) = (here.len() > job.processors, job.hosts.len() == 1);
        let shares_memory_only = alone && job.spawned.iter().all(|world| world.network.is_none());
        let mut rails = Set::open(
            me,
            here.iter(),
            (crowded_at_start, shares_memory_only),
            (tunables, &job.profile.host),
        )?;
        rails.add_ranks(job.ranks(), job.ranks_on(host).skip_while(|rank| *rank < job.size).map(Rank));
        launcher.send_with(
            &ToLauncher::Inbox { settings: shared_settings(tunables, &job.profile) },
            &rails.inbox(),
        )?;
        if let Some(network) = &job.network {
            let member = Member { me, ranks: job.ranks(), job: network.job, key: *network.key };
            let ports = network.rails.get(host);
            rails.open_networks(member, ports.map_or(&[][..], Vec::as_slice))?;
        }
        for world in &job.spawned {
            add_others(&mut rails, me, &job, world)?;
        }
        if job.network.is_some() || rails.has_networks() {
            launcher.send(&ToLauncher::Addresses { rails: own_addresses(&rails) })?;
        }
        // Hosts may differ in processors, of which each knows its own: a job on several hosts never counts as
        // oversubscribed.
        let oversubscribed_everywhere = alone && crowded_at_start;
        let oversubscribed = crowded_at_start || job.is_oversubscribed(place);
        let mut lane =
            Lane::new(number, rails, open_proto(number, me, &job, tunables), tunables, oversubscribed);
        let mut tracer = traced_as.map(|of_other| Arc::new(of_other.of_lane(number)));
        if number == 0 && tunables.trace_bytes > 0 && launcher.is_present() {
            let created = Tracer::create(tunables.trace_bytes)?;
            launcher.send_with(&ToLauncher::Trace, &[created.fd()])?;
            tracer = Some(Arc::new(created));
        }
        if let Some(tracer) = &tracer {
            lane.proto.observe_messages(MessageRecorder(tracer.clone()));
        }
        let costs = collective_costs(&job);
        Ok(Self {
            stats: Stats::new(lane.rails.stats_page()),
            lane,
            connections: Connections::new(Instant::now()),
            membership: Membership::new(launcher, job),
            rma: Rma::default(),
            collectives: Collectives::new(
                oversubscribed_everywhere,
                costs,
                Algorithm::named(tunables.collective),
            ),
            survivors: Survivors::new(Rank(place.rank)),
            tracer,
        })
    }

    /// Fails if no call can be made any more.
    #[inline(always)]
    pub fn check(&self) -> Result<(), Error> {
        let over = self.lane.is_closed || self.membership.launcher.is_lost;
        if over { Err(self.why_over()) } else { Ok(()) }
    }

    /// Adopts the launcher that was started for this rank, with the job that it describes: its profile counts
    /// before there are peers.
    pub fn adopt_launcher(&mut self, launcher: Launcher, job: JobInfo, tunables: &Tunables) {
        self.lane.proto.set_host_profile(&job.profile.host, eager_bytes(&job, tunables));
        self.collectives.set_costs(collective_costs(&job));
        (self.membership.launcher, self.membership.job) = (launcher, job);
    }

    /// Fails if the job has no such rank so far.
    pub fn check_rank(&self, rank: Rank) -> Result<(), Error> {
        let size = self.membership.job.ranks();
        if rank.0 < size { Ok(()) } else { Err(Error::NoSuchRank { rank, size }) }
    }

    /// Returns the hosts of a team's members, or else of all ranks, if there are several.
    pub fn hosts_of_members(&self, team: Option<&Team>) -> Option<Hosts> {
        let job = &self.membership.job;
        if job.hosts.len() < 2 {
            return None;
        }
        let host = |rank: u32| job.host_of(rank) as u32;
        match team {
            Some(team) => Hosts::new(team.members().iter().map(|rank| host(rank.0))),
            None => Hosts::new((0..self.lane.proto.ranks() as u32).map(host)),
        }
    }

    /// Returns true if the members of a team, or else all ranks, are on one host.
    pub fn are_on_one_host(&self, team: Option<&Team>) -> bool {
        let job = &self.membership.job;
        let Some(team) = team.filter(|_| job.hosts.len() > 1) else { return job.hosts.len() < 2 };
        team.members().windows(2).all(|pair| job.host_of(pair[0].0) == job.host_of(pair[1].0))
    }

    /// Fails if the job has no such source so far.
    pub fn check_source(&self, want: canele_proto::matching::Want) -> Result<(), Error> {
        want.source.map_or(Ok(()), |source| self.check_rank(source))
    }

    #[cold]
    #[inline(never)]
    fn why_over(&self) -> Error {
        match self.lane.is_closed {
            true => Error::Finished,
            false => Error::Control(ControlError::LauncherGone),
        }
    }
}

/// Returns the costs of the members of a collective, among all and inside one host.
fn collective_costs(job: &JobInfo) -> (CollectiveCosts, CollectiveCosts) {
    let alone = job.hosts.len() == 1;
    // No rank knows the processors of all hosts.
    let processors = if alone { job.processors as usize } else { 1 };
    let inside = CollectiveCosts::of(&job.profile.host, processors);
    let all = if alone { inside } else { CollectiveCosts::between(job.profile.networks.first()) };
    (all, inside)
}

/// Returns the length up to which a message to a rank of this host goes unannounced, in bytes.
fn eager_bytes(job: &JobInfo, tunables: &Tunables) -> usize {
    choice::eager_bytes(tunables.eager_bytes, &job.profile.host)
}

/// Makes the protocols of a lane of the rank `me`.
pub(crate) fn open_proto(number: u8, me: Rank, job: &JobInfo, tunables: &Tunables) -> Proto {
    let settings = Settings {
        eager_bytes: eager_bytes(job, tunables),
        piece_bytes: tunables.piece_bytes,
        unexpected_bytes: unexpected_bytes_of_lane(number, job, tunables),
    };
    let mut proto = if me.0 < job.size {
        let mut proto = Proto::new(me, job.size as usize, settings);
        proto.add_ranks(job.ranks() as usize);
        proto
    } else {
        Proto::added(me, job.ranks() as usize, settings)
    };
    proto.set_host_profile(&job.profile.host, settings.eager_bytes);
    proto.set_strategy(canele_proto::strategy::named(tunables.strategy).expect("an allowed name"));
    proto
}

/// Returns the settings and the profile that all ranks must share, by which they choose algorithms. Connected
/// jobs compare them.
pub(crate) fn shared_settings(tunables: &Tunables, profile: &Profile) -> Vec<(String, String)> {
    // All must share the value in force, estimated or set.
    let eager_bytes = choice::eager_bytes(tunables.eager_bytes, &profile.host);
    let mut settings = Tunables { eager_bytes, ..tunables.clone() }.shared();
    settings.push(("profile".into(), format!("{:016x}", profile.fingerprint())));
    settings
}

/// Makes a job of one rank, without a launcher, with the built-in profile: it has no peers yet.
pub(crate) fn job_alone() -> JobInfo {
    JobInfo::new(vec![Host::this(1)])
}

#[cfg(test)]
mod tests {
    use canele_profile::HostProfile;

    use super::*;

    #[test]
    fn ranks_with_profiles_that_differ_in_one_figure_tell_the_launcher_so() {
        let profile = Profile::built_in();
        let mut slower = profile.clone();
        slower.host.line_ns.socket += 1;
        let settings = |profile: &Profile| shared_settings(&Tunables::default(), profile);
        assert_eq!(settings(&profile), settings(&profile.clone()));
        let (one, other) = (settings(&profile), settings(&slower));
        let differs: Vec<_> = one.iter().zip(&other).filter(|(one, other)| one != other).collect();
        assert_eq!(differs.len(), 1, "{differs:?}");
        assert_eq!(differs[0].0.0, "profile");
        assert_eq!(one.len(), Tunables::default().shared().len() + 1);
    }

    #[test]
    fn a_rank_alone_takes_the_profile_of_the_launcher_that_comes_later() {
        let tunables = Tunables::default();
        let mut core = Core::open(0, &tunables, None, None).expect("memory for an inbox");
        // The profile of another machine than the one that runs this test.
        let hosts = [HostProfile::SHARED_CACHES, HostProfile::OWN_CACHES];
        let host = hosts.into_iter().find(|host| *host != Profile::built_in().host).expect("one of two");
        let profile = Profile { host, ..Profile::built_in() };
        let job = JobInfo { profile: profile.clone(), ..job_alone() };
        let (eager_before, costs_before) = (core.lane.proto.eager_bytes(), core.collectives.costs());
        let costs = collective_costs(&job);
        core.adopt_launcher(Launcher::new(None), job, &tunables);
        assert_eq!(*core.lane.proto.host_profile(), profile.host);
        let expected = choice::eager_bytes(tunables.eager_bytes, &profile.host);
        assert_eq!(core.lane.proto.eager_bytes(), expected);
        assert_eq!(core.collectives.costs(), costs);
        assert!(expected != eager_before && costs != costs_before, "the profiles differ in what counts");
        assert_eq!(
            shared_settings(&tunables, &core.membership.job.profile),
            shared_settings(&tunables, &profile)
        );
    }
}
