//! Regions of this rank and of its peers: made, mapped, given up.

use std::sync::Arc;
use std::time::Instant;

use canele_control::ToLauncher;
use canele_rail::shm::{Elsewhere, Far, Region};
use canele_sys::ids::{Rank, RegionId};

use super::Rma;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::progress::Progress;
use crate::progress::awaited::Awaited;
use crate::{Error, Failure};

/// System calls that make a region.
const SYSTEM_CALLS: u64 = 3;

impl Rma {
    /// Handles the launcher's confirmation that it knows a region of this rank.
    pub fn handle_confirmed_region(&mut self, id: RegionId) {
        self.confirmed_regions.push(id);
    }

    /// True if the launcher has confirmed the region since it was made.
    fn take_confirmation(&mut self, id: RegionId) -> bool {
        let at = self.confirmed_regions.iter().position(|confirmed| *confirmed == id);
        at.map(|at| self.confirmed_regions.swap_remove(at)).is_some()
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

    /// As `create_region`, for a caller that holds the lock.
    pub(crate) fn make_region<'a>(
        &'a self,
        mut core: Locked<'a>,
        bytes: usize,
    ) -> (Locked<'a>, Result<Arc<Region>, Error>) {
        let region = match core.announce_region(bytes) {
            Ok(region) => region,
            Err(error) => return (core, Err(error)),
        };
        if !core.membership.launcher.is_present() {
            return (core, Ok(region));
        }
        let id = region.id();
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => core.rma.take_confirmation(id).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        let (core, known) = self.wait_for(core, Awaited::Other("the launcher to know a region", None), ready);
        (core, known.map(|()| region))
    }

    /// Gives a region up. Peers that have mapped it keep their view; transfers under way end in good order.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn drop_region(&self, id: RegionId) -> Result<(), Error> {
        self.lock()?.drop_region(id)
    }

    /// A region of `bytes` of any rank: mapped here, or if its owner runs on another host, where it is.
    ///
    /// # Errors
    /// There is no such region on this host; the deadline passed.
    pub fn reach_region(
        &self,
        owner: Rank,
        id: RegionId,
        bytes: usize,
        deadline: Option<Instant>,
    ) -> Result<Arc<Far>, Error> {
        self.check_rank(owner)?;
        if self.is_remote(owner) {
            return Ok(Arc::new(Far::elsewhere(Elsewhere { owner, region: id, bytes })));
        }
        let core = self.lock_to_submit()?;
        let lost = || Error::from(Failure::RegionLost(owner));
        let ready = |core: &mut Core| {
            let Progress { proto, rails, .. } = &mut core.progress;
            if let Some(why) = proto.why_closed() {
                return Some(Err(why.into()));
            }
            if owner == proto.me() {
                return Some(rails.shm.regions.own(id).map(|region| region.far()).ok_or_else(lost));
            }
            rails.shm.regions.map(owner, id).map(|far| far.ok_or_else(lost))
        };
        let awaited = Awaited::Other("a region of another rank", Some(owner));
        let (_core, far) = self.wait_before(core, deadline, awaited, ready);
        far.unwrap_or_else(|| Err(Error::Deadline(format!("a region of {owner}"))))
    }
}

impl Engine {
    /// Forgets how a region of any rank is mapped here; who holds the mapping keeps it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn forget_region(&self, owner: Rank, id: RegionId) -> Result<(), Error> {
        self.lock()?.progress.rails.shm.regions.forget(owner, Some(id));
        Ok(())
    }
}

impl Core {
    /// Allocates a region and says so to the launcher, which answers.
    fn announce_region(&mut self, bytes: usize) -> Result<Arc<Region>, Error> {
        let Progress { rails, proto, counts, .. } = &mut self.progress;
        let launcher = &mut self.membership.launcher;
        let region = rails.shm.regions.create(bytes)?;
        counts.system_calls += SYSTEM_CALLS;
        let (owner, id) = (proto.me().0, region.id().to_word());
        launcher.send_with(&ToLauncher::Region { id }, &[region.fd()])?;
        // A message that names the region is faster than the launcher: a peer must not ask before the launcher knows.
        launcher.send(&ToLauncher::FindRegion { owner, id })?;
        Ok(region)
    }

    /// As [`Engine::drop_region`].
    pub(crate) fn drop_region(&mut self, id: RegionId) -> Result<(), Error> {
        self.progress.rails.shm.regions.drop_own(id);
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
        rma.handle_confirmed_region(id(2));
        assert!(!rma.take_confirmation(id(1)));
        assert!(rma.take_confirmation(id(2)));
        assert!(!rma.take_confirmation(id(2)));
    }
}
