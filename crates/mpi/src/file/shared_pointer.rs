//! The shared file pointer: one word at the first member, which all members add to.
//!
//! Members on the host of the first one change it by processor atomics, others ask its owner. It stands in a region, as other memory
//! that members share, of the first lane; nothing of it is in the file system. Its accesses are relaxed: it orders nothing but itself.

use std::sync::Arc;

use canele_engine::{Region, RegionMemory};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::ids::RegionId;

use crate::comm::Comm;
use crate::{Class, Error, Result};

/// The pointer, in etypes of the view.
pub(super) enum SharedPointer {
    /// Of a file with one member.
    Own(AtomicU64),
    /// At the first member.
    Shared { far: Arc<RegionMemory>, region: Option<Arc<Region>> },
}

/// Bytes of its region.
const BYTES: usize = 64;

impl SharedPointer {
    /// A pointer at 0, with all members.
    pub fn new(comm: &Comm) -> Result<Self> {
        if comm.size() == 1 {
            return Ok(Self::Own(AtomicU64::new(0)));
        }
        let engine = comm.engine().first_lane();
        let made = if comm.rank() == 0 { engine.create_region(BYTES).map(Some) } else { Ok(None) };
        let region = comm.agree(made.map_err(Into::into))?;
        let mut id = [region.as_ref().map_or(0, |region| region.id().to_word())];
        comm.broadcast(0, bytemuck::cast_slice_mut(&mut id))?;
        let far = match &region {
            Some(region) => Ok(region.far()),
            None => {
                let id = RegionId::from_word(id[0]);
                engine.reach_region(comm.group().member(0), id, BYTES, None)
            }
        };
        let far = comm.agree(far.map_err(Into::into))?;
        Ok(Self::Shared { far, region })
    }

    /// Gives its memory back; no member uses it any more.
    pub fn free(&self, comm: &Comm) -> Result<()> {
        match self {
            Self::Shared { region: Some(region), .. } => {
                Ok(comm.engine().first_lane().drop_region(region.id())?)
            }
            _ => Ok(()),
        }
    }

    /// Adds to it; returns the old value.
    pub fn add(&self, comm: &Comm, n: u64) -> Result<u64> {
        match self {
            Self::Own(word) => Ok(word.fetch_add(n, Relaxed)),
            Self::Shared { far, .. } => match far.word(0) {
                Some(word) => Ok(word.fetch_add(n, Relaxed)),
                None => Ok(comm.engine().first_lane().add_remote(far, 0, n)?),
            },
        }
    }

    /// Its value.
    pub fn get(&self, comm: &Comm) -> Result<u64> {
        self.add(comm, 0)
    }

    /// Sets it, at the first member.
    pub fn set(&self, value: u64) -> Result<()> {
        let word = match self {
            Self::Own(word) => Some(word),
            Self::Shared { far, .. } => far.word(0),
        };
        match word {
            Some(word) => word.store(value, Relaxed),
            None => {
                return Err(Error::new(
                    Class::Internal,
                    "the shared file pointer is not at the first member",
                ));
            }
        }
        Ok(())
    }
}
