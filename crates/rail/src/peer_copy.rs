//! Copies from the memory of a peer's process.

use canele_mem::buffer::InShare;
use canele_sys::ids::LinkId;

use crate::Rail;

/// A rail one end of which can copy from the memory of the other's process. A sender that prefers this announces its message with the
/// address, and the receiver copies. The defaults are those of a rail that cannot.
pub trait PeerCopy: Rail {
    /// Returns whether the peer had better copy a message of so many bytes from the memory of this process than get it in packets. A sender
    /// that follows this announces the message, and says so by [`PeerCopy::note_offer`].
    #[inline]
    fn prefers_peer_copy(&mut self, _link: LinkId, _bytes: usize) -> bool {
        false
    }

    /// Notes that a message was announced for the peer to copy.
    #[inline]
    fn note_offer(&mut self, _link: LinkId) {}

    /// Fills `into` with bytes of the peer's memory that begin at `address`, part of a message of `message` bytes which it has offered. Returns
    /// whether it could; if not, what `into` holds is unknown.
    fn copy_from_peer(&mut self, _link: LinkId, _address: u64, _message: usize, _into: InShare) -> bool {
        false
    }
}
