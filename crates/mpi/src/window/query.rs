//! Addresses of window memory: shared parts, and memory attached to a dynamic window (MPI 5.0, §12.2.3,
//! §12.2.4).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLockReadGuard};

use canele_engine::RegionMemory;
use canele_sys::atomic::Ordering::Relaxed;

use super::target::Reached;
use super::{Flavor, Win};
use crate::{Result, fail};

/// A rank's part of a window, as this process sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedPart {
    /// The address of the part in this process; 0 if loads and stores cannot reach it. A part without bytes
    /// has an address only in a shared window that has bytes elsewhere.
    pub address: usize,
    /// The size of the part in bytes; 0 if loads and stores cannot reach it.
    pub bytes: usize,
    /// The displacement unit of the part in bytes.
    pub unit: usize,
}

impl Win {
    /// Returns the part of a rank, or of the first rank with bytes, for access by loads and stores.
    ///
    /// # Errors
    /// Fails if the window is dynamic, the rank does not exist, or the memory cannot be found.
    pub fn shared_part(&self, rank: Option<usize>) -> Result<SharedPart> {
        if self.flavor == Flavor::Dynamic {
            fail!(RmaFlavor, "the window is dynamic: it has no parts that are shared");
        }
        let first = || self.targets.iter().position(|target| target.size > 0).unwrap_or(0);
        let rank = rank.unwrap_or_else(first);
        let Some(target) = self.targets.get(rank) else { return Err(self.no_rank(rank as i64)) };
        // Relaxed: a thread that passes the address to others synchronises with them.
        self.is_shared.store(true, Relaxed);
        let has_address = target.size > 0
            || self.flavor == Flavor::Shared && self.targets.iter().any(|target| target.size > 0);
        Ok(match target.reach(&self.comm.engine)? {
            Reached::Here(memory, offset) if has_address => SharedPart {
                address: memory.address().wrapping_add(*offset).expose_provenance(),
                bytes: target.size,
                unit: target.unit,
            },
            _ => SharedPart { address: 0, bytes: 0, unit: target.unit },
        })
    }

    pub(super) fn attached(&self) -> RwLockReadGuard<'_, BTreeMap<usize, Arc<RegionMemory>>> {
        self.attached.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Attaches memory of the program to a dynamic window.
    ///
    /// # Errors
    /// Fails if the window is not dynamic or the memory overlaps attached memory.
    pub fn attach(&self, memory: RegionMemory) -> Result<()> {
        self.check_dynamic()?;
        if memory.len() == 0 {
            return Ok(());
        }
        let (start, len) = (memory.address().expose_provenance(), memory.len());
        let mut attached = self.attached.write().unwrap_or_else(PoisonError::into_inner);
        let before = attached.range(..start.saturating_add(len)).next_back();
        if let Some((other, memory)) = before.filter(|(other, memory)| *other + memory.len() > start) {
            fail!(
                RmaAttach,
                "base is {start:#x}, size {len}: {} bytes at {other:#x} are attached, which overlap it",
                memory.len()
            );
        }
        let memory = Arc::new(memory);
        if let Some(key) = self.part.key {
            self.comm.engine.attach(key, memory.exposed())?;
        }
        attached.insert(start, memory);
        Ok(())
    }

    /// Detaches the memory that begins at an address.
    ///
    /// # Errors
    /// Fails if the window is not dynamic or no attached memory begins there.
    pub fn detach(&self, address: usize) -> Result<()> {
        self.check_dynamic()?;
        let mut attached = self.attached.write().unwrap_or_else(PoisonError::into_inner);
        if attached.remove(&address).is_none() {
            fail!(RmaAttach, "base is {address:#x}: nothing that begins there is attached to the window");
        }
        drop(attached);
        if let Some(key) = self.part.key {
            self.comm.engine.detach(key, address)?;
        }
        Ok(())
    }

    fn check_dynamic(&self) -> Result<()> {
        if self.flavor != Flavor::Dynamic {
            fail!(RmaFlavor, "memory is attached to windows of MPI_Win_create_dynamic only");
        }
        Ok(())
    }
}
