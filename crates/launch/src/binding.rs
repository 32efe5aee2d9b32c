//! Which processors each rank of this host runs on.
//!
//! Owns the choice, and the claims by which the jobs of a machine keep off each other's cores: a socket with an abstract name for
//! each core, which the kernel frees when the launcher or agent that holds it ends. Jobs in different network namespaces do
//! not see each other's claims. Never binds: that is done in each rank's process before its program starts.

mod mapping;
mod slots;
#[cfg(test)]
mod tests;
mod unit;

use std::fmt;
use std::os::fd::OwnedFd;

use canele_control::RankSet;
use canele_sys::topology::{self, Topology};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use serde::{Deserialize, Serialize};

use mapping::Mapping;
pub use mapping::{BindTo, MapBy};
pub use slots::Slots;
pub use unit::Unit;

/// How ranks are to be bound to processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindPolicy(Policy);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Policy {
    /// To shares of the cores that no other job has, where there are enough; otherwise not at all.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// To units of the machine.
    Mapped(Mapping),
    /// Each rank to processors of its own.
    Slots(Vec<Slots>),
}

impl BindPolicy {
    /// What `--bind` and `--map-by` ask for together.
    ///
    /// # Errors
    /// A text: they do not go together.
    pub fn new(to: BindTo, map: Option<MapBy>) -> Result<BindPolicy, String> {
        Ok(BindPolicy(match (Mapping::new(to, map)?, to) {
            (Some(mapping), _) => Policy::Mapped(mapping),
            (None, BindTo::None) => Policy::None,
            (None, _) => Policy::Auto,
        }))
    }

    /// Ranks stay as they are.
    pub fn none() -> BindPolicy {
        BindPolicy(Policy::None)
    }

    /// Each rank to processors of its own.
    pub fn slots(slots: Vec<Slots>) -> BindPolicy {
        BindPolicy(Policy::Slots(slots))
    }

    /// The policy for those ranks of the job that a host has.
    pub fn of_ranks(&self, ranks: &RankSet) -> BindPolicy {
        BindPolicy(match &self.0 {
            Policy::Slots(slots) => {
                Policy::Slots(ranks.iter().filter_map(|rank| slots.get(rank as usize)).cloned().collect())
            }
            other => other.clone(),
        })
    }
}

/// How many units of a kind this machine has.
///
/// # Errors
/// If the kernel does not tell which processors there are.
pub fn count_units(unit: Unit) -> std::io::Result<u32> {
    Ok(unit.all(&Topology::discover()?).len() as u32)
}

/// The processors of each rank of a host, by its number there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// A set for each rank, gone round with more ranks than sets; without sets, ranks are not bound.
    sets: Vec<Vec<u32>>,
}

/// The right of a job to its cores, as long as it lives.
#[derive(Debug, Default)]
pub struct CoreClaims {
    _sockets: Vec<OwnedFd>,
}

impl Binding {
    /// Chooses the processors of `ranks` ranks on this host and claims their cores.
    ///
    /// # Errors
    /// A text: a binding was asked for, and the kernel does not tell which processors there are, or there are fewer.
    pub fn choose(policy: &BindPolicy, ranks: u32) -> Result<(Binding, CoreClaims), String> {
        let topology =
            || Topology::discover().map_err(|error| format!("the processors of this host: {error}"));
        match &policy.0 {
            Policy::None => Ok(Default::default()),
            // A group whose time is limited shares its processors with others; and a rank alone needs no share.
            Policy::Auto if ranks < 2 || topology::quota().is_some() => Ok(Default::default()),
            Policy::Auto => {
                Ok(topology().map_or_else(|_| Default::default(), |topology| shared(&topology, ranks)))
            }
            Policy::Mapped(mapping) => {
                let topology = topology()?;
                Ok(claimed(&topology, mapping.sets(&topology, ranks)?))
            }
            Policy::Slots(slots) => {
                let topology = topology()?;
                let sets: Result<Vec<_>, _> = slots.iter().map(|slots| slots.processors(&topology)).collect();
                Ok(claimed(&topology, sets?))
            }
        }
    }

    /// The processors of the rank that is number `local_rank` on this host; `None`: all.
    pub fn of(&self, local_rank: u32) -> Option<&[u32]> {
        let count = self.sets.len();
        (count > 0).then(|| &*self.sets[local_rank as usize % count])
    }
}

/// As a list of numbers and ranges of them, as the kernel writes it: `0-3,8`.
pub struct ProcessorList<'a>(pub &'a [u32]);

impl fmt::Display for ProcessorList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((&first, _)) = rest.split_first() {
            let run = (0..).zip(rest).take_while(|&(at, &id)| id == first + at).count();
            if rest.len() < self.0.len() {
                f.write_str(",")?;
            }
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", rest[run - 1])?,
            }
            rest = &rest[run..];
        }
        Ok(())
    }
}

/// Shares of the cores that no other job has.
fn shared(topology: &Topology, ranks: u32) -> (Binding, CoreClaims) {
    let cores = Unit::Core.all(topology).into_iter();
    let free = cores.filter_map(|ids| Some((claim(core_of(topology, ids[0]))?, ids)));
    let (mut claims, free): (Vec<_>, Vec<_>) = free.unzip();
    let sets = shares(&free, ranks as usize);
    claims.truncate(free.len() / ranks as usize * ranks as usize);
    // Without a binding the claims are dropped.
    if sets.is_empty() { Default::default() } else { (Binding { sets }, CoreClaims { _sockets: claims }) }
}

/// These sets, with claims to their cores as far as no other job has them.
fn claimed(topology: &Topology, sets: Vec<Vec<u32>>) -> (Binding, CoreClaims) {
    let mut cores: Vec<u32> = sets.iter().flatten().map(|id| core_of(topology, *id)).collect();
    cores.sort_unstable();
    cores.dedup();
    let claims = cores.into_iter().filter_map(claim).collect();
    (Binding { sets }, CoreClaims { _sockets: claims })
}

/// The core of a processor.
fn core_of(topology: &Topology, id: u32) -> u32 {
    topology.processors().iter().find(|processor| processor.id == id).map_or(id, |processor| processor.core)
}

/// Equal shares of whole cores, as many as ranks; none if there are fewer cores than ranks.
fn shares(cores: &[Vec<u32>], ranks: usize) -> Vec<Vec<u32>> {
    let each = cores.len() / ranks;
    if each == 0 {
        return Vec::new();
    }
    let sorted = |share: &[Vec<u32>]| {
        let mut share = share.concat();
        share.sort_unstable();
        share
    };
    cores.chunks_exact(each).take(ranks).map(sorted).collect()
}

/// The claim to a core; nothing if another job has it.
fn claim(core: u32) -> Option<OwnedFd> {
    let address = SocketAddrUnix::new_abstract_name(format!("canele-core-{core}").as_bytes()).ok()?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    bind(&socket, &address).ok()?;
    Some(socket)
}
