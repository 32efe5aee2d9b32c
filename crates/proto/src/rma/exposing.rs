//! The begin and the end of exposures: the target finds their memory for requests, and it is registered at
//! the rails with verbs meanwhile.

use canele_mem::exposed::Exposed;
use canele_rail::Rma;

use super::{AttachError, ExposureKey, MemoryAddress, RmaTarget};

impl RmaTarget {
    /// Exposes memory, with places counted from its start.
    pub fn expose<R: Rma>(&mut self, rail: &mut R, memory: Exposed) -> ExposureKey {
        let key = self.exposures.expose(memory.clone());
        register(rail, MemoryAddress::start(key), &memory);
        key
    }

    /// Begins an exposure without memory, which is attached later. Its places are addresses.
    pub fn expose_dynamic(&mut self) -> ExposureKey {
        self.exposures.expose_dynamic()
    }

    /// Attaches memory.
    ///
    /// # Errors
    /// The exposure is not dynamic, or other memory of it overlaps.
    pub fn attach<R: Rma>(
        &mut self,
        rail: &mut R,
        key: ExposureKey,
        memory: Exposed,
    ) -> Result<(), AttachError> {
        self.exposures.attach(key, memory.clone())?;
        register(rail, at_address(key, memory.address()), &memory);
        Ok(())
    }

    /// Detaches the memory that begins at an address: no later request and no later verb reaches it.
    /// Transfers under way may still hold it.
    ///
    /// # Errors
    /// The exposure is not dynamic, or no memory begins there.
    pub fn detach<R: Rma>(
        &mut self,
        rail: &mut R,
        key: ExposureKey,
        address: usize,
    ) -> Result<Exposed, AttachError> {
        let memory = self.exposures.detach(key, address)?;
        rail.deregister(at_address(key, address));
        Ok(memory)
    }

    /// Ends an exposure; returns the memory, which transfers under way may still hold.
    pub fn unexpose<R: Rma>(&mut self, rail: &mut R, key: ExposureKey) -> Vec<Exposed> {
        self.exposures.places(key).into_iter().for_each(|place| rail.deregister(place));
        self.exposures.end(key)
    }
}

/// Registers memory at the rails. A rail without room for it refuses its verbs, and the origins send
/// requests.
fn register<R: Rma>(rail: &mut R, place: MemoryAddress, memory: &Exposed) {
    let _ = rail.register(place, memory);
}

fn at_address(key: ExposureKey, address: usize) -> MemoryAddress {
    MemoryAddress { key: key.into(), offset: address as u64 }
}
