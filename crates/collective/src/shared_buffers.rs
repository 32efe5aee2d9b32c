//! Shared buffers: memory in which a call publishes data to the other members, each of which copies its part.
//!
//! ```text
//!   word: number of readers ───┐  64 bytes  │ published data
//! ```
//! Owns this process's shared buffers. A call takes one that all members have read, and gives it back with
//! the number of members that will read it. Each of those counts itself in the word after its read
//! (invariant I18). So a call returns before others have read its data, and no message confirms their reads.
//!
//! This module never reads the data in a shared buffer.

use std::sync::Arc;

use canele_mem::buffer::Divided;
use canele_mem::window::Window;
use canele_rail::Region;
use canele_sys::atomic::Ordering;
use canele_sys::ids::RegionId;

use crate::memory::within_mut;
use crate::schedule::{Schedule, SharedBufferNeed};

/// Bytes before the published data.
pub const HEADER: usize = 64;

/// A buffer of shared memory, with the number of readers that it has in its life.
pub struct SharedBuffer {
    region: Arc<Region>,
    readers: u64,
}

impl SharedBuffer {
    /// Makes a shared buffer in a region with [`HEADER`] bytes more than are published.
    pub fn new(region: Arc<Region>) -> Self {
        Self { region, readers: 0 }
    }

    /// Returns the id of the region that holds the buffer.
    pub fn id(&self) -> RegionId {
        self.region.id()
    }

    /// Writes its name into the scratch from which a schedule sends it.
    pub fn write_name(&self, shared_buffer: SharedBufferNeed, schedule: &Schedule, scratch: &mut Divided) {
        let told = [self.name(), (schedule.published as u64).to_ne_bytes()].concat();
        within_mut(scratch.bytes_mut(), shared_buffer.name).copy_from_slice(&told);
    }

    /// Returns its name for others.
    pub fn name(&self) -> [u8; 8] {
        self.region.id().to_word().to_ne_bytes()
    }

    /// Returns the memory in which data is published.
    pub fn window(&self) -> Option<Window<'_>> {
        self.region.window(HEADER, self.region.len() - HEADER)
    }

    fn is_read(&self) -> bool {
        // Acquire pairs with the release in `count_reader`: the next publication comes after they have read.
        self.region.word(0).is_some_and(|word| word.load(Ordering::Acquire) == self.readers)
    }
}

/// Counts this member as a reader in the word of a shared buffer.
pub fn count_reader(word: Window<'_>) -> bool {
    // Release: the reads come before this.
    word.word(0).map(|word| word.fetch_add(1, Ordering::Release)).is_some()
}

/// The shared buffers that no call uses.
#[derive(Default)]
pub struct SharedBufferPool(Vec<SharedBuffer>);

impl SharedBufferPool {
    /// The most shared buffers that wait for their readers; a call that needs another one waits too.
    pub const MOST: usize = 2;

    /// Takes one with `bytes` bytes that all members have read: the first of several, which the caches know
    /// best.
    pub fn take(&mut self, bytes: usize) -> Option<SharedBuffer> {
        let fits = |held: &SharedBuffer| held.region.len() >= HEADER + bytes && held.is_read();
        let at = self.0.iter().position(fits)?;
        Some(self.0.remove(at))
    }

    /// Gives back a buffer that `readers` members will read.
    pub fn give_back(&mut self, mut held: SharedBuffer, readers: usize) {
        held.readers += readers as u64;
        self.0.insert(0, held);
    }

    /// Returns true if the most buffers that may wait for their readers do.
    pub fn are_many(&self) -> bool {
        self.0.len() >= Self::MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_rail::Regions;

    const BYTES: usize = 1000;

    fn shared_buffer(regions: &mut Regions) -> SharedBuffer {
        SharedBuffer::new(regions.create(HEADER + BYTES).unwrap())
    }

    #[test]
    fn a_shared_buffer_has_room_for_what_is_published_behind_its_word() {
        let held = shared_buffer(&mut Regions::default());
        assert_eq!(held.window().unwrap().len(), BYTES);
        held.window().unwrap().write(0, &[0xff; BYTES]);
        assert!(held.is_read(), "a buffer that no message named needs no reader");
    }

    #[test]
    fn a_shared_buffer_is_taken_when_all_have_read_it_and_it_is_large_enough() {
        let (mut regions, mut shared_buffers) = (Regions::default(), SharedBufferPool::default());
        let held = shared_buffer(&mut regions);
        let (region, name) = (held.region.clone(), held.name());
        shared_buffers.give_back(held, 2);
        for _ in 0..2 {
            assert!(shared_buffers.take(BYTES).is_none());
            assert!(count_reader(region.window(0, HEADER).unwrap()));
        }
        assert!(shared_buffers.take(BYTES + 1).is_none());
        assert_eq!(shared_buffers.take(BYTES).unwrap().name(), name);
    }
}
