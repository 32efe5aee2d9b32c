//! Regions of this rank and of its peers: made, mapped, given up.

use std::sync::Arc;
use std::time::Instant;

use canele_control::ToLauncher;
use canele_mem::buffer::MemoryAddress;
use canele_rail::{Mapped, Region, RegionMemory, Regions, Rma as _, UnmappedRegion};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::SegmentError;
use rustix::io::Errno;

use super::Rma;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::lane::awaited::Awaited;
use crate::{Error, Failure};

/// The number of system calls that make a region.
const SYSTEM_CALLS: u64 = 3;

/// The error of a region for which the launcher had no descriptor left.
const NOT_TAKEN_OVER: SegmentError = SegmentError::Kernel {
    doing: "hand memory over to the launcher of the job, which may open no more files (raise the limit where the job is started, \
            `ulimit -n`)",
    error: Errno::MFILE,
};

impl Rma {
    /// Handles the launcher's answer about a region of this rank; `known` is true if the launcher has the
    /// region.
    pub fn handle_confirmed_region(&mut self, id: RegionId, known: bool) {
        self.confirmed_regions.push((id, known));
    }

    /// Takes the launcher's answer about a region, once it has come.
    fn take_confirmation(&mut self, id: RegionId) -> Option<bool> {
        let at = self.confirmed_regions.iter().position(|(confirmed, _)| *confirmed == id)?;
        Some(self.confirmed_regions.swap_remove(at).1)
    }
}

impl Engine {
    /// Allocates a region of `bytes`, zeroed, that peers can reach by its id.
    ///
    /// # Errors
    /// Not enough memory; the launcher is gone.
    pub fn create_region(&self, bytes: usize) -> Result<Arc<Region>, Error> {
        let core = self.lock_to_submit()?;
        self.make_region(core, bytes).1
    }

    /// Allocates memory of the program as [`Engine::create_region`] does. Its pages become real when they are
    /// touched, as those of other memory of a program, and the host's account does not count them.
    ///
    /// # Errors
    /// The address space is exhausted, or descriptors are; the launcher is gone.
    pub fn create_region_on_touch(&self, bytes: usize) -> Result<Arc<Region>, Error> {
        let mut core = self.lock_to_submit()?;
        let region = core.lane.rails.regions_mut().create_on_touch(bytes)?;
        self.announce_region(core, region).1
    }

    /// Does `create_region` for a caller that holds the lock.
    pub(crate) fn make_region<'a>(
        &'a self,
        mut core: Locked<'a>,
        bytes: usize,
    ) -> (Locked<'a>, Result<Arc<Region>, Error>) {
        match core.lane.rails.regions_mut().create(bytes) {
            Ok(region) => self.announce_region(core, region),
            Err(error) => (core, Err(error.into())),
        }
    }

    /// Announces a region to the launcher. A region that it does not take over is given up.
    fn announce_region<'a>(
        &'a self,
        mut core: Locked<'a>,
        region: Arc<Region>,
    ) -> (Locked<'a>, Result<Arc<Region>, Error>) {
        if let Err(error) = core.announce_region(&region) {
            core.give_up_region(region.id());
            return (core, Err(error));
        }
        if !core.membership.launcher.is_present() {
            return (core, Ok(region));
        }
        let id = region.id();
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.rma.take_confirmation(id).map(Ok),
            Err(error) => Some(Err(error)),
        };
        let (mut core, known) =
            self.wait_for(core, Awaited::Other("the launcher to know a region", None), ready);
        let known = known.and_then(|known| if known { Ok(region) } else { Err(NOT_TAKEN_OVER.into()) });
        if known.is_err() {
            core.give_up_region(id);
        }
        (core, known)
    }

    /// Gives a region up. Peers that have mapped it keep their view; transfers under way end in good order.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn drop_region(&self, id: RegionId) -> Result<(), Error> {
        self.lock()?.drop_region(id)
    }

    /// Returns a region of `bytes` of any rank. It is mapped here as long as a caller holds the result; for
    /// an owner on another host the result is its place.
    ///
    /// # Errors
    /// There is no such region on this host; the deadline passed.
    pub fn reach_region(
        &self,
        owner: Rank,
        id: RegionId,
        bytes: usize,
        deadline: Option<Instant>,
    ) -> Result<Arc<RegionMemory>, Error> {
        self.check_rank(owner)?;
        if !self.lock()?.maps_memory_of(owner) {
            return Ok(Arc::new(RegionMemory::elsewhere(UnmappedRegion { owner, region: id, bytes })));
        }
        self.map_region((owner, id), deadline, |regions, _| regions.map(owner, id))
    }

    /// Returns a region of a rank of this host that carries many messages, or part of a window: mapped here
    /// until the owner drops it.
    ///
    /// # Errors
    /// There is no such region on this host.
    pub fn reach_kept_region(&self, owner: Rank, id: RegionId) -> Result<Arc<RegionMemory>, Error> {
        self.check_rank(owner)?;
        self.map_region((owner, id), None, |regions, is_gone| match is_gone {
            // The launcher does not report the end of regions that a rank has left behind.
            true => regions.map(owner, id),
            false => regions.map_kept(owner, id),
        })
    }

    /// Waits until `map` returns the region; its argument is true if the owner is gone.
    fn map_region(
        &self,
        (owner, id): (Rank, RegionId),
        deadline: Option<Instant>,
        map: impl Fn(&mut Regions, bool) -> Option<Mapped>,
    ) -> Result<Arc<RegionMemory>, Error> {
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| {
            let Lane { proto, rails, .. } = &mut core.lane;
            if let Some(why) = proto.why_closed() {
                return Some(Err(why.into()));
            }
            if owner == proto.me() {
                return Some(Ok(Ok(rails.regions().own(id).map(|region| region.far()))));
            }
            map(rails.regions_mut(), proto.gone(owner).is_some()).map(Ok)
        };
        let awaited = Awaited::Other("a region of another rank", Some(owner));
        let (mut core, reached) = self.wait_before(core, deadline, awaited, ready);
        match reached {
            Some(Ok(Ok(Some(far)))) => Ok(far),
            Some(Ok(Ok(None))) => {
                let proto = &core.lane.proto;
                Err(proto.why_gone(owner).unwrap_or(Failure::RegionLost(owner)).into())
            }
            Some(Ok(Err(error))) => Err(error.into()),
            Some(Err(error)) => Err(error),
            None => {
                core.lane.rails.regions_mut().give_up(owner, id);
                Err(Error::Deadline(format!("a region of {owner}")))
            }
        }
    }
}

impl Core {
    /// Lets networks access a region, and announces it to the launcher, which answers.
    fn announce_region(&mut self, region: &Arc<Region>) -> Result<(), Error> {
        let Lane { proto, rails, counts, .. } = &mut self.lane;
        rails.register_region(region)?;
        let launcher = &mut self.membership.launcher;
        counts.system_calls += SYSTEM_CALLS;
        let (owner, id) = (proto.me().0, region.id().to_word());
        launcher.send_with(&ToLauncher::Region { id }, &[region.fd()])?;
        // A message that names the region may overtake the launcher's notice, and a peer must not ask for the
        // region before the launcher knows it.
        launcher.send(&ToLauncher::FindRegion { owner, id, is_kept: false })
    }

    /// Gives up the regions with the program's memory: no message lies in them any more. The launcher would
    /// keep them as long as a peer of this rank lives. The program keeps its mapping.
    pub(crate) fn drop_memory_of_program(&mut self) {
        let own = self.lane.rails.regions().all_own();
        let ids: Vec<RegionId> =
            own.filter(|region| region.is_on_touch()).map(|region| region.id()).collect();
        // Without a launcher none is kept.
        ids.into_iter().for_each(|id| drop(self.drop_region(id)));
    }

    /// Ends the access of peers to a region of this rank.
    fn give_up_region(&mut self, id: RegionId) {
        let rails = &mut self.lane.rails;
        rails.deregister(MemoryAddress::start(id));
        rails.regions_mut().drop_own(id);
    }

    /// Drops a region as [`Engine::drop_region`].
    pub(crate) fn drop_region(&mut self, id: RegionId) -> Result<(), Error> {
        self.give_up_region(id);
        self.membership.launcher.send(&ToLauncher::DropRegion { id: id.to_word() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_confirmed_once_and_by_its_generation() {
        let id = |generation| RegionId { index: 1, generation };
        let mut rma = Rma::default();
        rma.handle_confirmed_region(id(2), true);
        rma.handle_confirmed_region(id(3), false);
        assert_eq!(rma.take_confirmation(id(1)), None);
        assert_eq!(rma.take_confirmation(id(2)), Some(true));
        assert_eq!(rma.take_confirmation(id(2)), None);
        assert_eq!(rma.take_confirmation(id(3)), Some(false));
    }
}
