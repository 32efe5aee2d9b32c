//! Which processors each rank of this host runs on.
//!
//! Owns the choice, and the claims by which the jobs of a machine keep off each other's cores: a socket with an abstract name for
//! each core, which the kernel frees when the launcher or agent that holds it ends. Jobs in different network namespaces do
//! not see each other's claims. Never binds: that is done in each rank's process before its program starts.

use std::collections::BTreeMap;
use std::fmt;
use std::os::fd::OwnedFd;

use canele_sys::topology::{self, Processor, Topology};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};
use serde::{Deserialize, Serialize};

/// How ranks are to be bound to processors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BindPolicy {
    /// To shares of the cores that no other job has, where there are enough; otherwise not at all.
    #[default]
    Auto,
    /// To a processor each, in turn.
    Core,
    /// Not at all.
    None,
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
    /// A text: a binding was asked for, and the kernel does not tell which processors there are.
    pub fn choose(policy: BindPolicy, ranks: u32) -> Result<(Binding, CoreClaims), String> {
        // A group whose time is limited shares its processors with others; and a rank alone needs no share.
        let unbound = match policy {
            BindPolicy::None => true,
            BindPolicy::Auto => ranks < 2 || topology::quota().is_some(),
            BindPolicy::Core => false,
        };
        if unbound {
            return Ok(Default::default());
        }
        let topology = match Topology::discover() {
            Ok(topology) => topology,
            Err(_) if policy == BindPolicy::Auto => return Ok(Default::default()),
            Err(error) => return Err(format!("--bind core: {error}")),
        };
        if policy == BindPolicy::Core {
            let claims = cores(&topology).keys().filter_map(|core| claim(*core)).collect();
            let sets = topology.processors().iter().map(|processor| vec![processor.id]).collect();
            return Ok((Binding { sets }, CoreClaims { _sockets: claims }));
        }
        let free = cores(&topology).into_iter().filter_map(|(core, ids)| Some((claim(core)?, ids)));
        let (mut claims, free): (Vec<_>, Vec<_>) = free.unzip();
        let sets = shares(&free, ranks as usize);
        claims.truncate(free.len() / ranks as usize * ranks as usize);
        // Without a binding the claims are dropped.
        Ok(if sets.is_empty() {
            Default::default()
        } else {
            (Binding { sets }, CoreClaims { _sockets: claims })
        })
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

/// The processors of each core, near cores next to each other.
fn cores(topology: &Topology) -> BTreeMap<(u32, u32, u32), Vec<u32>> {
    let mut cores: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for &Processor { id, core, package, node } in topology.processors() {
        cores.entry((node, package, core)).or_default().push(id);
    }
    cores
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
fn claim((_, _, core): (u32, u32, u32)) -> Option<OwnedFd> {
    let address = SocketAddrUnix::new_abstract_name(format!("canele-core-{core}").as_bytes()).ok()?;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).ok()?;
    bind(&socket, &address).ok()?;
    Some(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_cores_and_equal() {
        let cores: Vec<Vec<u32>> = (0..4).map(|core| vec![core, core + 4]).collect();
        assert_eq!(shares(&cores, 4), cores);
        assert_eq!(shares(&cores, 2), [[0, 1, 4, 5], [2, 3, 6, 7]]);
        assert_eq!(shares(&cores, 3).len(), 3);
        assert!(shares(&cores, 5).is_empty());
        assert!(shares(&[], 1).is_empty());
    }

    #[test]
    fn a_core_has_one_job_at_a_time() {
        // No machine has such a core.
        let core = (0, 0, u32::MAX - std::process::id());
        let first = claim(core).expect("nobody has it");
        assert!(claim(core).is_none());
        drop(first);
        assert!(claim(core).is_some());
    }

    #[test]
    fn lists_of_processors_are_short() {
        for (ids, text) in [(&[][..], ""), (&[3], "3"), (&[0, 1, 2, 8], "0-2,8"), (&[1, 3, 4], "1,3-4")] {
            assert_eq!(ProcessorList(ids).to_string(), text);
        }
    }
}
