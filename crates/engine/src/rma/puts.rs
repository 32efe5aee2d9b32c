//! Puts: writes into regions, with or without a notice.

use canele_mem::buffer::RegionAddress;
use canele_proto::wire::{MAX_PUT, Put};
use canele_proto::{Moved, Sent};
use canele_rail::RegionMemory;
use canele_sys::atomic::{AtomicU64, Ordering::Relaxed};
use canele_sys::ids::{Rank, RegionId};

use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::lane::awaited::Awaited;

/// The most small puts to one peer that wait for room before a caller has to wait too.
const MOST_WAITING: usize = 64;

/// Counts of puts without a notice, which take no lock: they are only stores, at any time.
#[derive(Default)]
pub(crate) struct PutCounts {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl PutCounts {
    fn count(&self, bytes: usize) {
        // Relaxed, here and below: a counter publishes nothing.
        self.messages.fetch_add(1, Relaxed);
        self.bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns all puts so far.
    pub fn sum(&self) -> Moved {
        Moved { messages: self.messages.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }
}

impl Engine {
    /// Writes `bytes` into a region. Complete at both ends on return.
    ///
    /// # Errors
    /// The range lies outside of the region. On another host: the region was dropped; its owner has finished
    /// or died.
    pub fn put(&self, far: &RegionMemory, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        match far.window(offset, bytes.len()) {
            Some(window) => window.write(0, bytes),
            None => return self.put_remote(far, offset, bytes, None),
        }
        self.put_counts.count(bytes.len());
        Ok(())
    }

    /// Writes `bytes` into a region of `to` and then shows it the identifier `notice`. The data is there
    /// when the notice is seen.
    ///
    /// # Errors
    /// The range lies outside of the region; the peer is gone.
    pub fn put_notify(
        &self,
        to: Rank,
        far: &RegionMemory,
        id: RegionId,
        offset: usize,
        bytes: &[u8],
        notice: u64,
    ) -> Result<(), Error> {
        let Some(window) = far.window(offset, bytes.len()) else {
            return self.put_remote(far, offset, bytes, Some(notice));
        };
        let mut core = self.lock()?;
        let place = RegionAddress { region: id, offset: offset as u64 };
        let data = if bytes.len() <= MAX_PUT { bytes } else { &[] };
        if bytes.len() <= MAX_PUT {
            core.rma.fences.count_put(to);
        } else {
            if let Some(failure) = core.lane.proto.why_gone(to) {
                return core.check().and(Err(failure.into()));
            }
            window.write(0, bytes);
        }
        if to == core.lane.proto.me() {
            window.write(0, bytes);
            core.lane.proto.notice_self(notice);
            core.lane.proto.traffic.put(bytes.len());
            return Ok(());
        }
        let Lane { proto, rails, .. } = &mut core.lane;
        proto.traffic.put(bytes.len());
        if proto.try_put(rails, to, place, notice, data) == Sent::Done {
            return Ok(());
        }
        self.put_otherwise(core, to, Put::new(place, notice, data))
    }

    /// Issues a put that cannot go at once; waits while very many wait.
    #[cold]
    fn put_otherwise(&self, mut core: Locked<'_>, to: Rank, put: Put) -> Result<(), Error> {
        if !core.maps_memory_of(to) {
            // Only a put without data gets here, because a region that is not mapped here has no bytes.
            return self.notify_remote(core, to, put.place, put.notice);
        }
        let Lane { proto, rails, .. } = &mut core.lane;
        if let Err(failure) = proto.submit_put(rails, to, put) {
            return core.check().and(Err(failure.into()));
        }
        self.wake_progress_owner(&core);
        let room = |core: &mut Core| match core.lane.proto.why_closed() {
            Some(why) => Some(Err(why.into())),
            None => (core.lane.proto.replies_waiting(to) <= MOST_WAITING).then_some(Ok(())),
        };
        self.wait_for(core, Awaited::Other("room for puts", Some(to)), room).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn puts_without_a_notice_are_counted_with_their_bytes() {
        let counts = PutCounts::default();
        counts.count(8);
        counts.count(1000);
        assert_eq!(counts.sum(), Moved { messages: 2, bytes: 1008 });
    }
}
