//! Short messages in few instructions, for interfaces of other languages. Each call either completes or
//! changes nothing. In the second case the caller uses [`Flow::send`] or [`Flow::recv`], with all checks and
//! errors. After a refused cell it uses [`Flow::send_refused`]. No call unwinds or makes an error.

use canele_engine::ShortAddress;
pub use canele_engine::{MAX_INLINE, PeerIndex, ShortSent};
use canele_sys::atomic::{AtomicU64, Ordering};
use canele_sys::device;

use crate::{Error, Flow, Rank, Tag};

/// Number of remembered ranks, indexed by the last bits of their numbers.
const PLACES: usize = 8;

/// The engine's indices of the ranks that were looked up last.
pub struct KnownRanks([AtomicU64; PLACES]);

impl Default for KnownRanks {
    fn default() -> Self {
        Self(std::array::from_fn(|_| AtomicU64::new(u64::MAX)))
    }
}

impl KnownRanks {
    /// Returns the index of a rank, if it is remembered.
    #[inline(always)]
    fn find(&self, rank: Rank) -> Option<PeerIndex> {
        // Relaxed: the word has all of the remembered data.
        let word = self.0[rank.0 as usize % PLACES].load(Ordering::Relaxed);
        ((word >> 32) as u32 == rank.0).then_some(PeerIndex(word as u32))
    }

    fn remember(&self, rank: Rank, index: PeerIndex) {
        self.0[rank.0 as usize % PLACES]
            .store(u64::from(rank.0) << 32 | u64::from(index.0), Ordering::Relaxed);
    }
}

impl Flow {
    /// Remembers the index of a rank for the next call. It remembers nothing if memory may belong to a
    /// device, because the short path does not check that.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn learn(&self, known: &KnownRanks, rank: Rank) -> Result<(), Error> {
        if known.find(rank).is_none() && !device::is_asked() {
            match self.engine.peer_index(rank)? {
                PeerIndex::NONE => {}
                index => known.remember(rank, index),
            }
        }
        Ok(())
    }

    /// Sends at most [`MAX_INLINE`] bytes if they can go at once to a known rank; returns the rank's index
    /// for [`Flow::wake_peer`]. Returns `None` if it has tried nothing. [`Flow::send_refused`] sends bytes
    /// that were refused.
    #[inline(always)]
    pub fn send_at_once(
        &self,
        known: &KnownRanks,
        to: Rank,
        tag: Tag,
        bytes: &[u8],
    ) -> Option<(ShortSent, PeerIndex)> {
        let peer = known.find(to)?;
        let sent = self.engine.try_send_short(&ShortAddress { peer, flow: self.id }, tag, bytes)?;
        Some((sent, peer))
    }

    /// Sends bytes that [`Flow::send_at_once`] could not send, without another attempt to claim a cell.
    ///
    /// # Errors
    /// Returns the errors of [`Flow::send`].
    pub fn send_refused(&self, to: Rank, tag: Tag, bytes: &[u8]) -> Result<(), Error> {
        self.engine.send_refused(to, self.id, tag, bytes)
    }

    /// Receives a message of at most [`MAX_INLINE`] bytes if it is the next one of a known rank; returns the
    /// message's length.
    #[inline(always)]
    pub fn receive_at_once(
        &self,
        known: &KnownRanks,
        from: Rank,
        tag: Tag,
        into: &mut [u8],
    ) -> Option<usize> {
        let peer = known.find(from)?;
        self.engine.try_receive_short(&ShortAddress { peer, flow: self.id }, tag, into)
    }

    /// Wakes a rank after [`ShortSent::ToSleeper`].
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn wake_peer(&self, peer: PeerIndex) -> Result<(), Error> {
        self.engine.wake_peer(peer)
    }
}
