//! The job as its launcher describes it to every rank. Owns the description; decides nothing.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;

use canele_profile::Profile;
use canele_sys::{sealed, topology};
use postcard::ser_flavors::Size;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::RankPlace;
use crate::messages::OnFailure;
use crate::network::JobNetwork;
use crate::rank_map::{RankMap, RankSet};

/// The job as its launcher describes it; equal on all ranks but for `processors`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobInfo {
    /// A random number by which jobs recognise each other. It is 0 for a job without a launcher, which no
    /// other job knows.
    pub id: u64,
    /// Process id of the launcher, which also names the job for `canele info --job`.
    pub launcher: u32,
    /// The number of ranks at the start of the job.
    pub size: u32,
    /// The hosts. A job on one machine has one host.
    pub hosts: Vec<Host>,
    /// The host of each rank at the start.
    pub map: RankMap,
    /// The worlds that were added later, in the order of their ranks: spawned ones, and ranks of other jobs.
    pub spawned: Vec<SpawnedWorld>,
    /// The number of processes that the job may have in all (`MPI_UNIVERSE_SIZE`); 0 if it is not known.
    pub universe: u32,
    /// Processors that the ranks of this host can use at the same time.
    pub processors: u32,
    /// The number of lanes of a rank that gets one for each processor. It is equal on all ranks: each host
    /// assumes as many processors as the launcher's host has.
    pub lanes: u8,
    /// The effect of a failure on the other ranks.
    pub on_failure: OnFailure,
    /// The secrets and ports by which ranks of several hosts trust and find each other; `None` on one host.
    pub network: Option<JobNetwork>,
    /// The costs of the machine and its networks, as the launcher has read them. All ranks use them to choose
    /// protocols and algorithms.
    pub profile: Profile,
    /// True if another launcher has started the ranks. They end together, because that launcher may clean up
    /// a host once its ranks have ended.
    pub joined: bool,
}

/// Ranks that were added to a running job together. Spawned ranks have an `MPI_COMM_WORLD` of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnedWorld {
    /// The first of its ranks, which have consecutive numbers.
    pub first: u32,
    /// The host of each rank, by the host's index.
    pub hosts: Vec<u32>,
    /// The ranks that spawned it together, in the order of their communicator; empty for ranks of another
    /// job.
    pub parents: Vec<u32>,
    /// For ranks of a connected job: the first of them as that job numbers it.
    pub origin: Option<JobRank>,
    /// For ranks of another job that are reached over sockets: the key that both jobs share, and the rails of
    /// this job's hosts. Their hosts are numbered after those of this job, even if they are the same.
    pub network: Option<JobNetwork>,
}

/// A rank, by a name that means the same in every job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobRank {
    /// The job that has started it.
    pub job: u64,
    /// The rank's number there.
    pub rank: u32,
}

/// Draws the number of a new job, which no other job has.
///
/// # Errors
/// Fails as getrandom(2) does.
pub fn draw_job_id() -> rustix::io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes).max(1))
}

impl SpawnedWorld {
    /// Returns the ranks of this world.
    pub fn ranks(&self) -> Range<u32> {
        self.first..self.first.saturating_add(self.hosts.len() as u32)
    }
}

/// One host of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// The name from the command line; for a job started without one, this machine's name.
    pub name: String,
    /// The number of its ranks at the start of the job; 0 if ranks may only be spawned there.
    pub ranks: u32,
}

impl Host {
    /// Returns this machine, with `ranks` ranks.
    pub fn this(ranks: u32) -> Host {
        Host { name: rustix::system::uname().nodename().to_string_lossy().into_owned(), ranks }
    }
}

/// The longest description of a job in bytes, far above that of a million hosts with one rank each.
const MAX_JOB: u64 = 1 << 30;

impl JobInfo {
    /// Returns a job whose ranks are placed on these hosts in blocks. It has no launcher, no network, and no
    /// number for other jobs. A failure ends it, its ranks can use the processors of this host, and it has
    /// this machine's built-in profile.
    pub fn new(hosts: Vec<Host>) -> JobInfo {
        let map = RankMap::in_blocks(hosts.iter().map(|host| host.ranks));
        JobInfo {
            id: 0,
            launcher: 0,
            size: map.ranks(),
            hosts,
            map,
            spawned: Vec::new(),
            universe: 0,
            processors: topology::usable(),
            lanes: 1,
            on_failure: OnFailure::Stop,
            network: None,
            profile: Profile::built_in(),
            joined: false,
        }
    }

    /// Writes this description to a sealed file without a name, which any number of ranks may read: a job of
    /// many hosts is too long for a message.
    ///
    /// # Errors
    /// Fails as memfd_create(2) and write(2) do.
    pub fn write(&self) -> io::Result<OwnedFd> {
        let length = postcard::serialize_with_flavor(self, Size::default()).map_err(io::Error::other)?;
        // The vector has its full length from the start: a vector that grew would leave copies of the key
        // behind.
        let mut bytes = Zeroizing::new(vec![0; length]);
        postcard::to_slice(self, &mut bytes).map_err(io::Error::other)?;
        sealed::write("canele-job", &bytes)
    }

    /// Reads a description that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// Fails as read(2) does; with `InvalidData` if it is no description, or another process could change it.
    pub fn read(descriptor: OwnedFd) -> io::Result<JobInfo> {
        let bytes = Zeroizing::new(sealed::read(descriptor, MAX_JOB)?);
        postcard::from_bytes(&bytes).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("an undecodable job: {error}"))
        })
    }

    /// Compares this description with the place that the environment gives a rank of the job.
    ///
    /// # Errors
    /// Fails with a text that names the difference, or says why there cannot be such a job.
    pub fn check(&self, place: RankPlace) -> Result<(), String> {
        let ranks: u64 = self.hosts.iter().map(|host| u64::from(host.ranks)).sum();
        if ranks != u64::from(self.size) || self.size == 0 {
            return Err(format!(
                "its {} hosts have {ranks} ranks, and the job has {}",
                self.hosts.len(),
                self.size
            ));
        }
        if self.map.ranks() != self.size || !self.map.is_sound(self.hosts.iter().map(|host| host.ranks)) {
            return Err("its ranks are not where its hosts have them".into());
        }
        let described = self.network.as_ref().map_or(1, |network| network.rails.len());
        if described != self.hosts.len() {
            return Err(format!(
                "it describes the network of {described} hosts, and the job has {}",
                self.hosts.len()
            ));
        }
        self.profile.check().map_err(|wrong| format!("its profile is wrong: {wrong}"))?;
        let mut next = self.size;
        for world in &self.spawned {
            let own = world.network.is_none();
            let unknown = world.hosts.iter().any(|host| ((*host as usize) < self.hosts.len()) != own);
            let last = |origin: JobRank| origin.rank.checked_add(world.hosts.len() as u32);
            let endless = world.origin.is_some_and(|origin| last(origin).is_none());
            if world.first != next || world.hosts.is_empty() || unknown || endless {
                return Err(format!("it has a spawned world {world:?}, and the next rank is {next}"));
            }
            next = world.ranks().end;
        }
        if place.rank >= self.ranks() {
            return Err(format!("the environment says {place}, and the job has {} ranks", self.ranks()));
        }
        let (host, first_world) = (self.host_of(place.rank), place.rank < self.size);
        let before = self.ranks_on(host).take_while(|rank| *rank < place.rank).count() as u32;
        // A spawned rank knows the number of ranks at its own start; others may have been added since.
        let there = RankPlace {
            rank: place.rank,
            size: if first_world { self.size } else { place.size.clamp(place.rank + 1, self.ranks()) },
            local_rank: before,
            local_size: match first_world {
                true => self.hosts[host].ranks,
                false => place.local_size.clamp(before + 1, self.ranks_on(host).count() as u32),
            },
        };
        if place != there {
            return Err(format!("the environment says {place}, and the description {there}"));
        }
        Ok(())
    }

    /// Returns the number of ranks that the job has so far, spawned ones included.
    pub fn ranks(&self) -> u32 {
        self.spawned.last().map_or(self.size, |world| world.ranks().end)
    }

    /// Returns the ranks that share the `MPI_COMM_WORLD` of `rank`.
    pub fn world_of(&self, rank: u32) -> Range<u32> {
        let spawned = self.spawned.iter().map(SpawnedWorld::ranks).find(|ranks| ranks.contains(&rank));
        spawned.unwrap_or(0..self.size)
    }

    /// Returns the name of a rank that means the same in every job.
    pub fn process(&self, rank: u32) -> JobRank {
        let origin = self.spawned_with(rank).and_then(|world| Some((world.first, world.origin?)));
        match origin {
            Some((first, origin)) => JobRank { job: origin.job, rank: origin.rank + (rank - first) },
            None => JobRank { job: self.id, rank },
        }
    }

    /// Returns the number of a rank in this job, if it is known here.
    pub fn rank_of(&self, process: JobRank) -> Option<u32> {
        if process.job == self.id {
            return (process.rank < self.ranks() && self.is_own(process.rank)).then_some(process.rank);
        }
        self.spawned.iter().find_map(|world| {
            let origin = world.origin.filter(|origin| origin.job == process.job)?;
            let place = process.rank.checked_sub(origin.rank)?;
            ((place as usize) < world.hosts.len()).then_some(world.first + place)
        })
    }

    /// Returns true if this job has started the rank.
    pub fn is_own(&self, rank: u32) -> bool {
        rank < self.size || self.spawned_with(rank).is_none_or(|world| world.origin.is_none())
    }

    /// Returns true if ranks of other jobs are known here.
    pub fn is_connected(&self) -> bool {
        self.spawned.iter().any(|world| world.origin.is_some())
    }

    /// Returns the world of a rank that was added to the running job.
    pub fn spawned_with(&self, rank: u32) -> Option<&SpawnedWorld> {
        self.spawned.iter().find(|world| world.ranks().contains(&rank))
    }

    /// Returns true for a rank of another job that is reached over sockets, on any host.
    pub fn is_behind_sockets(&self, rank: u32) -> bool {
        self.spawned_with(rank).is_some_and(|world| world.network.is_some())
    }

    /// Returns the name of a rank's host, as far as it is known here.
    pub fn host_name(&self, rank: u32) -> &str {
        self.hosts.get(self.host_of(rank)).map_or("of another job", |host| &host.name)
    }

    /// Returns the index of the host that `rank` runs on; for a rank that does not exist, that of the last
    /// rank at the start.
    pub fn host_of(&self, rank: u32) -> usize {
        if rank >= self.size
            && let Some(world) = self.spawned.iter().find(|world| world.ranks().contains(&rank))
        {
            return world.hosts[(rank - world.first) as usize] as usize;
        }
        self.map.host_of(rank).unwrap_or_default() as usize
    }

    /// Returns all ranks of a host so far, by its index, in their order.
    pub fn ranks_on(&self, host: usize) -> impl Iterator<Item = u32> {
        let of_world = move |world: &SpawnedWorld| {
            let first = world.first;
            let on = world.hosts.iter().enumerate().filter(move |(_, on)| **on as usize == host);
            on.map(move |(place, _)| first + place as u32).collect::<Vec<_>>()
        };
        let at_start = self.ranks_of(host).iter().collect::<Vec<_>>();
        at_start.into_iter().chain(self.spawned.iter().flat_map(of_world))
    }

    /// Returns true if the ranks of the host at `place` outnumber the processors that they can use. All ranks
    /// of a host get the same result, however each is bound.
    pub fn is_oversubscribed(&self, place: RankPlace) -> bool {
        place.local_size > self.processors
    }

    /// Returns the ranks of a host at the start of the job, by its index; none for a host that does not
    /// exist.
    pub fn ranks_of(&self, host: usize) -> RankSet {
        self.map.ranks_of(host as u32)
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
