//! The exposures of a rank: memory under keys, with the locks and the signals of each.
//!
//! Owns the table. A key has a generation, so that the key of an ended exposure reaches nothing
//! (invariant I11).

use std::collections::HashMap;

use canele_mem::exposed::Exposed;
use canele_sys::ids::{ExposureKey, Rank};

use super::attached::{AttachError, Attached};
use super::locks::LockQueue;
use super::{MemoryAddress, Refusal};

/// The exposures of a rank.
#[derive(Default)]
pub struct Exposures {
    entries: Vec<(u32, Option<Exposure>)>,
}

/// One exposure.
pub(super) struct Exposure {
    memory: Memory,
    pub locks: LockQueue,
    /// The number of signals that came, by their sender and kind.
    signals: HashMap<(Rank, u8), u64>,
}

enum Memory {
    /// One memory; places are counted from its start.
    One(Exposed),
    /// Attached memory; places are addresses.
    Attached(Attached),
}

impl Memory {
    fn find(&self, at: isize, len: usize) -> Option<(&Exposed, usize)> {
        match self {
            Self::One(memory) => {
                let at = usize::try_from(at).ok()?;
                memory.window(at, len).map(|_| (memory, at))
            }
            Self::Attached(list) => {
                // Addresses of programs are positive on all systems that run this.
                list.find(usize::try_from(at).ok()?, len)
            }
        }
    }
}

impl Exposures {
    /// Exposes memory.
    pub(super) fn expose(&mut self, memory: Exposed) -> ExposureKey {
        self.add(Memory::One(memory))
    }

    /// Begins an exposure without memory, which is attached later.
    pub(super) fn expose_dynamic(&mut self) -> ExposureKey {
        self.add(Memory::Attached(Attached::default()))
    }

    fn add(&mut self, memory: Memory) -> ExposureKey {
        let index = self.entries.iter().position(|(_, entry)| entry.is_none()).unwrap_or_else(|| {
            self.entries.push((0, None));
            self.entries.len() - 1
        });
        let (generation, entry) = &mut self.entries[index];
        *generation += 1;
        *entry = Some(Exposure { memory, locks: LockQueue::default(), signals: HashMap::new() });
        ExposureKey::new(index, *generation)
    }

    pub(super) fn get(&self, key: ExposureKey) -> Option<&Exposure> {
        let (index, generation) = key.parts()?;
        let (tenant, entry) = self.entries.get(index)?;
        entry.as_ref().filter(|_| *tenant == generation)
    }

    pub(super) fn get_mut(&mut self, key: ExposureKey) -> Option<&mut Exposure> {
        let (index, generation) = key.parts()?;
        let (tenant, entry) = self.entries.get_mut(index)?;
        entry.as_mut().filter(|_| *tenant == generation)
    }

    /// Attaches memory.
    ///
    /// # Errors
    /// The exposure is not dynamic, or other memory of it overlaps.
    pub(super) fn attach(&mut self, key: ExposureKey, memory: Exposed) -> Result<(), AttachError> {
        self.attached(key)?.attach(memory)
    }

    /// Detaches the memory that begins at an address: no later request reaches it. Transfers under way may
    /// still hold it.
    ///
    /// # Errors
    /// The exposure is not dynamic, or no memory begins there.
    pub(super) fn detach(&mut self, key: ExposureKey, address: usize) -> Result<Exposed, AttachError> {
        self.attached(key)?.detach(address)
    }

    fn attached(&mut self, key: ExposureKey) -> Result<&mut Attached, AttachError> {
        match self.get_mut(key).map(|exposure| &mut exposure.memory) {
            Some(Memory::Attached(list)) => Ok(list),
            _ => Err(AttachError::NotDynamic),
        }
    }

    /// Ends an exposure; returns the memory, which transfers under way may still hold.
    pub(super) fn end(&mut self, key: ExposureKey) -> Vec<Exposed> {
        let Some((index, _)) = key.parts().filter(|_| self.get(key).is_some()) else { return Vec::new() };
        match self.entries[index].1.take().map(|exposure| exposure.memory) {
            Some(Memory::One(memory)) => vec![memory],
            Some(Memory::Attached(list)) => list.parts.into_values().collect(),
            None => Vec::new(),
        }
    }

    /// Returns the start of each memory of an exposure.
    pub(super) fn places(&self, key: ExposureKey) -> Vec<MemoryAddress> {
        let offsets = match self.get(key).map(|exposure| &exposure.memory) {
            Some(Memory::One(_)) => vec![0],
            Some(Memory::Attached(list)) => list.parts.keys().map(|address| *address as u64).collect(),
            None => Vec::new(),
        };
        offsets.into_iter().map(|offset| MemoryAddress { key: key.into(), offset }).collect()
    }

    /// Returns the number of signals of a kind that have come from a rank.
    pub fn signals(&self, key: ExposureKey, from: Rank, which: u8) -> u64 {
        self.get(key).map_or(0, |exposure| exposure.signals.get(&(from, which)).copied().unwrap_or(0))
    }

    /// Releases the locks that a dead rank holds.
    pub(super) fn release_of(&mut self, dead: Rank) {
        let living = self.entries.iter_mut().filter_map(|(_, entry)| entry.as_mut());
        living.for_each(|exposure| exposure.locks.release_of(dead));
    }

    /// Returns true if a rank waits for the lock of an exposure.
    pub(super) fn is_lock_awaited(&self, key: ExposureKey, from: Rank) -> bool {
        self.get(key).is_some_and(|exposure| exposure.locks.is_awaited_by(from))
    }

    /// Returns true if no rank holds or waits for a lock.
    pub fn is_unlocked(&self) -> bool {
        self.entries.iter().filter_map(|(_, entry)| entry.as_ref()).all(|exposure| exposure.locks.is_free())
    }

    /// Returns the memory of `len` bytes of an exposure and their offset, or the refusal.
    pub(super) fn find(&self, key: ExposureKey, offset: u64, len: u64) -> Result<(&Exposed, usize), Refusal> {
        let exposure = self.get(key).ok_or(Refusal::NoRegion)?;
        let place = isize::try_from(offset).ok().zip(usize::try_from(len).ok());
        place.and_then(|(at, len)| exposure.find(at, len)).ok_or_else(|| exposure.outside())
    }
}

impl Exposure {
    pub fn find(&self, at: isize, len: usize) -> Option<(&Exposed, usize)> {
        self.memory.find(at, len)
    }

    /// Returns the refusal of a place that is not in it.
    pub fn outside(&self) -> Refusal {
        match &self.memory {
            Memory::One(memory) => Refusal::Outside(memory.len() as u64),
            Memory::Attached(list) => {
                Refusal::Outside(list.parts.values().map(|memory| memory.len() as u64).sum())
            }
        }
    }

    pub fn count_signal(&mut self, from: Rank, which: u8) {
        *self.signals.entry((from, which)).or_default() += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: usize) -> Exposed {
        Exposed::of(vec![0; bytes])
    }

    #[test]
    fn a_key_of_an_exposure_that_has_ended_reaches_nothing() {
        let mut exposures = Exposures::default();
        let key = exposures.expose(memory(16));
        assert!(exposures.find(key, 8, 8).is_ok());
        assert_eq!(exposures.find(key, 9, 8).err(), Some(Refusal::Outside(16)));
        assert_eq!(exposures.find(key, u64::MAX, 8).err(), Some(Refusal::Outside(16)));
        assert_eq!(exposures.end(key).len(), 1);
        let next = exposures.expose(memory(16));
        assert_ne!(key, next);
        assert_eq!(exposures.find(key, 0, 1).err(), Some(Refusal::NoRegion));
        assert!(exposures.find(next, 0, 16).is_ok() && exposures.end(key).is_empty());
    }

    #[test]
    fn attached_memory_is_found_by_address_until_it_is_detached() {
        let mut exposures = Exposures::default();
        let key = exposures.expose_dynamic();
        let (one, other) = (memory(32), memory(32));
        let at = one.address();
        exposures.attach(key, one.clone()).unwrap();
        exposures.attach(key, other.clone()).unwrap();
        assert_eq!(exposures.attach(key, one.clone()), Err(AttachError::Overlaps));
        let find = |exposures: &Exposures, at, len| exposures.find(key, at, len).map(|(_, at)| at);
        assert_eq!(find(&exposures, at as u64 + 8, 24), Ok(8));
        assert_eq!(find(&exposures, other.address() as u64, 33), Err(Refusal::Outside(64)));
        assert!(exposures.detach(key, at + 1).is_err() && exposures.detach(key, at).is_ok());
        assert_eq!(find(&exposures, at as u64 + 8, 8), Err(Refusal::Outside(32)));
        let plain = exposures.expose(memory(1));
        assert_eq!(exposures.attach(plain, one), Err(AttachError::NotDynamic));
    }
}
