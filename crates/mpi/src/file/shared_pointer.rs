//! The shared file pointer: one word at the first member, to which all members add.
//!
//! Members on the first member's host change it atomically; other members ask its owner. It lies in a region
//! of the first lane, not in the file system. Its accesses are relaxed, since they order no other memory.

use std::sync::Arc;

use canele_engine::{Region, RegionMemory};
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::ids::RegionId;

use crate::comm::Comm;
use crate::{Class, Error, Result};

/// The shared file pointer, in etypes of the view.
pub(super) enum SharedPointer {
    /// The pointer of a file with one member.
    Own(AtomicU64),
    /// The pointer in the memory of the first member.
    Shared { far: Arc<RegionMemory>, region: Option<Arc<Region>> },
}

/// Size of its region in bytes.
const BYTES: usize = 64;

impl SharedPointer {
    /// Makes a pointer at 0; collective over all members.
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

    /// Frees its memory; no member uses the pointer any more.
    pub fn free(&self, comm: &Comm) -> Result<()> {
        match self {
            Self::Shared { region: Some(region), .. } => {
                Ok(comm.engine().first_lane().drop_region(region.id())?)
            }
            _ => Ok(()),
        }
    }

    /// Adds to the pointer; returns the old value.
    pub fn add(&self, comm: &Comm, n: u64) -> Result<u64> {
        match self {
            Self::Own(word) => Ok(word.fetch_add(n, Relaxed)),
            Self::Shared { far, .. } => match far.word(0) {
                Some(word) => Ok(word.fetch_add(n, Relaxed)),
                None => Ok(comm.engine().first_lane().add_remote(far, 0, n)?),
            },
        }
    }

    /// Returns the pointer's value.
    pub fn get(&self, comm: &Comm) -> Result<u64> {
        self.add(comm, 0)
    }

    /// Sets the pointer; only the first member calls this.
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
