//! Memory that this rank exposes to others under keys.

use canele_mem::exposed::Exposed;
use canele_proto::rma::ExposureKey;
use canele_sys::ids::Rank;

use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;

impl Engine {
    /// Exposes memory: a rank that knows the key can access it, with places counted from its start. Rails
    /// with verbs know it, too.
    ///
    /// # Errors
    /// `Forked`.
    pub fn expose(&self, memory: Exposed) -> Result<ExposureKey, Error> {
        let Core { lane, rma, .. } = &mut *self.lock()?;
        Ok(rma.target.expose(&mut lane.rails, memory))
    }

    /// Begins an exposure without memory, which is attached later; its places are addresses.
    ///
    /// # Errors
    /// `Forked`.
    pub fn expose_dynamic(&self) -> Result<ExposureKey, Error> {
        Ok(self.lock()?.rma.target.expose_dynamic())
    }

    /// Adds memory to a dynamic exposure.
    ///
    /// # Errors
    /// The exposure does not exist or is not dynamic; other memory overlaps; `Forked`.
    pub fn attach(&self, window: ExposureKey, memory: Exposed) -> Result<(), Error> {
        let Core { lane, rma, .. } = &mut *self.lock()?;
        Ok(rma.target.attach(&mut lane.rails, window, memory)?)
    }

    /// Removes the memory that begins at an address from a dynamic exposure, and waits until no transfer
    /// touches it.
    ///
    /// # Errors
    /// The exposure does not exist or is not dynamic; no memory begins there; `Forked`.
    pub fn detach(&self, window: ExposureKey, address: usize) -> Result<(), Error> {
        let mut core = self.lock()?;
        let Core { lane, rma, .. } = &mut *core;
        let memory = rma.target.detach(&mut lane.rails, window, address)?;
        self.wait_untouched(core, &[memory]);
        Ok(())
    }

    /// Ends an exposure, and waits until no transfer touches its memory. Its locks and signals are forgotten;
    /// later requests are refused.
    ///
    /// # Errors
    /// `Forked`.
    pub fn unexpose(&self, window: ExposureKey) -> Result<(), Error> {
        let mut core = self.lock()?;
        let Core { lane, rma, .. } = &mut *core;
        let memory = rma.target.unexpose(&mut lane.rails, window);
        self.wait_untouched(core, &memory);
        Ok(())
    }

    /// Waits for transfers from and to memory; those of ranks that die end.
    fn wait_untouched(&self, core: Locked<'_>, memory: &[Exposed]) {
        self.wake_progress_owner(&core);
        let is_free = |_: &mut Core| memory.iter().all(|memory| !memory.is_lent()).then_some(());
        drop(self.wait_for(core, Awaited::Other("transfers from and to its memory", None), is_free));
    }

    /// Forgets the state of an owner's exposure that this rank accesses no more.
    ///
    /// # Errors
    /// `Forked`.
    pub fn forget_window(&self, owner: Rank, window: ExposureKey) -> Result<(), Error> {
        self.lock()?.rma.origin.forget_window(owner, window);
        Ok(())
    }
}
