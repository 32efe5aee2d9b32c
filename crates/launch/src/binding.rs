//! The choice of processors for each rank of this host.
//!
//! Owns the choice and its report; the claims by which jobs avoid each other's cores are in `claims`. Never
//! binds: each rank's process does that before its program starts.

mod claims;
mod mapping;
mod slots;
#[cfg(test)]
mod tests;
mod unit;

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::RankSet;
use canele_sys::topology::{self, Topology};
use serde::{Deserialize, Serialize};

pub use claims::CoreClaims;
use claims::{Holder, claim, holder};
use mapping::Mapping;
pub use mapping::{BindTo, MapBy};
pub use slots::Slots;
pub use unit::Unit;

/// The longest wait of a start for cores whose names are bound while no process listens at them yet. It is
/// one limit for all cores.
const HOLDERS_TIME: Duration = Duration::from_millis(50);

/// The policy by which ranks are bound to processors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BindPolicy(Policy);

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
enum Policy {
    /// Binds ranks to shares of the cores that no other job has, if there are enough; otherwise not at all.
    #[default]
    Auto,
    /// Does not bind.
    None,
    /// Binds ranks to units of the machine.
    Mapped(Mapping),
    /// Binds each rank to processors of its own.
    Slots(Vec<Slots>),
}

impl BindPolicy {
    /// Combines `--bind` and `--map-by` into one policy.
    ///
    /// # Errors
    /// Fails with a text if they contradict each other.
    pub fn new(to: BindTo, map: Option<MapBy>) -> Result<BindPolicy, String> {
        Ok(BindPolicy(match (Mapping::new(to, map)?, to) {
            (Some(mapping), _) => Policy::Mapped(mapping),
            (None, BindTo::None) => Policy::None,
            (None, _) => Policy::Auto,
        }))
    }

    /// Returns the policy that binds no rank.
    pub fn none() -> BindPolicy {
        BindPolicy(Policy::None)
    }

    /// Returns the policy that binds each rank to processors of its own.
    pub fn slots(slots: Vec<Slots>) -> BindPolicy {
        BindPolicy(Policy::Slots(slots))
    }

    /// Returns the policy for those ranks of the job that a host has.
    pub fn of_ranks(&self, ranks: &RankSet) -> BindPolicy {
        BindPolicy(match &self.0 {
            Policy::Slots(slots) => {
                Policy::Slots(ranks.iter().filter_map(|rank| slots.get(rank as usize)).cloned().collect())
            }
            other => other.clone(),
        })
    }
}

impl BindPolicy {
    /// Returns the least number of processors that a rank is bound to on a host with this topology and
    /// `ranks` ranks. None if the user asks for no binding, or for one that this host cannot give.
    pub fn fewest_processors(&self, topology: &Topology, ranks: u32) -> Option<u32> {
        let sets: Vec<Vec<u32>> = match &self.0 {
            Policy::None | Policy::Auto => return None,
            Policy::Mapped(mapping) => mapping.sets(topology, ranks).ok()?,
            Policy::Slots(slots) => {
                slots.iter().map(|slots| slots.processors(topology)).collect::<Result<_, _>>().ok()?
            }
        };
        fewest(&sets)
    }
}

/// Returns the size of the smallest of these sets.
fn fewest(sets: &[Vec<u32>]) -> Option<u32> {
    sets.iter().map(|set| set.len() as u32).min()
}

/// Returns the number of units of a kind on this machine.
///
/// # Errors
/// Fails if the kernel does not tell the processors.
pub fn count_units(unit: Unit) -> std::io::Result<u32> {
    Ok(unit.all(&Topology::discover()?).len() as u32)
}

/// The processors of each rank of a host, by its number there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// A set for each rank; with more ranks than sets the sets repeat. Without sets, ranks are not bound.
    sets: Vec<Vec<u32>>,
    /// True if the user has not asked for the binding, so it ends if the processors turn out to be shared.
    is_tentative: bool,
}

/// The binding that was chosen for the ranks of a host.
#[derive(Debug, Default)]
pub struct ChosenBinding {
    /// The processors of each rank.
    pub binding: Binding,
    /// The claims to the ranks' cores.
    pub claims: CoreClaims,
    /// A remark about it for the user.
    pub remark: Option<String>,
}

impl Binding {
    /// Chooses the processors of `ranks` ranks on this host and claims their cores.
    ///
    /// # Errors
    /// Fails with a text if a binding was asked for and the kernel does not tell the processors, or there are
    /// too few.
    pub fn choose(policy: &BindPolicy, ranks: u32) -> Result<ChosenBinding, String> {
        let topology =
            || Topology::discover().map_err(|error| format!("the processors of this host: {error}"));
        match &policy.0 {
            Policy::None => Ok(Default::default()),
            // A control group with a CPU quota shares its processors with others. A single rank needs no
            // share.
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

    /// Returns the least number of processors that a rank is bound to; none if ranks are not bound.
    pub fn fewest_processors(&self) -> Option<u32> {
        fewest(&self.sets)
    }

    /// Returns true if ranks are released from the binding when they share their processors.
    pub fn is_tentative(&self) -> bool {
        self.is_tentative
    }

    /// Returns the processors of the rank with number `local_rank` on this host; `None`: all.
    pub fn of(&self, local_rank: u32) -> Option<&[u32]> {
        let count = self.sets.len();
        (count > 0).then(|| &*self.sets[local_rank as usize % count])
    }
}

/// A list of processors, displayed as the kernel writes it: `0-3,8`.
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

/// Reports on a rank's standard error where it will run.
pub fn report_binding(error: &OwnedFd, rank: u32, processors: Option<&[u32]>) {
    let to = processors.map(|all| format!("bound to processors {}", ProcessorList(all)));
    let text = to.unwrap_or("not bound to processors".into());
    // One write keeps the line whole among other ranks' lines. A failed report keeps no rank from starting.
    let _ = rustix::io::write(error, format!("canele: rank {rank} is {text}\n").as_bytes());
}

/// Returns shares of the cores that no other job has. If another user holds the missing cores, ranks are
/// bound to them all the same: a claim that any user can make keeps no job unbound.
fn shared(topology: &Topology, ranks: u32) -> ChosenBinding {
    let own = rustix::process::getuid().as_raw();
    let cores = Unit::Core.all(topology).into_iter().map(|ids| (core_of(topology, ids[0]), ids));
    let (mut free, mut held) = (Vec::new(), Vec::new());
    for (core, ids) in cores {
        match claim(core) {
            Some(socket) => free.push((core, ids, Some(socket))),
            None => held.push((core, ids)),
        }
    }
    let mut remark = None;
    if free.len() < ranks as usize {
        let missing = ranks as usize - free.len();
        // The time limit is common to all cores: names at which no process listens must not delay every
        // start.
        let until = Instant::now() + HOLDERS_TIME;
        let by = held.iter().map(|(core, _)| holder(*core, own, until));
        let others = held.iter().zip(by).filter_map(|((core, ids), by)| match by {
            None => Some((*core, ids.clone(), claim(*core), None)),
            Some(Holder::ThisUser) => None,
            Some(by) => Some((*core, ids.clone(), None, Some(by))),
        });
        let others: Vec<_> = others.take(missing).collect();
        if others.len() == missing {
            remark = shared_cores(others.iter().filter_map(|(core, _, _, by)| Some((*core, (*by)?))));
            free.extend(others.into_iter().map(|(core, ids, socket, _)| (core, ids, socket)));
            free.sort_by_key(|(core, ..)| *core);
        }
    }
    let each = free.len() / ranks as usize;
    free.truncate(each * ranks as usize);
    let sets = shares(&free.iter().map(|(_, ids, _)| ids.clone()).collect::<Vec<_>>(), ranks as usize);
    if sets.is_empty() {
        // Without a binding the claims are dropped.
        return ChosenBinding::default();
    }
    let sockets = free.into_iter().filter_map(|(.., socket)| socket).collect();
    ChosenBinding { binding: Binding { sets, is_tentative: true }, claims: CoreClaims { sockets }, remark }
}

/// Returns the remark about cores that ranks are bound to although another user holds them.
fn shared_cores(held: impl Iterator<Item = (u32, Holder)>) -> Option<String> {
    let held: Vec<_> = held.collect();
    let cores: Vec<u32> = held.iter().map(|(core, _)| *core).collect();
    let mut holders: Vec<String> = held.iter().map(|(_, by)| by.to_string()).collect();
    holders.sort_unstable();
    holders.dedup();
    let (first, more) = (holders.first()?, holders.len() - 1);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let plural = if cores.len() == 1 { "" } else { "s" };
    Some(format!(
        "core{plural} {} of this host {} claimed by {first}{more}; ranks are bound there all the same, and may share them (`--bind none` \
         leaves ranks unbound)",
        ProcessorList(&cores),
        if cores.len() == 1 { "is" } else { "are" },
    ))
}

/// Returns these sets, with claims to those of their cores that no other job has.
fn claimed(topology: &Topology, sets: Vec<Vec<u32>>) -> ChosenBinding {
    let mut cores: Vec<u32> = sets.iter().flatten().map(|id| core_of(topology, *id)).collect();
    cores.sort_unstable();
    cores.dedup();
    let sockets = cores.into_iter().filter_map(claim).collect();
    let binding = Binding { sets, is_tentative: false };
    ChosenBinding { binding, claims: CoreClaims { sockets }, remark: None }
}

/// Returns the core of a processor.
fn core_of(topology: &Topology, id: u32) -> u32 {
    topology.processors().iter().find(|processor| processor.id == id).map_or(id, |processor| processor.core)
}

/// Returns equal shares of whole cores, as many as ranks; none if there are fewer cores than ranks.
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
